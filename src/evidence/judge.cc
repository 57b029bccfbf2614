#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "evidence/compare.h"
#include "evidence/names.h"
#include "evidence/verdict.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 5> kLevels = {"pass", "warn", "unknown", "fail",
                                                     "not_applicable"};

// What the samples come down to.
struct Figure {
  std::vector<Value> values;     // to be held to the threshold, the worst counts
  bool at_least = false;         // the true figure is this or more (a counter that hides some)
  std::string hides;             // why, for at_least
  std::vector<size_t> evidence;  // indexes
};

// One judgement in the making; every way out goes through Unknown() or Settle().
class Judgement {
 public:
  Judgement(const Criterion& c, const Subject& subject, const ObservationIndex& index,
            const Expectation& expect, TimePoint now)
      : c_(c), index_(index), expect_(expect), now_(now) {
    v_.code = c.code;
    v_.gate = c.gate;
    v_.subject = subject;
    v_.measured = "-";
  }

  Verdict Run() && {
    const bool told = Resolve();
    const std::span<const size_t> found = index_.Find(v_.subject, c_.fact);
    if (found.empty()) return NothingSeen();
    if (auto why = Unbelievable(found.back())) return std::move(*why);
    std::vector<size_t> samples(found.begin(), found.end());
    if (c_.measure != Measure::kDelta && c_.measure != Measure::kRatePerHour) {
      std::erase_if(samples, [&](size_t i) { return Age(i) > c_.fresh_for; });
    }
    if (auto why = Unusable(samples)) return std::move(*why);
    if (!told)
      return Unknown(UnknownReason::kNotObserved,
                     fmt::format("the site does not say {}", missing_name_), samples);
    if (c_.measure == Measure::kAllEqual) {
      for (const size_t i : samples) {
        if (At(i).observed_at == At(samples.back()).observed_at &&
            *At(i).value() != *At(samples.back()).value())
          return Unknown(UnknownReason::kUnparsable, "two values of one moment", samples);
      }
      return Fleet(samples.back());
    }
    auto figure = Reduce(samples);
    if (!figure) return std::move(v_);
    return Settle(std::move(*figure));
  }

 private:
  const Observation& At(size_t i) const { return index_.at(i); }
  Duration Age(size_t i) const { return now_ - At(i).observed_at; }

  // Asks the site for thresholds that are names. False when it does not say.
  bool Resolve() {
    const auto resolve = [&](const Threshold& threshold, std::vector<Value>& into) {
      into = threshold.values;
      if (threshold.expect.empty()) return true;
      const auto answer = expect_ ? expect_(v_.subject, threshold.expect) : std::nullopt;
      if (!answer) {
        missing_name_ = threshold.expect;
        return false;
      }
      into = {*answer};
      return true;
    };
    const bool told = resolve(c_.pass, pass_);
    if (told && c_.warn) has_warn_ = resolve(*c_.warn, warn_);
    if (c_.measure == Measure::kAllEqual) {
      v_.wanted = fmt::format("the same on every {}", ToString(c_.subject));
    } else {
      v_.wanted = told ? WantedText(c_, pass_) : "?";
    }
    return told;
  }

  Verdict NothingSeen() {
    if (const auto why = index_.WhyNot(v_.subject, c_.fact)) {
      const Unobserved& missing = *At(*why).unobserved();
      return Unknown(missing.reason, missing.detail, std::vector<size_t>{*why});
    }
    return Unknown(UnknownReason::kNotObserved, fmt::format("nothing reported {}", c_.fact), {});
  }

  // The newest sample is too old, or not from our time.
  std::optional<Verdict> Unbelievable(size_t newest) {
    const Duration age = Age(newest);
    if (age >= -kFutureSkew && age <= c_.fresh_for) return std::nullopt;
    v_.measured = FormatValue(*At(newest).value(), At(newest).unit);
    return Unknown(UnknownReason::kStale,
                   age < Duration::zero()
                       ? fmt::format("observed {} in the future", FormatDuration(-age))
                       : fmt::format("observed {} ago, older than {}", FormatDuration(age),
                                     FormatDuration(c_.fresh_for)),
                   std::vector<size_t>{newest});
  }

