#include "probes/dcgm_exporter/exposition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::dcgm_exporter {

namespace {

constexpr size_t kKeptBadLines = 8;

consteval std::array<bool, 256> NameTable() {
  std::array<bool, 256> ok{};
  for (int c = 'a'; c <= 'z'; ++c) ok[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) ok[static_cast<size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) ok[static_cast<size_t>(c)] = true;
  ok['_'] = ok[':'] = true;
  return ok;
}
constexpr std::array<bool, 256> kNameByte = NameTable();

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Unescape(std::string_view raw) {
  std::string plain;
  plain.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      plain += raw[i];
      continue;
    }
    const char next = raw[++i];
    if (next == 'n') {
      plain += '\n';
    } else if (next == '\\' || next == '"') {
      plain += next;
    } else {
      // Both specifications leave an unknown escape as it stands.
      plain += '\\';
      plain += next;
    }
  }
  return plain;
}

// "1.5", "+Inf", "NaN", "1e9". Not what from_chars also takes: "infinity(…)", hexadecimal.
std::optional<double> ReadNumber(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  std::string_view rest = text;
  if (text[0] == '+' || negative) rest.remove_prefix(1);
  if (rest.empty()) return std::nullopt;
  if (!IsDigit(rest[0]) && rest[0] != '.') {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (EqualsIgnoreCase(rest, "inf") || EqualsIgnoreCase(rest, "infinity")) {
      return negative ? -kInfinity : kInfinity;
    }
    if (EqualsIgnoreCase(rest, "nan")) return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size()) return std::nullopt;
  // Go's ParseFloat, which Prometheus reads with, also refuses what does not fit.
  if (error != std::errc{}) return std::nullopt;
  return negative ? -value : value;
}

// Walks one line.
class LineReader {
 public:
  LineReader(std::string_view line, Dialect dialect, std::vector<Label>& labels)
      : at_(line.data()), end_(line.data() + line.size()), dialect_(dialect), labels_(labels) {
    labels_.clear();
    sample_.line = line;
  }

  // The reason why the line is bad, or nullptr.
  const char* Read() {
    SkipBlank();
    const char* name = at_;
    while (at_ < end_ && kNameByte[static_cast<unsigned char>(*at_)]) ++at_;
    sample_.name = {name, static_cast<size_t>(at_ - name)};
    if (!sample_.name.empty() && IsDigit(sample_.name[0])) return "a name begins with a digit";
    SkipBlank();
    if (at_ < end_ && *at_ == '{') {
      ++at_;
      if (const char* why = ReadLabels(false)) return why;
    }
    if (sample_.name.empty()) return "no metric name";
    sample_.labels = labels_;
    return ReadNumbers();
  }

  const Sample& sample() const { return sample_; }

 private:
  void SkipBlank() {
    while (at_ < end_ && IsBlank(*at_)) ++at_;
  }

  const char* ReadLabels(bool exemplar) {
    for (;;) {
      SkipBlank();
      if (at_ == end_) return "no closing brace";
      if (*at_ == '}') {
        ++at_;
        return nullptr;
      }
      if (const char* why = ReadLabel(exemplar)) return why;
      SkipBlank();
      if (at_ < end_ && *at_ == ',') {
        ++at_;
      } else if (at_ < end_ && *at_ != '}') {
        return "no comma between labels";
      }
    }
  }

  const char* ReadLabel(bool exemplar) {
    Label label;
    if (*at_ == '"') {
      Label quoted;
      if (const char* why = ReadQuoted(quoted)) return why;
      SkipBlank();
      if (at_ == end_ || *at_ != '=') {
        if (!sample_.name.empty() || exemplar) return "a quoted word without a value";
        sample_.name = quoted.raw;
        return nullptr;
      }
      label.name = quoted.raw;
    } else {
      const char* name = at_;
      while (at_ < end_ && kNameByte[static_cast<unsigned char>(*at_)] && *at_ != ':') ++at_;
      label.name = {name, static_cast<size_t>(at_ - name)};
      if (label.name.empty() || IsDigit(label.name[0])) return "a label has no name";
      SkipBlank();
    }
    if (at_ == end_ || *at_ != '=') return "a label has no value";
    ++at_;
    SkipBlank();
    if (at_ == end_ || *at_ != '"') return "a label value is not quoted";
    if (const char* why = ReadQuoted(label)) return why;
    if (!exemplar) labels_.push_back(label);
    return nullptr;
  }

  // From an opening quote; fills raw and escaped.
  const char* ReadQuoted(Label& into) {
    const char* begin = ++at_;
    for (;;) {
      const auto* quote = static_cast<const char*>(std::memchr(at_, '"', end_ - at_));
      if (quote == nullptr) return "a quote is not closed";
      // A quote after an odd number of backslashes is part of the value.
      const char* back = quote;
      while (back > begin && back[-1] == '\\') --back;
      at_ = quote + 1;
      if ((quote - back) % 2 == 0) {
        into.raw = {begin, static_cast<size_t>(quote - begin)};
        break;
      }
    }
    into.escaped = std::memchr(begin, '\\', into.raw.size()) != nullptr;
    return nullptr;
  }

