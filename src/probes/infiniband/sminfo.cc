#include "probes/infiniband/sminfo.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

std::optional<SmInfo> ParseSminfo(std::string_view text) {
  // sminfo: sm lid 1 sm guid 0x2c90003000001, activity count 640 priority 0 state 3 SMINFO_MASTER
  for (std::string_view line : WholeLines(text)) {
    SmInfo sm;
    sm.excerpt = std::string(line);
    if (!Take(line, "sminfo: sm lid ")) continue;
    const auto lid = TakeNumber(line);
    if (!lid || *lid > 0xffff || !Take(line, " sm guid 0x")) return std::nullopt;
    const auto guid = TakeNumber(line, 16);
    if (!guid || !Take(line, ", activity count ")) return std::nullopt;
    const auto activity = TakeNumber(line);
    if (!activity || !Take(line, " priority ")) return std::nullopt;
    const auto priority = TakeNumber(line);
    if (!priority || !Take(line, " state ")) return std::nullopt;
    const auto number = TakeNumber(line);
    static constexpr std::string_view kStates[] = {"NOTACT", "DISCOVER", "STANDBY", "MASTER"};
    if (!number || *number >= std::size(kStates) || !Take(line, " SMINFO_")) return std::nullopt;
    if (Trim(line) != kStates[*number]) return std::nullopt;
    sm.lid = static_cast<int>(*lid);
    sm.guid = *guid;
    sm.activity = static_cast<int64_t>(*activity);
    sm.priority = static_cast<int>(*priority);
    sm.state = std::string(kStates[*number]);
    return sm;
  }
  return std::nullopt;
}

bool SaysNoSubnetManager(std::string_view text) {
  return Contains(text, "sminfo: iberror: failed: query");
}

std::optional<std::vector<int>> ParseIsSmPorts(std::string_view text) {
  std::vector<int> lids;
  bool begun = false, ended = false;
  size_t records = 0;
  for (const std::string_view line : WholeLines(text)) {
    if (Trim(line) == "IsSM ports") begun = true;
    if (Trim(line) == "IsSMdisabled ports") {
      ended = begun;
      break;
    }
    std::string_view rest = Trim(line);
    if (begun && rest == "PortInfoRecord dump:") ++records;
    if (!begun || !Take(rest, "EndPortLid")) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of('.'), rest.size()));
    const auto lid = ParseInt(rest);
    if (!lid.ok() || *lid < 1 || *lid > 0xffff) return std::nullopt;
    lids.push_back(static_cast<int>(*lid));
  }
  // A record whose LID line was lost hides a subnet manager.
  if (!ended || records > lids.size()) return std::nullopt;
  return lids;
}

namespace {

// What the transcript holds, command by command.
struct Answers {
  std::optional<SmInfo> ours;               // of plain `sminfo`
  bool ours_failed = false;                 // it asked and got no answer
  std::optional<std::vector<int>> capable;  // of `saquery -s`
  std::map<int, std::optional<SmInfo>> by_lid;
};

Answers ReadAnswers(const Reading& reading) {
  Answers answers;
  for (const Block& block : Blocks(reading.text, reading.exit_code)) {
    if (IsOf(block, "saquery")) {
      const auto ports = ParseIsSmPorts(block.text);
      if (ports && block.exit_code.value_or(0) == 0) answers.capable = ports;
    }
    if (!IsOf(block, "sminfo")) continue;
    const auto words = SplitBlank(block.command);
    const auto sm = ParseSminfo(block.text);
    if (words.size() == 2) {
      const auto lid = ParseInt(words[1]);
      if (lid.ok()) answers.by_lid[static_cast<int>(*lid)] = sm;
      continue;
    }
    if (sm) answers.ours = sm;
    if (SaysNoSubnetManager(block.text)) answers.ours_failed = true;
  }
  if (SaysNoSubnetManager(reading.stderr_text)) answers.ours_failed = true;
  return answers;
}

void ObserveMasters(const Subject& fabric, const Answers& answers, ObservationBuilder& builder) {
  const auto unknown = [&](UnknownReason reason, std::string_view detail) {
    builder.AddUnobserved(fabric, "sm.masters", reason, detail);
  };
  if (!answers.capable) {
    return unknown(UnknownReason::kNotObserved,
                   "saquery -s listed no ports, other subnet managers were not asked");
  }
  std::set<uint64_t> masters;
  std::string excerpt;
  const auto count = [&](const SmInfo& sm) {
    if (sm.state != "MASTER" || !masters.insert(sm.guid).second) return;
    excerpt += (excerpt.empty() ? "" : "; ") + sm.excerpt;
  };
  count(*answers.ours);
  for (const int lid : *answers.capable) {
    if (lid == answers.ours->lid) continue;
    const auto it = answers.by_lid.find(lid);
    if (it == answers.by_lid.end() || !it->second || it->second->lid != lid) {
      return unknown(
          UnknownReason::kNotObserved,
          fmt::format("the port with LID {} can be a subnet manager and did not answer", lid));
    }
    count(*it->second);
  }
  for (const auto& [lid, sm] : answers.by_lid) {
    if (sm) count(*sm);
  }
  if (excerpt.empty()) excerpt = answers.ours->excerpt;
  builder.Add(fabric, "sm.masters", static_cast<int64_t>(masters.size()), Unit::kCount, excerpt);
}

}  // namespace

Observations ParseSminfoReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  const Subject fabric{SubjectKind::kFabric, std::string(kFabricId)};
  const Answers answers = ReadAnswers(reading);
  if (answers.ours) {
    builder.Add(fabric, "sm.state", answers.ours->state, Unit::kNone, answers.ours->excerpt);
    ObserveMasters(fabric, answers, builder);
  } else if (answers.ours_failed) {
    builder.Add(fabric, "sm.masters", int64_t{0}, Unit::kCount, "sminfo: iberror: failed: query");
    builder.AddUnobserved(fabric, "sm.state", UnknownReason::kNotObserved,
                          "no subnet manager answered");
  }
  return builder.Take();
}

}  // namespace muster::infiniband
