#include "evidence/codec.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// ---- writing: by hand, since a check of a large cluster writes some hundred thousand of these
// ----

void WriteText(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i++];
    } else if (c < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
      ++i;
    } else if (c < 0x80) {
      out += text[i++];
    } else {
      // Printable() knows which sequences are valid; a piece of at most four bytes is looked at.
      size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
      const std::string_view piece = text.substr(i, length);
      bool valid = piece.size() == length && c >= 0xC2 && c < 0xF5;
      for (size_t k = 1; valid && k < length; ++k)
        valid = (static_cast<unsigned char>(piece[k]) & 0xC0) == 0x80;
      if (valid && length > 2) {
        // Overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629, section 4).
        const auto second = static_cast<unsigned char>(piece[1]);
        valid = !(c == 0xE0 && second < 0xA0) && !(c == 0xED && second > 0x9F) &&
                !(c == 0xF0 && second < 0x90) && !(c == 0xF4 && second > 0x8F);
      }
      if (valid) {
        out += piece;
        i += length;
      } else {
        out += "\xEF\xBF\xBD";
        ++i;
      }
    }
  }
  out += '"';
}

class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_ += '{'; }
  void End() { out_ += '}'; }
  std::string& Key(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    fmt::format_to(std::back_inserter(out_), "\"{}\":", key);
    return out_;
  }
  void Text(std::string_view key, std::string_view text) { WriteText(Key(key), text); }
  void TextIfAny(std::string_view key, std::string_view text) {
    if (!text.empty()) Text(key, text);
  }
  void Int(std::string_view key, int64_t value) {
    fmt::format_to(std::back_inserter(Key(key)), "{}", value);
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void WriteValue(std::string& out, const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    out += *flag ? "true" : "false";
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    fmt::format_to(std::back_inserter(out), "{}", *whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) {
      out += std::isnan(*real) ? "{\"real\":\"nan\"}"
             : *real > 0       ? "{\"real\":\"inf\"}"
                               : "{\"real\":\"-inf\"}";
      return;
    }
    const std::string digits = fmt::format("{}", *real);
    out += digits;
    if (digits.find_first_of(".e") == std::string::npos) out += ".0";
  } else {
    WriteText(out, std::get<std::string>(value));
  }
}

template <typename T, typename Write>
void WriteList(std::string& out, const std::vector<T>& items, Write&& write) {
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    write(items[i]);
  }
  out += ']';
}

// base/time.h prints milliseconds; evidence keeps all nine digits.
std::string ExactTime(TimePoint t) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(t);
  std::string text = FormatTime(whole);
  const int64_t nanos = (t - whole).count();
  if (nanos == 0) return text;
  text.pop_back();
  return fmt::format("{}.{:09}Z", text, nanos);
}

void WriteSource(std::string& out, const Source& source) {
  Object o(out);
  o.Text("probe", source.probe);
  o.Text("host", source.host);
  o.Text("command", source.command);
  o.Int("exit_code", source.exit_code);
  o.Text("raw_sha256", source.raw_sha256);
  o.TextIfAny("tool_version", source.tool_version);
  o.End();
}

void WriteObservation(std::string& out, const Observation& observation,
                      std::optional<size_t> source_number) {
  Object o(out);
  o.Text("subject", observation.subject.ToString());
  o.Text("fact", observation.fact);
  if (const Value* value = observation.value()) {
    WriteValue(o.Key("value"), *value);
  } else {
    Object unknown(o.Key("unknown"));
    unknown.Text("reason", ToString(observation.unobserved()->reason));
    unknown.Text("detail", observation.unobserved()->detail);
    unknown.End();
  }
  o.Text("unit", ToString(observation.unit));
  o.Text("observed_at", ExactTime(observation.observed_at));
  o.Text("origin", ToString(observation.origin));
  if (source_number) {
    o.Int("source", static_cast<int64_t>(*source_number));
  } else if (observation.source) {
    WriteSource(o.Key("source"), *observation.source);
  }
  o.TextIfAny("excerpt", observation.excerpt);
  o.End();
}

void WriteVerdict(std::string& out, const Verdict& verdict) {
  Object o(out);
  o.Text("code", verdict.code);
  o.Int("gate", verdict.gate);
  o.Text("subject", verdict.subject.ToString());
  o.Text("verdict", ToString(verdict.level));
  if (verdict.reason) o.Text("reason", ToString(*verdict.reason));
  o.Text("measured", verdict.measured);
  o.Text("wanted", verdict.wanted);
  o.Text("text", verdict.text);
  o.Text("origin", ToString(verdict.origin));
  WriteList(o.Key("evidence"), verdict.evidence,
            [&](size_t i) { fmt::format_to(std::back_inserter(out), "{}", i); });
  o.End();
}

