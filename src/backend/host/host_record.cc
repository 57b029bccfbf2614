#include "backend/host/host_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/lease_text.h"
#include "base/strings.h"

namespace muster::host {

namespace {

using Json = nlohmann::json;
constexpr size_t kMostOutputBytes = 1500;

}  // namespace

std::string WriteHostHold(const HostHold& hold) {
  Json json = {
      {"apiVersion", "muster/v1"}, {"kind", "HostHold"},  {"schedulable", hold.schedulable},
      {"note", hold.note},         {"fence", hold.fence}, {"changes", hold.changes}};
  if (hold.lease) json["lease"] = Json::parse(WriteLease(*hold.lease));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<HostHold> ReadHostHold(std::string_view text) {
  const auto broken = [&] {
    return Fail(Code::kCorrupt, fmt::format("the hold of the host cannot be read: \"{}\"",
                                            Shorten(Printable(text), 120)));
  };
  // The end of line is the last byte that is written: without it the file was cut.
  if (!EndsWith(text, "\n")) return broken();
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("kind", Json()) != "HostHold") return broken();
  const auto number = [&](const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_number_unsigned() ? std::optional(it->get<uint64_t>())
                                                        : std::nullopt;
  };
  const auto schedulable = json.find("schedulable"), note = json.find("note");
  const auto fence = number("fence"), changes = number("changes");
  if (schedulable == json.end() || !schedulable->is_boolean() || note == json.end() ||
      !note->is_string() || !fence || !changes)
    return broken();
  HostHold hold;
  hold.schedulable = schedulable->get<bool>();
  hold.note = note->get<std::string>();
  hold.fence = *fence;
  hold.changes = *changes;
  if (const auto lease = json.find("lease"); lease != json.end()) {
    auto read = ReadLease(lease->dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!read.ok()) return broken();
    hold.lease = std::move(*read);
  }
  return hold;
}

Hold HoldOf(const HostHold& hold) {
  Hold said;
  said.schedulable = hold.schedulable;
  said.lease = hold.lease;
  said.note = hold.note;
  said.version = std::to_string(hold.changes);
  return said;
}

// "state none|begun|busy|ended", "boot ID", "code N", "output", then what was printed, "end".
Result<ActRecord> ReadActRecord(std::string_view text) {
  const auto broken = [&] {
    return Fail(Code::kParse,
                fmt::format("no whole record of an act: \"{}\"", Shorten(Printable(text), 120)));
  };
  constexpr std::string_view kOutput = "\noutput\n", kEnd = "\nend\n";
  const size_t output = text.find(kOutput);
  if (output == std::string_view::npos || !EndsWith(text, kEnd) ||
      output + kOutput.size() > text.size() - kEnd.size() + 1)
    return broken();
  ActRecord record;
  std::string_view state, boot, code;
  for (const std::string_view line : Lines(text.substr(0, output))) {
    if (const auto rest = After(line, "state ")) state = *rest;
    if (const auto rest = After(line, "boot ")) boot = *rest;
    if (const auto rest = After(line, "code ")) code = *rest;
  }
  record.boot_id = std::string(Trim(boot));
  const size_t from = output + kOutput.size();
  const size_t to = std::max(from, text.size() - kEnd.size());
  record.output = Shorten(Trim(text.substr(from, to - from)), kMostOutputBytes);
  if (state == "none") return record;
  if (record.boot_id.empty()) return broken();
  if (state == "begun") {
    record.state = ActRecord::State::kBegun;
  } else if (state == "busy") {
    record.state = ActRecord::State::kUnderWay;
  } else if (state == "ended") {
    const auto number = ParseInt(Trim(code));
    if (!number.ok() || *number < 0 || *number > 255) return broken();
    record.state = ActRecord::State::kEnded;
    record.exit_code = static_cast<int>(*number);
  } else {
    return broken();
  }
  return record;
}

}  // namespace muster::host
