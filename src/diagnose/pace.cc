#include "diagnose/pace.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/median.h"

namespace muster::diagnose {

namespace {

constexpr size_t kFewestSamples = 3;
constexpr double kLowShare = 0.8, kNearShare = 0.25, kSteadyShare = 0.75;

constexpr std::array kPaceKeys = {
    PaceKey{"tokens/s"},
    PaceKey{"tokens_per_sec"},
    PaceKey{"tokens per second"},
    PaceKey{"samples/sec"},
    PaceKey{"samples per second"},
    PaceKey{"(tflop/s/gpu)"},
    PaceKey{"tps:"},
    PaceKey{"tflops:"},
    PaceKey{"elapsed time per iteration (ms)", false},
    PaceKey{"step_time", false},
    PaceKey{"step time", false},
};

// "412,000" behind ": ", "=", "(s): " or blanks; none where a word stands between.
std::optional<double> PaceAfter(std::string_view rest) {
  constexpr std::array<std::string_view, 3> kPaceUnits = {"(s)", "(ms)", "/gpu"};
  for (const std::string_view unit : kPaceUnits)
    if (rest.starts_with(unit)) rest.remove_prefix(unit.size());
  const size_t at = rest.find_first_not_of(" :=|\"'");
  if (at == std::string_view::npos) return std::nullopt;
  rest = rest.substr(at);
  std::string digits(rest.substr(0, rest.find_first_not_of("0123456789.,")));
  while (digits.ends_with(',') || digits.ends_with('.')) digits.pop_back();
  std::erase(digits, ',');
  const auto value = ParseDouble(digits);
  if (!value.ok() || *value <= 0) return std::nullopt;
  return *value;
}

}  // namespace

std::span<const PaceKey> PaceKeys() { return kPaceKeys; }

std::optional<Fall> FallOf(std::span<const double> samples) {
  if (samples.size() < 2 * kFewestSamples) return std::nullopt;
  std::vector<double> most_after(samples.begin(), samples.end());
  for (size_t i = most_after.size() - 1; i-- > 0;)
    most_after[i] = std::max(most_after[i], most_after[i + 1]);
  for (size_t at = kFewestSamples; at + kFewestSamples <= samples.size(); ++at) {
    if (samples[at] >= kLowShare * samples[at - 1]) continue;
    const auto before = samples.subspan(0, at);
    const double median = Median({before.begin(), before.end()});
    if (most_after[at] >= kLowShare * median) continue;
    const auto near = std::count_if(before.begin(), before.end(), [&](double value) {
      return std::abs(value - median) <= kNearShare * median;
    });
    if (static_cast<double>(near) < kSteadyShare * static_cast<double>(at)) continue;
    return Fall{at, median,
                Median({samples.begin() + static_cast<std::ptrdiff_t>(at), samples.end()})};
  }
  return std::nullopt;
}

void Paces::Line(size_t key, std::string_view line, std::string_view folded, const Place& at) {
  const size_t found = folded.find(kPaceKeys[key].anchor);
  if (found == std::string_view::npos) return;
  const auto value = PaceAfter(folded.substr(found + kPaceKeys[key].anchor.size()));
  if (!value) return;
  Series& series = series_[key];
  if (series.seen++ % series.every != 0) return;
  series.samples.push_back({*value, at, std::string(line.substr(0, kTextBytes))});
  if (series.samples.size() < kMostSamples) return;
  for (size_t i = 1; 2 * i < series.samples.size(); ++i)
    series.samples[i] = std::move(series.samples[2 * i]);
  series.samples.resize(series.samples.size() / 2);
  series.every *= 2;
}

void Paces::End(FactStore& facts) {
  for (const auto& [key, series] : series_) {
    std::vector<double> values;
    const bool falls = kPaceKeys[key].falls;
    for (const Sample& sample : series.samples)
      values.push_back(falls ? sample.value : 1 / sample.value);
    const auto fall = FallOf(values);
    if (!fall) continue;
    const auto shown = [&](double value) {
      return fmt::format("{:.6g}", falls ? value : 1 / value);
    };
    const Sample& first = series.samples[fall->at];
    facts.Add({"pace.fell",
               {{"what", std::string(kPaceKeys[key].anchor)},
                {"before", shown(fall->before)},
                {"after", shown(fall->after)}},
               first.at,
               Printable(Trim(first.text))});
    break;  // several keys tell of one fall
  }
  series_.clear();
}

}  // namespace muster::diagnose
