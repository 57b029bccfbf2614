#include "backend/host/host_acts.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/host/act_details.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::host {

namespace detail {

bool IsWord(std::string_view text, std::string_view more) {
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 128 && text[0] != '-' && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), plain);
}

namespace {

// Which components an order of packages names, with the value of each.
std::vector<std::pair<std::string, std::string>> Components(const Action& action) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* name : {"driver", "fabric_manager", "gsp", "kernel"}) {
    if (const std::string value = Param(action, name); !value.empty())
      found.emplace_back(name, value);
  }
  if (const std::string set = Param(action, "set"); !set.empty())
    found.emplace_back("set " + set, set);
  return found;
}

}  // namespace

Result<std::vector<std::string>> PinsOf(const Action& action, const PackageNames& packages,
                                        const std::string& driver_now) {
  std::vector<std::string> pins;
  for (const auto& [component, value] : Components(action)) {
    const auto names = packages.find(component);
    if (names == packages.end())
      return Fail(Code::kInvalid,
                  fmt::format("packages: the site does not say what \"{}\" is made of (packages: "
                              "{{\"{}\": [name=version]}})",
                              Printable(component), Printable(component)));
    const std::string version = value == "driver" && !driver_now.empty() ? driver_now : value;
    for (std::string pin : names->second) {
      constexpr std::string_view kValue = "{value}";
      for (size_t at = pin.find(kValue); at != std::string::npos; at = pin.find(kValue, at))
        pin.replace(at, kValue.size(), version);
      pins.push_back(std::move(pin));
    }
  }
  return pins;
}

std::string NameOf(std::string_view pin) { return std::string(pin.substr(0, pin.find('='))); }

}  // namespace detail

using namespace detail;

namespace {

constexpr size_t kMostContentBytes = 16 << 10;

Status Expect(bool fine, const Action& action, const std::string& name, std::string_view expected) {
  if (fine) return {};
  return Fail(Code::kInvalid, fmt::format("{}: {} is \"{}\", expected {}", ToString(action.kind),
                                          name, Printable(Param(action, name)), expected));
}

bool IsClockLock(std::string_view text) {
  if (text == "default") return true;
  const auto parts = Split(text, ',');
  return !parts.empty() && parts.size() <= 2 &&
         std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           const auto mhz = ParseInt(part);
           return mhz.ok() && *mhz > 0 && *mhz < 100'000 && part[0] != '+';
         });
}

bool IsLayout(std::string_view text) {
  const auto profiles = Split(text, ',');
  return !profiles.empty() && profiles.size() <= 8 &&
         std::all_of(profiles.begin(), profiles.end(), [](std::string_view profile) {
           return IsWord(profile, ".+") && Contains(profile, "g.");
         });
}

