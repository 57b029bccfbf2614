// Whether an act has happened, from how it was, how it is, and what the host has written down of
// it.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "backend/host/act_details.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::host {

using namespace detail;

namespace {

// Set with MIG's names: one instance for each.
std::string Sorted(std::string_view layout) {
  auto profiles = Split(layout, ',');
  std::sort(profiles.begin(), profiles.end());
  std::string text;
  for (const std::string_view profile : profiles)
    text += (text.empty() ? "" : ",") + std::string(profile);
  return text;
}

ProbeResult Say(bool yes, std::string detail) {
  return {yes ? Happened::kYes : Happened::kNo, std::move(detail)};
}

bool All(const std::string& list, const std::function<bool(std::string_view)>& holds) {
  const auto cells = Split(list, ';');
  return !list.empty() && std::all_of(cells.begin(), cells.end(), holds);
}

// Of what leaves no other trace, the host's own record decides.
ProbeResult ByRecord(const ActRecord& record, std::string_view boot_id_now, std::string_view what) {
  using State = ActRecord::State;
  const std::string said = record.output.empty() ? "" : ": " + Printable(record.output);
  if (record.state == State::kNone) return {Happened::kNo, "the host has no record of it"};
  if (record.state == State::kEnded && record.exit_code == 0)
    return {Happened::kYes, fmt::format("{} ended well{}", what, said)};
  if (record.state == State::kEnded)
    return {Happened::kNo, fmt::format("{} ended with {}{}", what, record.exit_code, said)};
  return {Happened::kUnknown,
          fmt::format("{} was begun{} and its end is not recorded", what,
                      record.boot_id == boot_id_now ? "" : " in an earlier boot")};
}

ProbeResult CompareReset(const Fingerprint& before, const std::optional<Fingerprint>& now,
                         std::string_view boot_id_now, const ActRecord& record) {
  const std::string was = At(before, "boot_id");
  if (was.empty()) return {Happened::kUnknown, "what was so before is not known"};
  if (was != boot_id_now) return {Happened::kYes, "the host was booted since, which resets them"};
  const ProbeResult said = ByRecord(record, boot_id_now, "nvidia-smi");
  if (said.happened != Happened::kUnknown || !now) return said;
  // Cut off in the middle: a counter that a reset clears tells.
  const std::string errors = At(before, "uncorrected"), is = At(*now, "uncorrected");
  const bool counted = All(errors, [](std::string_view e) {
    const auto n = ParseInt(e);
    return n.ok() && *n > 0;
  });
  if (!counted || is.empty()) return said;
  const bool cleared = All(is, [](std::string_view e) { return e == "0"; });
  return Say(cleared, fmt::format("uncorrected errors were {} and are {}", errors, is));
}

ProbeResult ComparePackages(const Action& action, const Fingerprint& before, const Fingerprint& now,
                            std::string_view boot_id_now) {
  if (!At(now, "dpkg").empty())
    return {Happened::kUnknown, "dpkg is at work on the host; there is " + At(now, "versions")};
  // Which versions were wanted stands in the intent.
  const std::string wanted = At(before, "wanted"), is = ";" + At(now, "versions");
  std::vector<std::string> missing;
  for (const std::string_view pin : Split(wanted, ';')) {
    if (!pin.empty() && !Contains(is, fmt::format(";{};", pin))) missing.emplace_back(pin);
  }
  if (!missing.empty())
    return Say(false,
               fmt::format("not so: {}; there is {}", Join(missing, " "), At(now, "versions")));
  if (Param(action, "reboot") == "true" && At(before, "boot_id") == boot_id_now)
    return Say(false, "they are installed, and the host was not booted since");
  return Say(true, "there is " + At(now, "versions"));
}

}  // namespace

