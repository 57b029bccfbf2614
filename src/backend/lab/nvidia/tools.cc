#include "backend/lab/nvidia/tools.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

bool Is(std::span<const std::string> args, std::initializer_list<std::string_view> wanted) {
  return std::equal(args.begin(), args.end(), wanted.begin(), wanted.end());
}

CommandResult SmiVersion(const NodeView& view) {
  const std::string& driver = view.truth.driver_version;
  return Printed(
      fmt::format("NVIDIA-SMI version  : {}\nNVML version        : {}\nDRIVER version      : "
                  "{}\nCUDA Version        : {}\n",
                  driver, driver.substr(0, driver.rfind('.')), view.truth.loaded_driver_version,
                  view.truth.cuda_version));
}

// A real NVML refuses to work with a kernel module of another version (exit 18). The lab keeps the
// tool alive, so that what gate 4 asks of the versions is rehearsed apart from what gate 3 asks of
// the GPUs.
// mig -lgi -i N: the instances of a layout, one a line.
CommandResult SmiInstances(const ToolCall& call, const NodeView& view, int64_t index) {
  const auto ops = call.state.ops.find(call.node->name);
  const std::string gpu = GpuSubject(call.node->name, static_cast<int>(index)).id;
  if (ops == call.state.ops.end() || !ops->second.mig.contains(gpu))
    return Printed("No MIG-enabled devices found.\n", 6);
  (void)view;
  std::string out = "| GPU instances:                                         |\n";
  int id = 1;
  for (const std::string_view profile : Split(ops->second.mig.at(gpu), ','))
    out += fmt::format("|   {}  MIG {:<16} {:>3} |\n", index, Trim(profile), id++);
  return Printed(std::move(out));
}

CommandResult RunSmi(const ToolCall& call) {
  auto args = call.args;
  NodeView view = LookAt(call.state, *call.node, call.now);
  if (!view.truth.module_built && !view.node.gpus.empty()) {
    return Printed(
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
        "that the latest NVIDIA driver is installed and running.\n\n",
        9);
  }
  if (args.size() == 4 && args[0] == "mig" && args[1] == "-lgi" && args[2] == "-i") {
    const auto index = ParseInt(args[3]);
    if (index.ok()) return SmiInstances(call, view, *index);
  }
  // One GPU only.
  if (args.size() > 2 && args[0] == "-i") {
    const auto index = ParseInt(args[1]);
    std::erase_if(view.gpus,
                  [&](const GpuTruth& gpu) { return !index.ok() || gpu.index != *index; });
    args = args.subspan(2);
  }
  if (Is(args, {"--version"})) return SmiVersion(view);
  if (view.Listed() == 0) return Printed("No devices were found\n", 6);
  if (args.empty()) return SmiTable(view);
  if (Is(args, {"-L"}) || Is(args, {"--list-gpus"})) return SmiList(view);
  if (Is(args, {"-q"}) || Is(args, {"--query"})) return SmiText(view);
  if (Is(args, {"-q", "-x"}) || Is(args, {"-x", "-q"}) || Is(args, {"--query", "--xml-format"}))
    return SmiXml(view);
  if (Is(args, {"topo", "-m"}) || Is(args, {"topo", "--matrix"})) return SmiTopo(view);
  if (Is(args, {"nvlink", "-s"}) || Is(args, {"nvlink", "--status"})) return SmiNvlink(view);
  if (args.size() == 2) {
    const auto columns = After(args[0], "--query-gpu="), format = After(args[1], "--format=");
    if (columns && format && StartsWith(*format, "csv")) return SmiCsv(view, *columns, *format);
  }
  return Printed("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n",
                 2);
}

