#include "app/ledger_codec.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "evidence/codec.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Nanoseconds since the epoch: exact, where RFC 3339 text would round.
int64_t Nanos(TimePoint t) { return t.time_since_epoch().count(); }
TimePoint FromNanos(int64_t nanos) { return TimePoint{Duration{nanos}}; }

// Reads a document with `body`, turning the library's exceptions into one kParse error.
template <typename Body>
auto Decoded(std::string_view bytes, Body body) -> decltype(body(std::declval<const Json&>())) {
  try {
    return body(Json::parse(bytes));
  } catch (const Json::exception& e) {
    return Fail(Code::kParse, fmt::format("not a ledger record: {}", e.what()));
  }
}

Json Encode(const Suspect& s) {
  return {{"kind", ToString(s.subject.kind)},
          {"id", s.subject.id},
          {"level", ToString(s.level)},
          {"codes", s.codes},
          {"why", s.why},
          {"next", s.next}};
}

Result<Suspect> DecodeSuspect(const Json& json) {
  Suspect s;
  TRY(s.subject.kind, ParseSubjectKind(json.at("kind").get<std::string>()));
  s.subject.id = json.at("id").get<std::string>();
  TRY(s.level, ParseLevel(json.at("level").get<std::string>()));
  s.codes = json.at("codes").get<std::vector<std::string>>();
  s.why = json.at("why").get<std::string>();
  s.next = json.at("next").get<std::string>();
  return s;
}

}  // namespace

std::string EncodeHeader(const RunHeader& h) {
  return Dump({{"run", h.run},
               {"site", h.site_name},
               {"site_sha256", h.site_sha256},
               {"site_text", h.site_text},
               {"catalogue_sha256", h.catalogue_sha256},
               {"version", h.version},
               {"by", h.by},
               {"from", h.from},
               {"to", h.to},
               {"scope", h.scope},
               {"nodes", h.nodes},
               {"at", Nanos(h.at)},
               {"origin", ToString(h.origin)},
               {"look_only", h.look_only}});
}

Result<RunHeader> DecodeHeader(std::string_view bytes) {
  return Decoded(bytes, [](const Json& json) -> Result<RunHeader> {
    RunHeader h;
    h.run = json.at("run").get<std::string>();
    h.site_name = json.at("site").get<std::string>();
    h.site_sha256 = json.at("site_sha256").get<std::string>();
    h.site_text = json.at("site_text").get<std::string>();
    h.catalogue_sha256 = json.at("catalogue_sha256").get<std::string>();
    h.version = json.at("version").get<std::string>();
    h.by = json.at("by").get<std::string>();
    h.from = json.at("from").get<int>();
    h.to = json.at("to").get<int>();
    h.scope = json.at("scope").get<std::string>();
    h.nodes = json.at("nodes").get<std::vector<std::string>>();
    h.at = FromNanos(json.at("at").get<int64_t>());
    TRY(h.origin, ParseOrigin(json.at("origin").get<std::string>()));
    h.look_only = json.at("look_only").get<bool>();
    return h;
  });
}

std::string EncodeGateBegins(int gate, TimePoint at) {
  return Dump({{"gate", gate}, {"at", Nanos(at)}});
}

Status DecodeGateBegins(std::string_view bytes, int& gate, TimePoint& at) {
  return Decoded(bytes, [&](const Json& json) -> Status {
    gate = json.at("gate").get<int>();
    at = FromNanos(json.at("at").get<int64_t>());
    return {};
  });
}

std::string EncodeAct(int gate, const ActRecord& act) {
  return Dump({{"gate", gate},
               {"name", act.name},
               {"argv", act.argv},
               {"outcome", act.outcome},
               {"output", act.output},
               {"exit_code", act.exit_code}});
}

Status DecodeAct(std::string_view bytes, int& gate, ActRecord& act) {
  return Decoded(bytes, [&](const Json& json) -> Status {
    gate = json.at("gate").get<int>();
    act.name = json.at("name").get<std::string>();
    act.argv = json.at("argv").get<std::vector<std::string>>();
    act.outcome = json.at("outcome").get<std::string>();
    act.output = json.at("output").get<std::string>();
    act.exit_code = json.at("exit_code").get<int>();
    return {};
  });
}

std::string EncodeReading(int gate, const Reading& r) {
  Json head = {{"gate", gate},
               {"probe", r.probe},
               {"host", r.host},
               {"command", r.command},
               {"exit_code", r.exit_code},
               {"at", Nanos(r.at)},
               {"took", r.took.count()},
               {"origin", ToString(r.origin)},
               {"stderr", r.stderr_text}};
  if (r.fault) head["fault"] = {{"reason", ToString(r.fault->reason)}, {"detail", r.fault->detail}};
  return Dump(head) + "\n" + r.text;
}

