// Reading JSON back; codec_write.cc has the other direction.
#include "evidence/codec.h"

#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// One JSON object; collects the first thing that is wrong with it.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {
    if (!json.is_object()) Bad("an object is missing");
  }

  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }
  std::string Text(const char* key, bool needed = true) {
    const Json* field = Find(key);
    if (field && field->is_string()) return field->get<std::string>();
    if (field || needed) Bad(fmt::format("\"{}\" is not a text", key));
    return {};
  }
  int64_t Int(const char* key) {
    const Json* field = Find(key);
    if (field && IsInt(*field)) return field->get<int64_t>();
    Bad(fmt::format("\"{}\" is not a whole number", key));
    return 0;
  }
  int SmallInt(const char* key) {
    const int64_t value = Int(key);
    if (value != static_cast<int>(value)) Bad(fmt::format("\"{}\" is too large", key));
    return static_cast<int>(value);
  }
  template <typename T>
  T Parsed(Result<T> result, T otherwise) {
    if (result.ok()) return std::move(*result);
    Bad(result.error().message);
    return otherwise;
  }
  const Json* List(const char* key, bool needed = true) {
    const Json* field = Find(key);
    if (field && field->is_array()) return field;
    if (field || needed) Bad(fmt::format("\"{}\" is not a list", key));
    return nullptr;
  }
  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> texts;
    if (const Json* list = List(key, false)) {
      for (const Json& item : *list) {
        if (!item.is_string()) {
          Bad(fmt::format("\"{}\" is not a list of texts", key));
          break;
        }
        texts.push_back(item.get<std::string>());
      }
    }
    return texts;
  }
  Subject AsSubject(const char* key) {
    const std::string text = Text(key);
    const size_t blank = text.find(' ');
    if (blank == std::string::npos) {
      Bad(fmt::format("\"{}\" is not a kind and an id", key));
      return {};
    }
    const SubjectKind kind =
        Parsed(ParseSubjectKind(std::string_view(text).substr(0, blank)), SubjectKind::kSite);
    return {kind, text.substr(blank + 1)};
  }
  Unit AsUnit(const char* key) { return Parsed(ParseUnit(Text(key)), Unit::kNone); }

  void Bad(std::string what) {
    if (!problem_) problem_ = std::move(what);
  }
  const std::optional<std::string>& problem() const { return problem_; }

  static bool IsInt(const Json& json) {
    if (json.is_number_unsigned())
      return json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return json.is_number_integer();
  }

 private:
  const Json& json_;
  std::optional<std::string> problem_;
};

Result<Value> ReadValue(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (Fields::IsInt(json)) return Value(json.get<int64_t>());
  if (json.is_object() && json.size() == 1 && json.contains("real")) {
    const Json& real = json["real"];
    if (real == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (real == "inf") return Value(std::numeric_limits<double>::infinity());
    if (real == "-inf") return Value(-std::numeric_limits<double>::infinity());
  }
  return Fail(Code::kParse, "a value is not a boolean, a number or a text");
}

Result<Json> Document(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(Code::kParse, "not a JSON document");
  return json;
}

Result<std::shared_ptr<const Source>> ReadSource(const Json& json) {
  Fields f(json);
  auto source = std::make_shared<Source>();
  source->probe = f.Text("probe");
  source->host = f.Text("host");
  source->command = f.Text("command");
  source->exit_code = f.SmallInt("exit_code");
  source->raw_sha256 = f.Text("raw_sha256");
  source->tool_version = f.Text("tool_version", false);
  if (f.problem()) return Fail(Code::kParse, "source: " + *f.problem());
  return std::shared_ptr<const Source>(std::move(source));
}

Result<Observation> ReadObservation(const Json& json,
                                    std::span<const std::shared_ptr<const Source>> sources) {
  Fields f(json);
  Observation o;
  o.subject = f.AsSubject("subject");
  o.fact = f.Text("fact");
  const Json* value = f.Find("value");
  const Json* unknown = f.Find("unknown");
  if ((value == nullptr) == (unknown == nullptr))
    f.Bad("neither or both of \"value\", \"unknown\"");
  if (value && !unknown) {
    o.seen = f.Parsed(ReadValue(*value), Value(false));
  } else if (unknown) {
    Fields u(*unknown);
    Unobserved missing;
    missing.reason = u.Parsed(ParseUnknownReason(u.Text("reason")), UnknownReason::kNotObserved);
    missing.detail = u.Text("detail");
    if (u.problem()) f.Bad("unknown: " + *u.problem());
    o.seen = std::move(missing);
  }
  o.unit = f.AsUnit("unit");
  o.observed_at = f.Parsed(ParseTime(f.Text("observed_at")), TimePoint{});
  o.origin = f.Parsed(ParseOrigin(f.Text("origin")), Origin::kRehearsed);
  if (const Json* source = f.Find("source")) {
    if (source->is_number_unsigned() && source->get<uint64_t>() < sources.size()) {
      o.source = sources[source->get<uint64_t>()];
    } else if (source->is_object()) {
      o.source = f.Parsed(ReadSource(*source), std::shared_ptr<const Source>());
    } else {
      f.Bad("\"source\" names none");
    }
  }
  o.excerpt = f.Text("excerpt", false);
  if (f.problem()) return Fail(Code::kParse, "observation: " + *f.problem());
  return o;
}

Result<Verdict> ReadVerdict(const Json& json) {
  Fields f(json);
  Verdict v;
  v.code = f.Text("code");
  v.gate = f.SmallInt("gate");
  v.subject = f.AsSubject("subject");
  v.level = f.Parsed(ParseLevel(f.Text("verdict")), Level::kUnknown);
  if (f.Find("reason"))
    v.reason = f.Parsed(ParseUnknownReason(f.Text("reason")), UnknownReason::kNotObserved);
  v.measured = f.Text("measured");
  v.wanted = f.Text("wanted");
  v.text = f.Text("text");
  v.origin = f.Parsed(ParseOrigin(f.Text("origin")), Origin::kRehearsed);
  if (const Json* list = f.List("evidence")) {
    for (const Json& item : *list) {
      if (!item.is_number_unsigned()) {
        f.Bad("\"evidence\" is not a list of numbers");
        break;
      }
      v.evidence.push_back(item.get<size_t>());
    }
  }
  if (f.problem()) return Fail(Code::kParse, "verdict: " + *f.problem());
  return v;
}

Result<Threshold> ReadThreshold(const Json& json) {
  Fields f(json);
  Threshold t;
  if (const Json* list = f.List("values")) {
    for (const Json& item : *list) t.values.push_back(f.Parsed(ReadValue(item), Value(false)));
  }
  t.unit = f.AsUnit("unit");
  t.expect = f.Text("expect", false);
  if (f.problem()) return Fail(Code::kParse, "threshold: " + *f.problem());
  return t;
}

}  // namespace

