#include "probes/train_log/train_log.h"

#include <cmath>
#include <limits>

#include "base/strings.h"

namespace muster::train_log {
namespace {

constexpr size_t kMaxLine = 65536;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Only a finite figure of zero or more is a measurement of speed.
std::optional<double> Positive(std::optional<double> figure) {
  if (!figure || !std::isfinite(*figure) || *figure <= 0) return std::nullopt;
  return figure;
}
std::optional<double> Times(std::optional<double> figure, double factor) {
  if (figure) *figure *= factor;
  return figure;
}
std::optional<int64_t> Whole(std::string_view text) {
  const auto n = ParseInt(Trim(text));
  if (!n.ok() || *n < 0) return std::nullopt;
  return *n;
}

// The word behind `label`, up to a blank: "tps: 1,444  tflops" gives "1,444". The label must stand
// alone.
std::optional<std::string_view> WordAfter(std::string_view line, std::string_view label) {
  for (size_t at = line.find(label); at != std::string_view::npos; at = line.find(label, at + 1)) {
    if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t') continue;
    const std::string_view rest = Trim(line.substr(at + label.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    if (!word.empty()) return word;
  }
  return std::nullopt;
}

std::optional<double> FigureAfter(std::string_view line, std::string_view label) {
  const auto word = WordAfter(line, label);
  return word ? ParseFigure(*word) : std::nullopt;
}

// "23.10%" as a ratio; nothing without the sign (the line was cut) or below zero (nanoGPT's first
// lines say -100.00%).
std::optional<double> PercentAfter(std::string_view line, std::string_view label) {
  auto word = WordAfter(line, label);
  if (!word || !EndsWith(*word, "%")) return std::nullopt;
  word->remove_suffix(1);
  return Positive(Times(ParseFigure(*word), 0.01));
}

// torchtitan/components/metrics.py: "step:  1  loss:  8.2  grad_norm: ..  memory: 1.0GiB(1%)  tps:
// 1,444  tflops: 300.32  mfu: 23.10%".
std::optional<Step> TorchTitan(std::string_view line) {
  const auto number = WordAfter(line, "step:");
  const auto loss = FigureAfter(line, "loss:");
  if (!number || !loss || !Contains(line, "tps:")) return std::nullopt;
  const auto step = Whole(*number);
  const auto tps = Positive(FigureAfter(line, "tps:"));
  if (!step || !tps) return std::nullopt;
  Step out;
  out.step = *step;
  out.loss = loss;
  out.tokens_per_s_gpu = tps;
  out.tflops_gpu = Positive(FigureAfter(line, "tflops:"));
  out.mfu = PercentAfter(line, "mfu:");
  return out;
}

// nanoGPT's train.py: "iter 10: loss 3.2410, time 125.31ms, mfu 29.10%".
std::optional<Step> NanoGpt(std::string_view line) {
  const size_t at = line.find("iter ");
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + 5);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto step = Whole(line.substr(0, colon));
  const std::vector<std::string_view> fields = Split(line.substr(colon + 1), ',');
  if (!step || fields.size() < 2) return std::nullopt;
  const auto loss = After(Trim(fields[0]), "loss ");
  const auto time = After(Trim(fields[1]), "time ");
  if (!loss || !time || !EndsWith(*time, "ms")) return std::nullopt;
  Step out;
  out.step = *step;
  out.loss = ParseFigure(*loss);
  out.step_time_s = Positive(Times(ParseFigure(time->substr(0, time->size() - 2)), 1e-3));
  if (fields.size() > 2) out.mfu = PercentAfter(Trim(fields[2]), "mfu ");
  if (!out.loss || !out.step_time_s) return std::nullopt;
  return out;
}

// One "name: value" of a line of fields between bars. `value` may have words behind its figure.
void MegatronField(std::string_view name, std::string_view value, Step& out) {
  const std::string_view first = value.substr(0, value.find_first_of(" \t"));
  const auto figure = ParseFigure(first);
  if (name == "elapsed time per iteration (ms)") {
    out.step_time_s = Positive(Times(figure, 1e-3));
  } else if (name == "throughput per GPU (TFLOP/s/GPU)" || name == "TFLOPs") {
    out.tflops_gpu = Positive(figure);
  } else if (name == "compute per GPU (TFLOP/s/GPU)") {
    out.kernel_tflops_gpu = Positive(figure);
  } else if (StartsWith(name, "tokens/s/GPU") || StartsWith(name, "tokens per GPU")) {
    // "inst/harmonic mean: 9640.7/9629.8": this step's comes first.
    out.tokens_per_s_gpu = Positive(ParseFigure(first.substr(0, first.find('/'))));
  } else if (name == "lm loss" || name == "loss") {
    out.loss = figure;
  } else if (name == "number of nan iterations") {
    out.nan_iterations = Whole(first);
  } else if (name == "consumed tokens") {
    out.consumed_tokens = Whole(first);
  }
}

void NanotronField(std::string_view name, std::string_view value, Step& out) {
  const auto figure = ParseFigure(value);
  if (name == "elapsed_time_per_iteration_ms") {
    out.step_time_s = Positive(Times(figure, 1e-3));
  } else if (name == "tokens_per_sec_per_gpu") {
    out.tokens_per_s_gpu = Positive(figure);
  } else if (name == "model_tflops_per_gpu") {
    out.tflops_gpu = Positive(figure);
  } else if (name == "lm_loss" || name == "loss") {
    out.loss = figure;
  } else if (name == "consumed_tokens" && figure && *figure >= 0 && *figure < 9e15) {
    out.consumed_tokens = static_cast<int64_t>(*figure);
  }
}

// Megatron's training_log(): " iteration   43/  100 | consumed samples: ... | elapsed time per
// iteration (ms): 5444.9 | ... |", every field closed by a bar. nanotron: "iteration: 327281 /
// 378950 | consumed_tokens: ... | elapsed_time_per_iteration_ms: 11.5K | ...".
struct Barred {
  std::optional<Step> step;
  Framework framework = Framework::kUnknown;
};
Barred BarredLine(std::string_view line) {
  const size_t at = line.find("iteration");
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + 9);
  const bool nanotron = StartsWith(rest, ":");
  if (nanotron) rest.remove_prefix(1);
  std::vector<std::string_view> fields = Split(rest, '|');
  if (fields.size() < 2) return {};
  const std::string_view counter = Trim(fields[0]);
  const size_t slash = counter.find('/');
  if (slash == std::string_view::npos) return {};
  const auto step = Whole(counter.substr(0, slash));
  if (!step || !Whole(counter.substr(slash + 1))) return {};
  // What stands behind Megatron's last bar is no whole field.
  if (!nanotron) fields.pop_back();
  Step out;
  out.step = *step;
  for (size_t i = 1; i < fields.size(); ++i) {
    const size_t colon = fields[i].find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Trim(fields[i].substr(0, colon));
    const std::string_view value = Trim(fields[i].substr(colon + 1));
    if (nanotron) {
      NanotronField(name, value, out);
    } else {
      MegatronField(name, value, out);
    }
  }
  if (!out.step_time_s) return {};
  return {std::move(out), nanotron ? Framework::kNanotron : Framework::kMegatron};
}

// Whether a line begins like a step of one of them; if it then does not parse, it is counted.
bool LooksLikeStep(std::string_view line) {
  if (Contains(line, "step:") && Contains(line, "tps:")) return true;
  if (Contains(line, "iteration") && Contains(line, "|") && Contains(line, "elapsed")) return true;
  const auto iter = After(Trim(line), "iter ");
  return iter && !iter->empty() && IsDigit((*iter)[0]) && Contains(*iter, "loss");
}

}  // namespace

std::string_view ToString(Framework framework) {
  switch (framework) {
    case Framework::kTorchTitan:
      return "torchtitan";
    case Framework::kMegatron:
      return "megatron";
    case Framework::kNanotron:
      return "nanotron";
    case Framework::kNanoGpt:
      return "nanogpt";
    case Framework::kUnknown:
      break;
  }
  return "unknown";
}

std::string StripAnsi(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    const char kind = i + 1 < text.size() ? text[i + 1] : '\0';
    if (kind == '[') {  // CSI: parameters, then one letter
      for (i += 2; i < text.size() && !(text[i] >= '@' && text[i] <= '~'); ++i) {
      }
    } else if (kind == ']') {  // OSC: up to BEL or ESC '\'
      for (i += 2; i < text.size() && text[i] != '\x07' && text[i] != '\x1b'; ++i) {
      }
      if (i < text.size() && text[i] == '\x1b') ++i;
    } else {
      ++i;
    }
  }
  return out;
}