  // Too few samples, a value that means "I do not know", or another unit than the threshold's.
  std::optional<Verdict> Unusable(const std::vector<size_t>& samples) {
    const bool counter = c_.measure == Measure::kDelta || c_.measure == Measure::kRatePerHour;
    const size_t needed = static_cast<size_t>(std::max(c_.min_samples, counter ? 2 : 1));
    if (samples.size() < needed) {
      return Unknown(UnknownReason::kTooFewSamples,
                     fmt::format("{} of {} samples", samples.size(), needed), samples);
    }
    const Unit unit = c_.measure == Measure::kRatePerHour ? Unit::kCount : c_.pass.unit;
    for (const size_t i : samples) {
      const Observation& o = At(i);
      const auto* text = std::get_if<std::string>(o.value());
      if (text && std::find(c_.unknown_values.begin(), c_.unknown_values.end(), *text) !=
                      c_.unknown_values.end()) {
        v_.measured = FormatValue(*o.value(), o.unit);
        return Unknown(UnknownReason::kNotObserved,
                       fmt::format("{} says {}, which is no answer", c_.fact, v_.measured),
                       std::vector<size_t>{i});
      }
      const auto* real = std::get_if<double>(o.value());
      if (real && !std::isfinite(*real)) {
        NotANumber(i);
        return std::move(v_);
      }
      if (c_.measure != Measure::kAllEqual && o.unit != unit) {
        return Unknown(UnknownReason::kUnparsable,
                       fmt::format("{} came in \"{}\", the threshold is in \"{}\"", c_.fact,
                                   ToString(o.unit), ToString(unit)),
                       std::vector<size_t>{i});
      }
    }
    return std::nullopt;
  }