struct Module {
  std::string_view name, size, used;
};
std::vector<Module> Modules(const NodeView& view) {
  std::vector<Module> modules;
  if (!view.node.gpus.empty() && view.truth.module_built) {
    if (view.truth.peermem_loaded) modules.push_back({"nvidia_peermem", "20480", "0 -"});
    modules.push_back({"nvidia_uvm", "4956160", "2 -"});
    modules.push_back({"nvidia_drm", "131072", "0 -"});
    modules.push_back({"nvidia_modeset", "1814528", "1 nvidia_drm,"});
    modules.push_back({"nvidia", "14381056",
                       view.truth.peermem_loaded ? "19 nvidia_peermem,nvidia_uvm,nvidia_modeset,"
                                                 : "18 nvidia_uvm,nvidia_modeset,"});
  }
  if (!view.node.nics.empty()) {
    modules.push_back({"mlx5_ib", "507904", "0 -"});
    modules.push_back({"ib_uverbs", "200704", "2 rdma_ucm,mlx5_ib,"});
    modules.push_back({"ib_core", "512000",
                       view.truth.peermem_loaded && !view.node.gpus.empty()
                           ? "9 nvidia_peermem,mlx5_ib,ib_uverbs,"
                           : "8 mlx5_ib,ib_uverbs,"});
    modules.push_back({"mlx5_core", "2203648", "1 mlx5_ib,"});
  }
  return modules;
}

CommandResult RunLsmod(const ToolCall& call) {
  const NodeView view = LookAt(call.state, *call.node, call.now);
  std::string out = "Module                  Size  Used by\n";
  for (const Module& module : Modules(view)) {
    const auto used = SplitBlank(module.used);
    std::string_view by = used[1] == "-" ? std::string_view() : used[1];
    if (EndsWith(by, ",")) by.remove_suffix(1);
    fmt::format_to(std::back_inserter(out), "{:<19} {:>8}  {}{}{}\n", module.name, module.size,
                   used[0], by.empty() ? "" : " ", by);
  }
  return Printed(std::move(out));
}

CommandResult RunModinfo(const ToolCall& call) {
  const auto args = call.args;
  if (args.empty()) return Complained("modinfo: ERROR: missing module or filename.\n");
  const NodeView view = LookAt(call.state, *call.node, call.now);
  const std::string& name = args.back();
  const bool known = !view.node.gpus.empty() && (name == "nvidia" || name == "nvidia_peermem" ||
                                                 name == "nvidia-peermem" || name == "nvidia_uvm");
  // Built, and not loaded before the next boot.
  const auto ops = call.state.ops.find(call.node->name);
  const bool built = view.truth.module_built ||
                     (ops != call.state.ops.end() &&
                      ops->second.disk.contains(fmt::format(
                          "/lib/modules/{}/updates/dkms/nvidia.ko", view.truth.kernel)));
  if (!known || !built)
    return Complained(fmt::format("modinfo: ERROR: Module {} not found.\n", name));
  if (args.size() == 5 && args[0] == "-k") {
    if (args[1] != view.truth.kernel)
      return Complained(fmt::format("modinfo: ERROR: Module {} not found.\n", name));
    return Printed(view.truth.kernel + " SMP preempt mod_unload modversions\n");
  }
  if (args.size() == 3 && args[0] == "-F") {
    if (args[1] == "version") return Printed(view.truth.driver_version + "\n");
    if (args[1] == "license") return Printed("NVIDIA\n");
    return Printed("");
  }
  return Printed(fmt::format(
      "filename:       /lib/modules/{}/updates/dkms/{}.ko\nversion:        {}\nlicense:        "
      "NVIDIA\nvermagic:       {} SMP preempt mod_unload modversions\n",
      view.truth.kernel, name, view.truth.driver_version, view.truth.kernel));
}

CommandResult RunSystemctl(const ToolCall& call) {
  const auto args = call.args;
  if (args.size() != 2 || args[0] != "is-active")
    return Complained("systemctl: the lab plays `systemctl is-active UNIT` only\n");
  const NodeView view = LookAt(call.state, *call.node, call.now);
  std::string unit = args[1];
  if (EndsWith(unit, ".service")) unit.resize(unit.size() - 8);
  const bool has_switches = std::any_of(view.gpus.begin(), view.gpus.end(),
                                        [](const auto& gpu) { return gpu.nvlinks > 0; });
  std::optional<bool> active;
  if (unit == "nvidia-fabricmanager" && has_switches)
    active = view.truth.fabric_manager_running;
  else if ((unit == "nvidia-persistenced" || unit == "nvidia-dcgm") && !view.gpus.empty())
    active = true;
  else if (unit == "sshd" || unit == "ssh" || unit == "systemd-journald" || unit == "chrony")
    active = true;
  if (!active) return Printed("inactive\n", 4);  // systemd 253 and later: there is no such unit
  return *active ? Printed("active\n") : Printed("inactive\n", 3);
}

