// Writing JSON: by hand, since a check of a large cluster writes some hundred thousand of these.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"
#include "evidence/codec.h"

namespace muster {

namespace {

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
      const size_t length = Utf8Length(text.substr(i));
      out += length == 0 ? "\xEF\xBF\xBD" : text.substr(i, length);
      i += std::max<size_t>(length, 1);
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

}  // namespace

std::string EncodeObservation(const Observation& observation) {
  std::string out;
  WriteObservation(out, observation, std::nullopt);
  return out;
}

std::string EncodeVerdict(const Verdict& verdict) {
  std::string out;
  WriteVerdict(out, verdict);
  return out;
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

std::string EncodeVerdicts(std::span<const Verdict> verdicts) {
  std::string out = "[";
  for (const Verdict& verdict : verdicts) {
    out += out.size() == 1 ? "\n" : ",\n";
    WriteVerdict(out, verdict);
  }
  return out + "]\n";
}

}  // namespace muster