bool IsPlainPath(std::string_view path) {
  if (path.size() < 2 || path.size() > 4096 || path[0] != '/' || EndsWith(path, "/")) return false;
  for (const std::string_view part : Split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  for (const std::string_view under : {"/proc/", "/sys/", "/dev/"}) {
    if (StartsWith(path, under)) return false;
  }
  return std::none_of(path.begin(), path.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Words Smi(std::initializer_list<std::string> words, const std::string& bus) {
  Words all = {"nvidia-smi"};
  if (!bus.empty()) all.insert(all.end(), {"-i", bus});
  all.insert(all.end(), words);
  return all;
}

// What is done to one GPU, or to those of the list that is joined by commas ("" = all).
std::vector<Words> GpuCommands(const Action& action, const std::string& bus, bool has_instances) {
  const bool one = action.on.kind == SubjectKind::kGpu;
  switch (action.kind) {
    case K::kGpuReset:
      // All of a node in one command: GPUs that are joined by NVLink must be reset together.
      return {one ? Words{"nvidia-smi", "--gpu-reset", "-i", bus}
                  : Words{"nvidia-smi", "--gpu-reset"}};
    case K::kPersistence:
      return {Smi({"-pm", Param(action, "mode")}, bus)};
    case K::kClocks:
      if (Param(action, "lock") == "default") return {Smi({"-rgc"}, bus)};
      return {Smi({"-lgc", Param(action, "lock")}, bus)};
    case K::kPowerCap:
      return {Smi({"-pl", Param(action, "watt")}, bus)};
    case K::kEccMode:
      return {Smi({"-e", Param(action, "mode")}, bus)};
    case K::kMigSet:
    case K::kMigClear: {
      std::vector<Words> commands;
      const auto mig = [&](Words more) {
        Words words = {"nvidia-smi", "mig"};
        words.insert(words.end(), more.begin(), more.end());
        if (!bus.empty()) words.insert(words.end(), {"-i", bus});
        commands.push_back(std::move(words));
      };
      if (has_instances) {
        mig({"-dci"});
        mig({"-dgi"});
      }
      commands.push_back(Smi({"-mig", action.kind == K::kMigSet ? "1" : "0"}, bus));
      if (action.kind == K::kMigSet) mig({"-cgi", Param(action, "layout"), "-C"});
      return commands;
    }
    default:
      return {};
  }
}

HostCommands PackageCommands(const Action& action, const std::vector<std::string>& pins) {
  HostCommands run;
  Words unhold = {"apt-mark", "unhold"}, hold = {"apt-mark", "hold"};
  Words install = {"env",
                   "DEBIAN_FRONTEND=noninteractive",
                   "apt-get",
                   "-y",
                   "-o",
                   "Dpkg::Options::=--force-confold",
                   "--allow-downgrades",
                   "--allow-change-held-packages",
                   "install"};
  for (const std::string& pin : pins) {
    unhold.push_back(NameOf(pin));
    hold.push_back(NameOf(pin));
    install.push_back(pin);
  }
  if (!pins.empty()) run.commands = {unhold, install, hold};
  if (Param(action, "reboot") == "true") run.commands.push_back({"systemctl", "reboot"});
  return run;
}

}  // namespace

std::vector<ActKind> HostActs() {
  return {K::kCordon,         K::kDrain,      K::kReturn,       K::kServiceStart, K::kServiceStop,
          K::kServiceRestart, K::kModuleLoad, K::kModuleReload, K::kGpuReset,     K::kPersistence,
          K::kClocks,         K::kPowerCap,   K::kEccMode,      K::kMigSet,       K::kMigClear,
          K::kReboot,         K::kPackages,   K::kFileWrite,    K::kCommand};
}

Status CheckHostAct(const Action& action, const PackageNames& packages) {
  TRY_VOID(CheckAction(action));
  const auto is = [&](const char* name, auto&&... any) {
    const std::string value = Param(action, name);
    return ((value == any) || ...);
  };
  if (OfService(action.kind))
    return Expect(IsWord(Param(action, "unit"), "@_.:-"), action, "unit", "the name of a unit");
  if (OfModule(action.kind))
    return Expect(IsWord(Param(action, "module"), "_-"), action, "module", "the name of a module");
  switch (action.kind) {
    case K::kPersistence:
    case K::kEccMode:
      return Expect(is("mode", "0", "1"), action, "mode", "0 or 1");
    case K::kClocks:
      return Expect(IsClockLock(Param(action, "lock")), action, "lock",
                    "MHz such as 1980,1980, or default");
    case K::kPowerCap: {
      const auto watt = ParseInt(Param(action, "watt"));
      return Expect(watt.ok() && *watt > 0 && *watt < 100'000 && Param(action, "watt")[0] != '+',
                    action, "watt", "whole watts");
    }
    case K::kMigSet:
      return Expect(IsLayout(Param(action, "layout")), action, "layout",
                    "profiles such as 3g.40gb,3g.40gb");
    case K::kFileWrite:
      TRY_VOID(Expect(IsPlainPath(Param(action, "path")), action, "path",
                      "an absolute path without . and .., not below /proc, /sys or /dev"));
      return Expect(Param(action, "content").size() <= kMostContentBytes, action, "content",
                    "at most 16 KiB");
    case K::kCommand:
      TRY_VOID(Expect(!SplitBlank(Param(action, "argv")).empty(), action, "argv", "words"));
      return Expect(!SplitBlank(Param(action, "probe_argv")).empty(), action, "probe_argv",
                    "words");
    case K::kPackages: {
      for (const auto& [component, value] : Components(action))
        if (!IsWord(value, "+.~:_-"))
          return Fail(Code::kInvalid,
                      fmt::format("packages: \"{}\" is no version", Printable(value)));
      TRY(const auto pins, PinsOf(action, packages, ""));
      if (pins.empty() && Param(action, "reboot") != "true")
        return Fail(Code::kInvalid, "packages: nothing is named");
      return {};
    }
    default:
      return {};
  }
}

std::vector<std::string> RenderHostAct(const Action& action, const PackageNames& packages) {
  const std::string node(action.on.Host());
  switch (action.kind) {
    case K::kCordon:
      return {node + ": hold.json takes the lease; nothing but Muster keeps work away from a host"};
    case K::kReturn:
      return {node + ": hold.json gives the lease back, if it is still ours"};
    case K::kDrain:
      return {node + (action.Destructive() ? ": TERM, then KILL, to every process on a GPU"
                                           : ": wait for the processes on its GPUs to end")};
    case K::kFileWrite:
      return {fmt::format("{}: {} is replaced by {} bytes with SHA-256 {}", node,
                          Param(action, "path"), Param(action, "content").size(),
                          Sha256Hex(Param(action, "content")).substr(0, 16))};
    default:
      break;
  }
  if (const Status fine = CheckHostAct(action, packages); !fine.has_value())
    return {fmt::format("{}: (refused) {}", node, fine.error().message)};
  // The bus address is read right before: an index may shift when a GPU is lost.
  const size_t slash = action.on.id.find("/gpu");
  const std::string bus = slash == std::string::npos
                              ? ""
                              : "<bus address of GPU " + action.on.id.substr(slash + 4) + ">";
  const auto run = CommandsOf(action, {{"bus", bus}}, packages);
  std::vector<std::string> lines;
  if (!run.ok()) return {fmt::format("{}: (refused) {}", node, run.error().message)};
  for (const Words& words : run->commands) lines.push_back(node + ": " + Join(words, " "));
  return lines;
}

Result<HostCommands> CommandsOf(const Action& action, const Fingerprint& before,
                                const PackageNames& packages) {
  TRY_VOID(CheckHostAct(action, packages));
  HostCommands run;
  if (OfService(action.kind)) {
    run.commands = {
        {"systemctl", std::string(ToString(action.kind).substr(8)), Param(action, "unit")}};
    return run;
  }
  if (OfModule(action.kind)) {
    if (action.kind == K::kModuleReload)
      run.commands.push_back({"modprobe", "-r", Param(action, "module")});
    run.commands.push_back({"modprobe", Param(action, "module")});
    return run;
  }
  if (OfGpu(action.kind)) {
    std::string bus = At(before, "bus");
    const bool one = action.on.kind == SubjectKind::kGpu;
    if (one && bus.empty()) return Fail(Code::kInvalid, "which GPU it is, is not known");
    if (action.kind == K::kGpuReset) run.kernel_mark = fmt::format("{} {}", kResetMark, bus);
    // A list of several: without -i a command is for all of them.
    if (!one) bus.clear();
    run.commands = GpuCommands(action, bus, !At(before, "mig").empty());
    return run;
  }
  switch (action.kind) {
    case K::kReboot:
      run.commands = {{"systemctl", "reboot"}};
      return run;
    case K::kPackages: {
      TRY(const auto pins, PinsOf(action, packages, At(before, "driver")));
      return PackageCommands(action, pins);
    }
    case K::kFileWrite: {
      const std::string path = Param(action, "path");
      run.input = Param(action, "content");
      // Beside it, then over it: nobody reads half a file. Owner and mode stay.
      run.commands = {{"/bin/sh", "-c",
                       "if [ -e \"$1\" ]; then cp -p -- \"$1\" \"$1.muster\"; fi && "
                       "cat >\"$1.muster\" && sync \"$1.muster\" && mv -- \"$1.muster\" \"$1\"",
                       "sh", path}};
      return run;
    }
    case K::kDrain:
      if (action.Destructive()) run.commands = {EndJobsWords()};
      return run;
    case K::kCommand: {
      Words words;
      const std::string text = Param(action, "argv");
      for (const std::string_view word : SplitBlank(text)) words.emplace_back(word);
      run.commands = {words};
      return run;
    }
    default:
      return Fail(Code::kInvalid, fmt::format("a host does not do {}", ToString(action.kind)));
  }
}

Result<std::string> WantedPackages(const Action& action, const Fingerprint& before,
                                   const PackageNames& packages) {
  TRY(const auto pins, PinsOf(action, packages, At(before, "driver")));
  std::string wanted;
  for (const std::string& pin : pins) wanted += pin + ";";
  return wanted;
}

}  // namespace muster::host