Result<Observation> DecodeObservation(std::string_view json) {
  TRY(const Json document, Document(json));
  return ReadObservation(document, {});
}

Result<Verdict> DecodeVerdict(std::string_view json) {
  TRY(const Json document, Document(json));
  return ReadVerdict(document);
}

Result<Criterion> DecodeCriterion(std::string_view json) {
  TRY(const Json document, Document(json));
  Fields f(document);
  Criterion c;
  c.code = f.Text("code");
  c.gate = f.SmallInt("gate");
  c.title = f.Text("title");
  c.subject = f.Parsed(ParseSubjectKind(f.Text("on")), SubjectKind::kSite);
  c.fact = f.Text("fact");
  c.measure = f.Parsed(ParseMeasure(f.Text("measure")), Measure::kLast);
  c.compare = f.Parsed(ParseCompare(f.Text("compare")), Compare::kEqual);
  if (const Json* pass = f.Find("pass")) {
    c.pass = f.Parsed(ReadThreshold(*pass), Threshold{});
  } else {
    f.Bad("\"pass\" is missing");
  }
  if (const Json* warn = f.Find("warn")) c.warn = f.Parsed(ReadThreshold(*warn), Threshold{});
  c.fresh_for = Duration(f.Int("fresh_for_ns"));
  c.min_samples = f.SmallInt("min_samples");
  c.applies_when = f.Texts("applies_when");
  c.otherwise = f.Text("otherwise", false);
  if (const Json* advisory = f.Find("advisory"); advisory && advisory->is_boolean()) {
    c.advisory = advisory->get<bool>();
  } else {
    f.Bad("\"advisory\" is not a boolean");
  }
  if (const Json* only = f.Find("when_observed")) c.when_observed = *only == Json(true);
  c.unknown_values = f.Texts("unknown_values");
  if (f.Find("miss_is"))
    c.miss_is = f.Parsed(ParseUnknownReason(f.Text("miss_is")), UnknownReason::kNotObserved);
  if (f.Find("saturates_at")) c.saturates_at = f.Int("saturates_at");
  c.why = f.Text("why");
  c.measured_by = f.Text("measured_by");
  c.source = f.Text("source");
  c.fix = f.Text("fix");
  c.next = f.Text("next");
  c.runbook = f.Text("runbook", false);
  c.owner = f.Text("owner", false);
  c.since = f.Text("since", false);
  c.rank = f.SmallInt("rank");
  if (f.problem()) return Fail(Code::kParse, "criterion: " + *f.problem());
  return c;
}

Result<Observations> DecodeObservations(std::string_view json) {
  TRY(const Json document, Document(json));
  Fields f(document);
  const Json* sources = f.List("sources");
  const Json* list = f.List("observations");
  if (f.problem()) return Fail(Code::kParse, *f.problem());
  std::vector<std::shared_ptr<const Source>> shared;
  for (const Json& item : *sources) {
    TRY(auto source, ReadSource(item));
    shared.push_back(std::move(source));
  }
  Observations observations;
  observations.reserve(list->size());
  for (const Json& item : *list) {
    TRY(auto observation, ReadObservation(item, shared));
    observations.push_back(std::move(observation));
  }
  return observations;
}

Result<std::vector<Verdict>> DecodeVerdicts(std::string_view json) {
  TRY(const Json document, Document(json));
  if (!document.is_array()) return Fail(Code::kParse, "not a list of verdicts");
  std::vector<Verdict> verdicts;
  verdicts.reserve(document.size());
  for (const Json& item : document) {
    TRY(auto verdict, ReadVerdict(item));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace muster
