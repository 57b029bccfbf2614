// The text that Prometheus scrapes (format 0.0.4, and OpenMetrics 1.0), read without copying: a
// fleet of 10,000 GPUs sends 17,000 samples a second with dcgm-exporter's defaults alone. A bad
// line is counted and named, never guessed at.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::dcgm_exporter {

struct Label {
  std::string_view name;
  std::string_view raw;  // between the quotes, escapes as written
  bool escaped = false;  // `raw` holds a backslash
  std::string Value() const;
};

// One line. All views point into the text handed to ParseExposition and are valid only during the
// call.
struct Sample {
  std::string_view name;
  std::span<const Label> labels;
  double value = 0;                   // may be NaN or infinite
  std::optional<double> timestamp_s;  // Unix seconds in both dialects
  std::string_view exemplar;          // what follows " # ", as written
  std::string_view line;

  const Label* Find(std::string_view label) const;
};

// `# TYPE`, `# HELP` and `# UNIT` of one metric.
struct Family {
  std::string name, type, help, unit;
};

struct BadLine {
  size_t number = 0;  // from 1
  std::string what;
};

struct Exposition {
  size_t samples = 0;
  std::vector<Family> families;  // in the order of the page
  size_t bad_lines = 0;
  std::vector<BadLine> bad;  // the first 8 of them
  // The end is missing: 0.0.4 ends every line with a line feed, OpenMetrics ends with "# EOF". A
  // last line without its line feed is not read at all: "10" may be what is left of "100".
  bool truncated = false;

  bool whole() const { return !truncated && bad_lines == 0; }
};

enum class Dialect { kText004, kOpenMetrics };
// From the Content-Type header; anything that does not name OpenMetrics is 0.0.4.
Dialect DialectOf(std::string_view content_type);

using OnSample = std::function<void(const Sample&)>;
// Reads the whole page; `on_sample` gets each good line. Lenient in what both dialects allow (blank
// lines, CR LF, exemplars, quoted UTF-8 names of Prometheus 3), strict in numbers and quotes. Never
// throws. Source: Prometheus exposition formats
// (prometheus.io/docs/instrumenting/exposition_formats), OpenMetrics 1.0.
Exposition ParseExposition(std::string_view text, Dialect dialect, const OnSample& on_sample);

}  // namespace muster::dcgm_exporter