CommandResult RunFabricManager(const ToolCall& call) {
  const NodeView view = LookAt(call.state, *call.node, call.now);
  if (!Is(call.args, {"--version"}) && !Is(call.args, {"-v"}))
    return Complained("nv-fabricmanager: the lab plays `nv-fabricmanager --version` only\n");
  return Printed(
      fmt::format("Fabric Manager version is : {}\n", view.truth.fabric_manager_version));
}

CommandResult RunLspci(const ToolCall& call) {
  const NodeView view = LookAt(call.state, *call.node, call.now);
  std::vector<std::string> lines = {"00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 20)"};
  for (const GpuTruth& gpu : view.gpus) {
    // What fell off the bus stays in the list with a revision of all ones.
    if (gpu.present)
      lines.push_back(
          fmt::format("{} 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev {})",
                      ShortAddress(gpu.pci_bus_id), gpu.lost ? "ff" : "a1"));
  }
  for (size_t i = 0; i < view.node.nics.size(); ++i)
    if (HcaNow(call.state, *call.node, view.node.nics[i], call.now).present)
      lines.push_back(fmt::format(
          "{:02x}:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]",
          0x18 + i));
  if (std::any_of(view.gpus.begin(), view.gpus.end(),
                  [](const auto& gpu) { return gpu.nvlinks > 0; }))
    for (int i = 0; i < 4; ++i)
      lines.push_back(fmt::format(
          "{:02x}:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)", 7 + i));
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return Printed(std::move(out));
}

Result<std::string> ReadProc(const LabState& state, const Node& node, std::string_view path,
                             TimePoint now) {
  const NodeView view = LookAt(state, node, now);
  if (path == "/proc/sys/kernel/random/boot_id") return view.truth.boot_id + "\n";
  if (path == "/proc/sys/kernel/osrelease") return view.truth.kernel + "\n";
  if (path == "/proc/modules") {
    std::string out;
    for (const Module& module : Modules(view))
      fmt::format_to(std::back_inserter(out), "{} {} {} Live 0x0000000000000000{}\n", module.name,
                     module.size, module.used, StartsWith(module.name, "nvidia") ? " (POE)" : "");
    return out;
  }
  if (path == "/proc/driver/nvidia/version" && !node.gpus.empty() && view.truth.module_built)
    return fmt::format(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Tue Oct 28 21:02:11 UTC 2025\nGCC "
        "version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2)\n",
        view.truth.loaded_driver_version);
  return Fail(Code::kNotFound, fmt::format("{}: no such file", path));
}

Result<std::vector<std::string>> ListProc(const LabState&, const Node&, std::string_view path,
                                          TimePoint) {
  return Fail(Code::kNotFound, fmt::format("{}: not a folder of the lab", path));
}

}  // namespace

std::span<const Tool> NvidiaTools() {
  static constexpr std::array<Tool, 9> kTools = {{{"nvidia-smi", RunSmi},
                                                  {"dcgmi", RunDcgmi},
                                                  {"dmesg", RunDmesg},
                                                  {"journalctl", RunJournalctl},
                                                  {"lsmod", RunLsmod},
                                                  {"modinfo", RunModinfo},
                                                  {"systemctl", RunSystemctl},
                                                  {"nv-fabricmanager", RunFabricManager},
                                                  {"lspci", RunLspci}}};
  return kTools;
}

std::span<const LabFile> NvidiaFiles() {
  static constexpr std::array<LabFile, 4> kFiles = {
      {{"/proc/driver/nvidia/version", ReadProc, ListProc},
       {"/proc/modules", ReadProc, ListProc},
       {"/proc/sys/kernel/random/boot_id", ReadProc, ListProc},
       {"/proc/sys/kernel/osrelease", ReadProc, ListProc}}};
  return kFiles;
}

}  // namespace muster::lab