  std::string_view Word() {
    SkipBlank();
    const char* begin = at_;
    while (at_ < end_ && !IsBlank(*at_)) ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }

  const char* ReadNumbers() {
    const std::optional<double> value = ReadNumber(Word());
    if (!value) return "the value is not a number";
    sample_.value = *value;
    SkipBlank();
    if (at_ < end_ && *at_ != '#') {
      const std::optional<double> stamp = ReadNumber(Word());
      if (!stamp || !std::isfinite(*stamp)) return "the timestamp is not a number";
      sample_.timestamp_s = dialect_ == Dialect::kText004 ? *stamp / 1000 : *stamp;
      SkipBlank();
    }
    if (at_ == end_) return nullptr;
    return ReadExemplar();
  }

  const char* ReadExemplar() {
    const char* begin = at_;
    if (*at_ != '#') return "something follows the value";
    ++at_;
    SkipBlank();
    if (at_ == end_ || *at_ != '{') return "something follows the value";
    ++at_;
    if (const char* why = ReadLabels(true)) return why;
    if (!ReadNumber(Word())) return "the exemplar has no value";
    SkipBlank();
    if (at_ < end_ && !ReadNumber(Word())) return "the exemplar's timestamp is not a number";
    SkipBlank();
    if (at_ != end_) return "something follows the exemplar";
    sample_.exemplar = {begin, static_cast<size_t>(end_ - begin)};
    return nullptr;
  }

  const char* at_;
  const char* end_;
  Dialect dialect_;
  std::vector<Label>& labels_;
  Sample sample_;
};

class PageReader {
 public:
  PageReader(Dialect dialect, const OnSample& on_sample)
      : dialect_(dialect), on_sample_(on_sample) {}

  Exposition Read(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      ++number_;
      const auto* feed = static_cast<const char*>(std::memchr(at, '\n', end - at));
      const char* stop = feed == nullptr ? end : feed;
      std::string_view line(at, static_cast<size_t>(stop - at));
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      at = stop + 1;
      // OpenMetrics lets the line feed after "# EOF" be absent; no other last line may lack it.
      if (feed == nullptr && (dialect_ == Dialect::kText004 || line != "# EOF")) {
        page_.truncated = true;
        return std::move(page_);
      }
      Take(line);
    }
    if (dialect_ == Dialect::kOpenMetrics && !ended_) page_.truncated = true;
    return std::move(page_);
  }

 private:
  void Take(std::string_view line) {
    if (ended_ && dialect_ == Dialect::kOpenMetrics && !Trim(line).empty()) {
      return Complain("something follows # EOF");
    }
    size_t first = 0;
    while (first < line.size() && IsBlank(line[first])) ++first;
    if (first == line.size()) return;
    if (line[first] == '#') return TakeComment(line.substr(first));
    LineReader reader(line, dialect_, labels_);
    if (const char* why = reader.Read()) return Complain(why);
    ++page_.samples;
    on_sample_(reader.sample());
  }

  void TakeComment(std::string_view line) {
    if (line == "# EOF") {
      ended_ = true;
      return;
    }
    std::string_view rest = Trim(line.substr(1));
    const auto word = [&rest] {
      const size_t blank = std::min(rest.find_first_of(" \t"), rest.size());
      const std::string_view taken = rest.substr(0, blank);
      rest = Trim(rest.substr(blank));
      return taken;
    };
    const std::string_view keyword = word();
    if (keyword != "HELP" && keyword != "TYPE" && keyword != "UNIT") return;
    const std::string_view name = word();
    if (name.empty()) return Complain("HELP, TYPE or UNIT without a name");
    Family& family = FamilyOf(name);
    if (keyword == "TYPE") {
      family.type = rest;
    } else if (keyword == "UNIT") {
      family.unit = rest;
    } else {
      family.help = Unescape(rest);
    }
  }

  // Metadata of one metric stands together; only the last family can be meant.
  Family& FamilyOf(std::string_view name) {
    if (page_.families.empty() || page_.families.back().name != name) {
      page_.families.push_back({std::string(name), {}, {}, {}});
    }
    return page_.families.back();
  }

  void Complain(std::string_view what) {
    ++page_.bad_lines;
    if (page_.bad.size() < kKeptBadLines) page_.bad.push_back({number_, std::string(what)});
  }

  const Dialect dialect_;
  const OnSample& on_sample_;
  Exposition page_;
  std::vector<Label> labels_;
  size_t number_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string Label::Value() const { return escaped ? Unescape(raw) : std::string(raw); }

const Label* Sample::Find(std::string_view label) const {
  for (const Label& candidate : labels) {
    if (candidate.name == label) return &candidate;
  }
  return nullptr;
}

Dialect DialectOf(std::string_view content_type) {
  return StartsWith(ToLower(Trim(content_type)), "application/openmetrics-text")
             ? Dialect::kOpenMetrics
             : Dialect::kText004;
}

Exposition ParseExposition(std::string_view text, Dialect dialect, const OnSample& on_sample) {
  return PageReader(dialect, on_sample).Read(text);
}

}  // namespace muster::dcgm_exporter