std::optional<double> ParseFigure(std::string_view text) {
  const std::string lower = ToLower(text);
  if (lower == "nan" || lower == "-nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf" || lower == "+inf") return std::numeric_limits<double>::infinity();
  if (lower == "-inf") return -std::numeric_limits<double>::infinity();
  double factor = 1;
  if (!text.empty()) {
    const char unit = text.back();
    factor = unit == 'K'                  ? 1e3
             : unit == 'M'                ? 1e6
             : unit == 'G' || unit == 'B' ? 1e9
             : unit == 'T'                ? 1e12
                                          : 1;
    if (factor > 1) text.remove_suffix(1);
  }
  // Commas only between groups of three digits, before the point.
  std::string digits;
  const size_t end = std::min(text.find_first_of(".eE"), text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      digits += text[i];
      continue;
    }
    const bool grouped = i > 0 && IsDigit(text[i - 1]) && i + 3 < text.size() && i < end &&
                         IsDigit(text[i + 1]) && IsDigit(text[i + 2]) && IsDigit(text[i + 3]) &&
                         (end - i - 1) % 4 == 3;
    if (!grouped) return std::nullopt;
  }
  const auto figure = ParseDouble(digits);
  if (!figure.ok()) return std::nullopt;
  return *figure * factor;
}

TrainLog ParseTrainLog(std::string_view text) {
  TrainLog log;
  const size_t last_end = text.rfind('\n');
  const std::string_view whole =
      last_end == std::string_view::npos ? std::string_view() : text.substr(0, last_end);
  log.cut = LooksLikeStep(StripAnsi(text.substr(whole.size()).substr(0, kMaxLine)));
  for (const std::string_view raw : Lines(whole)) {
    if (raw.size() > kMaxLine) continue;
    const std::string line = StripAnsi(raw);
    Framework framework = Framework::kUnknown;
    std::optional<Step> step = TorchTitan(line);
    if (step) framework = Framework::kTorchTitan;
    if (!step) {
      Barred barred = BarredLine(line);
      step = std::move(barred.step);
      framework = barred.framework;
    }
    if (!step && (step = NanoGpt(line))) framework = Framework::kNanoGpt;
    if (!step) {
      if (LooksLikeStep(line)) ++log.unread;
      continue;
    }
    step->line = Shorten(Trim(line), 400);
    if (log.framework == Framework::kUnknown) log.framework = framework;
    log.steps.push_back(std::move(*step));
  }
  return log;
}

}  // namespace muster::train_log