Status DecodeReading(std::string_view bytes, int& gate, Reading& r) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return Fail(Code::kParse, "a reading without a text");
  r.text = bytes.substr(end + 1);
  return Decoded(bytes.substr(0, end), [&](const Json& json) -> Status {
    gate = json.at("gate").get<int>();
    r.probe = json.at("probe").get<std::string>();
    r.host = json.at("host").get<std::string>();
    r.command = json.at("command").get<std::string>();
    r.exit_code = json.at("exit_code").get<int>();
    r.at = FromNanos(json.at("at").get<int64_t>());
    r.took = Duration{json.at("took").get<int64_t>()};
    TRY(r.origin, ParseOrigin(json.at("origin").get<std::string>()));
    r.stderr_text = json.at("stderr").get<std::string>();
    if (json.contains("fault")) {
      Unobserved fault;
      TRY(fault.reason, ParseUnknownReason(json["fault"].at("reason").get<std::string>()));
      fault.detail = json["fault"].at("detail").get<std::string>();
      r.fault = std::move(fault);
    }
    return {};
  });
}

std::string EncodeDerived(int gate, const Observations& derived) {
  return fmt::format("{}\n{}", gate, EncodeObservations(derived));
}

Result<Observations> DecodeDerived(std::string_view bytes, int& gate) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos)
    return Fail(Code::kParse, "derived observations without a gate");
  TRY(const int64_t number, ParseInt(bytes.substr(0, end)));
  gate = static_cast<int>(number);
  return DecodeObservations(bytes.substr(end + 1));
}

std::string EncodeResult(const GateResult& r) {
  Json json = {{"gate", r.gate},
               {"level", ToString(r.level)},
               {"blocked_by", r.blocked_by},
               {"waived_by", r.waived_by},
               {"judged_at", Nanos(r.judged_at)},
               {"took", r.took.count()},
               {"components", r.components},
               {"suspects", Json::array()},
               {"not_applicable", Json::array()},
               {"figures", Json::object()}};
  for (const Suspect& s : r.suspects) json["suspects"].push_back(Encode(s));
  for (const NotApplicable& n : r.not_applicable)
    json["not_applicable"].push_back({{"code", n.code}, {"title", n.title}, {"reason", n.reason}});
  for (const auto& [name, q] : r.figures)
    json["figures"][name] = {{"value", q.value}, {"unit", ToString(q.unit)}};
  return Dump(json) + "\n" + EncodeVerdicts(r.verdicts);
}

Result<GateResult> DecodeResult(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return Fail(Code::kParse, "a judgement without verdicts");
  GateResult r;
  TRY_VOID(Decoded(bytes.substr(0, end), [&](const Json& json) -> Status {
    r.gate = json.at("gate").get<int>();
    TRY(r.level, ParseLevel(json.at("level").get<std::string>()));
    r.blocked_by = json.at("blocked_by").get<std::string>();
    r.waived_by = json.at("waived_by").get<std::string>();
    r.judged_at = FromNanos(json.at("judged_at").get<int64_t>());
    r.took = Duration{json.at("took").get<int64_t>()};
    r.components = json.at("components").get<std::map<std::string, std::string>>();
    for (const Json& s : json.at("suspects")) {
      TRY(Suspect suspect, DecodeSuspect(s));
      r.suspects.push_back(std::move(suspect));
    }
    for (const Json& n : json.at("not_applicable")) {
      r.not_applicable.push_back({n.at("code").get<std::string>(), n.at("title").get<std::string>(),
                                  n.at("reason").get<std::string>()});
    }
    for (const auto& [name, q] : json.at("figures").items()) {
      TRY(const Unit unit, ParseUnit(q.at("unit").get<std::string>()));
      r.figures[name] = {q.at("value").get<double>(), unit};
    }
    return {};
  }));
  TRY(r.verdicts, DecodeVerdicts(bytes.substr(end + 1)));
  return r;
}

std::string EncodeResumed(TimePoint at, std::string_view note) {
  return Dump({{"at", FormatTime(at)}, {"note", note}});
}

std::string DecodeResumed(std::string_view bytes) {
  const Json json = Json::parse(bytes, nullptr, false);
  return json.is_object() && json.contains("at") && json["at"].is_string()
             ? json["at"].get<std::string>()
             : "";
}

std::string EncodeClosed(Level level, TimePoint at) {
  return Dump({{"level", ToString(level)}, {"at", Nanos(at)}});
}

Status DecodeClosed(std::string_view bytes, Level& level, TimePoint& at) {
  return Decoded(bytes, [&](const Json& json) -> Status {
    TRY(level, ParseLevel(json.at("level").get<std::string>()));
    at = FromNanos(json.at("at").get<int64_t>());
    return {};
  });
}

}  // namespace muster