void WriteThreshold(std::string& out, const Threshold& threshold) {
  Object o(out);
  WriteList(o.Key("values"), threshold.values, [&](const Value& v) { WriteValue(out, v); });
  o.Text("unit", ToString(threshold.unit));
  o.TextIfAny("expect", threshold.expect);
  o.End();
}

// ---- reading ----

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

// ParseTime, but only for years that a TimePoint can hold (1678 to 2261).
Result<TimePoint> ReadTime(std::string_view text) {
  if (const auto year = ParseInt(text.substr(0, 4)); !year.ok() || *year < 1678 || *year > 2261)
    return Fail(Code::kParse,
                fmt::format("\"{}\" is not a time in reach", Shorten(Printable(text), 40)));
  return ParseTime(text);
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
  o.observed_at = f.Parsed(ReadTime(f.Text("observed_at")), TimePoint{});
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

std::string EncodeObservation(const Observation& observation) {
  std::string out;
  WriteObservation(out, observation, std::nullopt);
  return out;
}

Result<Observation> DecodeObservation(std::string_view json) {
  TRY(const Json document, Document(json));
  return ReadObservation(document, {});
}

std::string EncodeVerdict(const Verdict& verdict) {
  std::string out;
  WriteVerdict(out, verdict);
  return out;
}

Result<Verdict> DecodeVerdict(std::string_view json) {
  TRY(const Json document, Document(json));
  return ReadVerdict(document);
}

std::string EncodeCriterion(const Criterion& c) {
  std::string out;
  Object o(out);
  const auto texts = [&](std::string_view key, const std::vector<std::string>& list) {
    if (!list.empty())
      WriteList(o.Key(key), list, [&](const std::string& text) { WriteText(out, text); });
  };
  o.Text("code", c.code);
  o.Int("gate", c.gate);
  o.Text("title", c.title);
  o.Text("on", ToString(c.subject));
  o.Text("fact", c.fact);
  o.Text("measure", ToString(c.measure));
  o.Text("compare", ToString(c.compare));
  WriteThreshold(o.Key("pass"), c.pass);
  if (c.warn) WriteThreshold(o.Key("warn"), *c.warn);
  o.Int("fresh_for_ns", c.fresh_for.count());
  o.Int("min_samples", c.min_samples);
  texts("applies_when", c.applies_when);
  o.TextIfAny("otherwise", c.otherwise);
  o.Key("advisory") += c.advisory ? "true" : "false";
  if (c.when_observed) o.Key("when_observed") += "true";
  texts("unknown_values", c.unknown_values);
  if (c.miss_is) o.Text("miss_is", ToString(*c.miss_is));
  if (c.saturates_at) o.Int("saturates_at", *c.saturates_at);
  o.Text("why", c.why);
  o.Text("measured_by", c.measured_by);
  o.Text("source", c.source);
  o.Text("fix", c.fix);
  o.Text("next", c.next);
  o.TextIfAny("runbook", c.runbook);
  o.TextIfAny("owner", c.owner);
  o.TextIfAny("since", c.since);
  o.Int("rank", c.rank);
  o.End();
  return out;
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

std::string EncodeObservations(std::span<const Observation> observations) {
  std::unordered_map<const Source*, size_t> numbers;
  std::string sources, lines;
  for (const Observation& o : observations) {
    std::optional<size_t> number;
    if (o.source) {
      const auto [it, added] = numbers.try_emplace(o.source.get(), numbers.size());
      number = it->second;
      if (added) {
        sources += *number == 0 ? "\n" : ",\n";
        WriteSource(sources, *o.source);
      }
    }
    lines += lines.empty() ? "\n" : ",\n";
    WriteObservation(lines, o, number);
  }
  return fmt::format("{{\"sources\":[{}],\n\"observations\":[{}]}}\n", sources, lines);
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

std::string EncodeVerdicts(std::span<const Verdict> verdicts) {
  std::string out = "[";
  for (const Verdict& verdict : verdicts) {
    out += out.size() == 1 ? "\n" : ",\n";
    WriteVerdict(out, verdict);
  }
  return out + "]\n";
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