  // Nothing (and v_ set) when the samples give no figure.
  std::optional<Figure> Reduce(const std::vector<size_t>& samples) {
    Figure figure;
    figure.evidence = samples;
    switch (c_.measure) {
      case Measure::kLast: {
        figure.evidence.clear();
        const TimePoint newest = At(samples.back()).observed_at;
        for (const size_t i : samples) {
          if (At(i).observed_at != newest) continue;
          figure.values.push_back(*At(i).value());
          figure.evidence.push_back(i);
        }
        return figure;
      }
      case Measure::kDelta:
      case Measure::kRatePerHour:
        return Growth(samples);
      default:
        break;
    }
    std::vector<double> numbers;
    for (const size_t i : samples) {
      const auto number = NumberOf(*At(i).value());
      if (!number) return NotANumber(i);
      numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    const size_t n = numbers.size();
    const double value = c_.measure == Measure::kMax   ? numbers.back()
                         : c_.measure == Measure::kMin ? numbers.front()
                         : n % 2 == 1                  ? numbers[n / 2]
                                                       : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
    figure.values = {value};
    return figure;
  }

  std::optional<Figure> NotANumber(size_t i) {
    v_.measured = FormatValue(*At(i).value(), At(i).unit);
    Unknown(UnknownReason::kUnparsable,
            fmt::format("{} is {}, which is no number", c_.fact, v_.measured),
            std::vector<size_t>{i});
    return std::nullopt;
  }

  // Newest less oldest. A counter that was reset or sticks at its end has counted at least what can
  // be seen.
  std::optional<Figure> Growth(const std::vector<size_t>& samples) {
    Figure figure;
    figure.evidence = samples;
    double grown = 0, before = 0;
    for (size_t n = 0; n < samples.size(); ++n) {
      const size_t i = samples[n];
      const auto value = NumberOf(*At(i).value());
      if (!value) return NotANumber(i);
      if (n > 0 && *value < before) {
        figure.at_least = true;
        figure.hides = fmt::format("the counter went back from {:.0f} to {:.0f}", before, *value);
      } else if (n > 0) {
        grown += *value - before;
      }
      if (c_.saturates_at && *value == static_cast<double>(*c_.saturates_at)) {
        figure.at_least = true;
        figure.hides = fmt::format("the counter is saturated at {}", *c_.saturates_at);
      }
      before = *value;
    }
    const Duration span = At(samples.back()).observed_at - At(samples.front()).observed_at;
    if (span <= Duration::zero()) {
      Unknown(UnknownReason::kTooFewSamples, "all samples are of the same moment", samples);
      return std::nullopt;
    }
    if (c_.measure == Measure::kRatePerHour) grown = grown * 3600 / Seconds(span);
    figure.values = {Value(grown)};
    return figure;
  }

  // Holds the figure to the threshold.
  Verdict Settle(Figure figure) {
    std::sort(figure.evidence.begin(), figure.evidence.end());
    v_.evidence = figure.evidence;
    // Never better than the first: the worst of the values counts.
    std::optional<Level> worst;
    for (const Value& value : figure.values) {
      const auto level = LevelOf(value);
      if (!level) {
        v_.measured = FormatValue(value, c_.pass.unit);
        return Unknown(UnknownReason::kUnparsable,
                       fmt::format("{} cannot be held to \"{}\"", v_.measured, v_.wanted),
                       figure.evidence);
      }
      if (!worst || *level > *worst) {
        worst = level;
        v_.measured = FormatValue(value, c_.pass.unit);
      }
    }
    if (figure.at_least) {
      const bool grows_worse = c_.compare == Compare::kAtMost || c_.compare == Compare::kLess ||
                               c_.compare == Compare::kEqual;
      const bool exceeded = grows_worse && Exceeds(figure.values[0]);
      v_.measured = ">= " + v_.measured;
      if (!exceeded) return Unknown(UnknownReason::kNotObserved, figure.hides, figure.evidence);
    }
    if (*worst == Level::kFail && c_.miss_is) {
      return Unknown(*c_.miss_is, fmt::format("{}, wanted {}", v_.measured, v_.wanted),
                     figure.evidence);
    }
    return Say(*worst);
  }

  // kPass, kWarn or kFail; nothing when value and threshold cannot be compared.
  std::optional<Level> LevelOf(const Value& value) const {
    const auto pass = Meets(c_.compare, value, pass_);
    if (!pass) return std::nullopt;
    if (*pass) return Level::kPass;
    if (c_.advisory) return Level::kWarn;
    if (has_warn_ && Meets(c_.compare, value, warn_).value_or(false)) return Level::kWarn;
    return Level::kFail;
  }

  // A lower bound that is already worse than every limit.
  bool Exceeds(const Value& value) const {
    const auto above = [&](const std::vector<Value>& limits) {
      const auto have = NumberOf(value),
                 limit = limits.empty() ? std::nullopt : NumberOf(limits[0]);
      return have && limit && *have > *limit && !Near(*have, *limit);
    };
    return above(pass_) && (!has_warn_ || c_.advisory || above(warn_));
  }

  Verdict Fleet(size_t own) {
    const Observation& o = At(own);
    const auto& census = index_.CensusOf(c_.subject, c_.fact, c_.unknown_values);
    v_.measured = FormatValue(*o.value(), o.unit);
    v_.evidence = {own};
    if (census.distinct <= 1) return Say(Level::kPass);
    if (!census.usual) {
      v_.wanted = fmt::format("the same on every {}, {} values are in use", ToString(c_.subject),
                              census.distinct);
      return Say(c_.advisory ? Level::kWarn : Level::kFail);
    }
    const Observation& usual = At(*census.usual);
    v_.wanted = fmt::format("{}, as on most", FormatValue(*usual.value(), usual.unit));
    if (*census.usual != own) v_.evidence.push_back(*census.usual);
    if (*usual.value() == *o.value() && usual.unit == o.unit) return Say(Level::kPass);
    return Say(c_.advisory ? Level::kWarn : Level::kFail);
  }

  Verdict Say(Level level) {
    if (level < Level::kUnknown && !v_.evidence.empty()) {
      TimePoint newest = TimePoint::min();
      for (const size_t i : index_.Find(v_.subject, c_.fact))
        newest = std::max(newest, At(i).observed_at);
      if (const auto back = index_.TakenBack(v_.subject, c_.fact, newest)) {
        const Unobserved& why = *At(*back).unobserved();
        v_.evidence.push_back(*back);
        return Unknown(why.reason, "seen before, not any more: " + why.detail, v_.evidence);
      }
    }
    v_.level = level;
    const bool yes_or_no = c_.compare == Compare::kTrue || c_.compare == Compare::kFalse;
    v_.text = level == Level::kPass ? c_.title
              : yes_or_no && c_.measure != Measure::kAllEqual
                  ? fmt::format("{}: not so for {}", c_.title, v_.subject.id)
                  : fmt::format("{}: {} has {}, wanted {}", c_.title, v_.subject.id, v_.measured,
                                v_.wanted);
    SetOrigin();
    return std::move(v_);
  }

  Verdict Unknown(UnknownReason reason, std::string_view detail,
                  const std::vector<size_t>& evidence) {
    v_.level = Level::kUnknown;
    v_.reason = reason;
    v_.evidence = evidence;
    v_.text = fmt::format("{}: {} of {} is {}", c_.title, c_.fact, v_.subject.id, ToString(reason));
    if (!detail.empty()) v_.text += fmt::format(" ({})", Shorten(Printable(detail), 200));
    SetOrigin();
    return v_;
  }

  void SetOrigin() {
    for (const size_t i : v_.evidence) v_.origin = std::max(v_.origin, At(i).origin);
  }

  const Criterion& c_;
  const ObservationIndex& index_;
  const Expectation& expect_;
  const TimePoint now_;
  std::vector<Value> pass_, warn_;
  bool has_warn_ = false;
  std::string missing_name_;
  Verdict v_;
};

}  // namespace

std::string_view ToString(Level level) { return kLevels.at(static_cast<size_t>(level)); }

Result<Level> ParseLevel(std::string_view text) {
  return ParseEnumName<Level>(kLevels, "verdict", text);
}

Verdict Judge(const Criterion& criterion, const Subject& subject, const ObservationIndex& index,
              const Expectation& expect, TimePoint now) {
  return Judgement(criterion, subject, index, expect, now).Run();
}

Level Combine(std::span<const Verdict> verdicts) {
  std::optional<Level> worst;
  for (const Verdict& verdict : verdicts) {
    if (verdict.level == Level::kNotApplicable) continue;
    if (!worst || verdict.level > *worst) worst = verdict.level;
  }
  return worst.value_or(Level::kUnknown);
}

}  // namespace muster
