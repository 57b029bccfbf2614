#include "probes/node/software.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/node/sections.h"

namespace muster::node {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "node.software";

// What is asked of the package manager: the stack between kernel and workload. A trailing * takes
// every package with that beginning.
constexpr std::array kPackages = {
    "containerd",
    "containerd.io",
    "cuda-driver*",
    "cuda-toolkit*",
    "datacenter-gpu-manager*",
    "docker-ce",
    "doca-*",
    "ibacm",
    "kubelet",
    "libibverbs1",
    "libnccl2",
    "libnvidia-container1",
    "mlnx-ofed-kernel*",
    "nvidia-container-toolkit",
    "nvidia-driver*",
    "nvidia-fabricmanager*",
    "nvidia-open*",
    "nvidia-peermem*",
    "openmpi-bin",
    "rdma-core",
    "rocm-core",
    "runc",
    "slurm-smd*",
    "slurmd",
};

std::string Said(const HostPorts& ports, std::vector<std::string> argv) {
  const Reading one = ReadCommand(ports, kId, {.argv = std::move(argv), .timeout = 30s});
  // dpkg-query exits 1 when one of the asked packages is not there; what it printed still counts.
  return one.fault ? std::string() : one.text;
}

std::string Packages(const HostPorts& ports) {
  std::vector<std::string> argv = {"dpkg-query", "-W", "-f",
                                   "${db:Status-Status} ${Package} ${Version}\\n"};
  argv.insert(argv.end(), kPackages.begin(), kPackages.end());
  std::string text = Said(ports, argv);
  if (!text.empty()) return text;
  argv = {"rpm", "-qa", "--qf", "installed %{NAME} %{VERSION}-%{RELEASE}\\n"};
  argv.insert(argv.end(), kPackages.begin(), kPackages.end());
  return Said(ports, argv);
}

// A version is one word that begins with a digit or holds one, short and printable.
bool LooksLikeVersion(std::string_view text) {
  return !text.empty() && text.size() <= 80 &&
         text.find_first_of("0123456789") != std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string_view FirstWordWithDigit(std::string_view text) {
  for (const std::string_view line : Lines(text)) {
    for (std::string_view word : SplitBlank(line)) {
      while (!word.empty() && (word.back() == ':' || word.back() == ',')) word.remove_suffix(1);
      if (LooksLikeVersion(word)) return word;
    }
  }
  return {};
}

// PRETTY_NAME="Ubuntu 22.04.5 LTS" of os-release(5).
std::string PrettyName(std::string_view text) {
  for (const std::string_view line : Lines(text)) {
    auto rest = After(Trim(line), "PRETTY_NAME=");
    if (!rest) continue;
    std::string_view name = Trim(*rest);
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
      name = name.substr(1, name.size() - 2);
    return std::string(name);
  }
  return {};
}

std::string_view SmiLine(std::string_view text, std::string_view head) {
  for (const std::string_view line : Lines(text)) {
    const auto rest = After(Trim(line), head);
    if (!rest) continue;
    const size_t colon = rest->find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view version = Trim(rest->substr(colon + 1));
    if (LooksLikeVersion(version)) return version;
  }
  return {};
}

void AddPackages(std::string_view text, std::map<std::string, std::string>& items) {
  for (const std::string_view line : Lines(text)) {
    const auto words = SplitBlank(line);
    if (words.size() != 3 || words[0] != "installed" || !LooksLikeVersion(words[2])) continue;
    items.emplace(fmt::format("package:{}", words[1]), words[2]);
  }
}

}  // namespace

Reading CollectSoftware(const HostPorts& ports) {
  // The kernel release is on every Linux: without it the host cannot be read at all.
  Reading reading = ReadFile(ports, kId, "/proc/sys/kernel/osrelease");
  reading.command =
      "read /proc/sys/kernel/osrelease, /etc/os-release; nvidia-smi --version; ofed_info -s; "
      "dcgmi --version; nvidia-ctk --version; dpkg-query -W (or rpm -qa)";
  if (reading.fault) return reading;
  std::string text;
  AddSection(text, "kernel", reading.text);
  const Reading os = ReadFile(ports, kId, "/etc/os-release");
  AddSection(text, "os", os.fault ? std::string() : os.text);
  AddSection(text, "smi", Said(ports, {"nvidia-smi", "--version"}));
  AddSection(text, "ofed", Said(ports, {"ofed_info", "-s"}));
  AddSection(text, "dcgm", Said(ports, {"dcgmi", "--version"}));
  AddSection(text, "container_toolkit", Said(ports, {"nvidia-ctk", "--version"}));
  AddSection(text, "packages", Packages(ports));
  AddSection(text, "end", "");
  reading.text = std::move(text);
  reading.at = ports.world.clock.Now();
  return reading;
}

Observations ParseSoftware(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  const auto add = [&](std::string_view fact, std::string_view section, std::string value) {
    if (!Section(reading.text, section))
      return out.AddUnobserved(node, fact, UnknownReason::kUnparsable, "the reading was cut");
    if (value.empty())
      return out.AddUnobserved(node, fact, UnknownReason::kNotObserved,
                               fmt::format("the section {} says nothing", section));
    std::string excerpt = value;
    out.Add(node, fact, std::move(value), Unit::kNone, excerpt);
  };
  add("node.kernel", "kernel",
      std::string(FirstWordWithDigit(Section(reading.text, "kernel").value_or(""))));
  add("node.os", "os", PrettyName(Section(reading.text, "os").value_or("")));
  return out.Take();
}

std::optional<std::vector<SoftwareItem>> SoftwareOf(const Reading& reading) {
  if (reading.fault || !Section(reading.text, "packages")) return std::nullopt;
  std::map<std::string, std::string> items;
  const auto word = [&](std::string name, std::string_view section) {
    const std::string_view version =
        FirstWordWithDigit(Section(reading.text, section).value_or(""));
    if (!version.empty()) items.emplace(std::move(name), version);
  };
  word("kernel", "kernel");
  word("ofed", "ofed");
  word("dcgm", "dcgm");
  word("container-toolkit", "container_toolkit");
  const std::string os = PrettyName(Section(reading.text, "os").value_or(""));
  if (!os.empty()) items.emplace("os", os);
  const std::string_view smi = Section(reading.text, "smi").value_or("");
  if (const auto driver = SmiLine(smi, "DRIVER version"); !driver.empty())
    items.emplace("driver", driver);
  if (const auto cuda = SmiLine(smi, "CUDA Version"); !cuda.empty()) items.emplace("cuda", cuda);
  AddPackages(Section(reading.text, "packages").value_or(""), items);
  std::vector<SoftwareItem> list;
  for (auto& [name, version] : items) list.push_back({name, version});
  return list;
}

}  // namespace muster::node