ProbeResult Compare(const Action& action, const Fingerprint& before,
                    const std::optional<Fingerprint>& now, std::string_view boot_id_now,
                    const ActRecord& record) {
  if (boot_id_now.empty()) return {Happened::kUnknown, "the host does not say its boot id"};
  const std::string was = At(before, "boot_id");
  if (action.kind == K::kReboot) {
    if (was.empty()) return {Happened::kUnknown, "what was so before is not known"};
    return Say(was != boot_id_now,
               fmt::format("boot_id {} is {}", was.substr(0, 8),
                           was == boot_id_now ? std::string("the same")
                                              : "now " + std::string(boot_id_now.substr(0, 8))));
  }
  // What is under way is neither done nor not done.
  if (record.state == ActRecord::State::kUnderWay)
    return {Happened::kUnknown, "it is under way on the host"};
  if (action.kind == K::kGpuReset) return CompareReset(before, now, boot_id_now, record);
  if (action.kind == K::kClocks) {
    if (!was.empty() && was != boot_id_now)
      return {Happened::kNo, "the host was booted since, which unlocks the clocks"};
    return ByRecord(record, boot_id_now, "nvidia-smi");
  }
  if (!now) return {Happened::kUnknown, "the host does not say how it is now"};
  if (OfService(action.kind)) {
    const std::string state = At(*now, "unit_ActiveState");
    const bool active = state == "active";
    if (action.kind == K::kServiceStop)
      return Say(state == "inactive" || state == "failed", "the unit is " + state);
    if (action.kind == K::kServiceStart) return Say(active, "the unit is " + state);
    const std::string id = At(*now, "unit_InvocationID"), old = At(before, "unit_InvocationID");
    if (active && id.empty()) return {Happened::kUnknown, "systemd does not say which start it is"};
    return Say(active && id != old,
               fmt::format("the unit is {}, start {}", state, id.substr(0, 8)));
  }
  if (OfModule(action.kind)) {
    const std::string inode = At(*now, "module");
    const bool anew = action.kind == K::kModuleLoad || inode != At(before, "module") ||
                      (!was.empty() && was != boot_id_now);
    return Say(!inode.empty() && anew, inode.empty() ? "it is not loaded"
                                       : anew        ? "it is loaded"
                                                     : "it was not loaded anew");
  }
  switch (action.kind) {
    case K::kPersistence:
    case K::kEccMode: {
      const std::string list =
          At(*now, action.kind == K::kPersistence ? "persistence" : "ecc_pending");
      const std::string_view wanted = Param(action, "mode") == "1" ? "Enabled" : "Disabled";
      return Say(All(list, [&](std::string_view is) { return is == wanted; }),
                 fmt::format("it is {}", list));
    }
    case K::kPowerCap: {
      const double watt = ParseDouble(Param(action, "watt")).value_or(0);
      const std::string list = At(*now, "power_w");
      return Say(All(list,
                     [&](std::string_view is) {
                       const auto limit = ParseDouble(is);
                       return limit.ok() && std::abs(*limit - watt) < 1;
                     }),
                 fmt::format("the limit is {} W", list));
    }
    case K::kMigClear:
      return Say(At(*now, "mig").empty() &&
                     All(At(*now, "mig_mode"),
                         [](std::string_view is) { return is == "Disabled" || is == "[N/A]"; }),
                 fmt::format("MIG is {}, instances: {}", At(*now, "mig_mode"), At(*now, "mig")));
    case K::kMigSet: {
      std::map<std::string_view, std::string> of_gpu;
      const std::string uuids = At(*now, "uuid"), mig = At(*now, "mig");
      for (const std::string_view uuid : Split(uuids, ';')) of_gpu[uuid] = "";
      for (const std::string_view one : Split(mig, ';')) {
        const size_t equals = one.find('=');
        if (equals == std::string_view::npos) continue;
        std::string& list = of_gpu[one.substr(0, equals)];
        list += (list.empty() ? "" : ",") + std::string(one.substr(equals + 1));
      }
      const std::string wanted = Sorted(Param(action, "layout"));
      const bool all = std::all_of(of_gpu.begin(), of_gpu.end(),
                                   [&](const auto& gpu) { return Sorted(gpu.second) == wanted; });
      return Say(all && !of_gpu.empty(), "instances: " + mig);
    }
    case K::kFileWrite:
      return Say(At(*now, "sha256") == Sha256Hex(Param(action, "content")),
                 "its SHA-256 is " + At(*now, "sha256").substr(0, 16));
    case K::kPackages:
      return ComparePackages(action, before, *now, boot_id_now);
    case K::kCommand: {
      const std::string code = At(*now, "probe");
      if (code == "0" || code == "1") return Say(code == "0", "its probe exits " + code);
      return {Happened::kUnknown, "its probe exits " + code};
    }
    default:
      return {Happened::kUnknown, "nothing shows it"};
  }
}

}  // namespace muster::host
