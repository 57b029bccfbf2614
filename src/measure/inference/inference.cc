#include "measure/inference/inference.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::inference {
namespace {

// The smallest value such that at least `share` of all are not above it; 0 without values.
double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<ptrdiff_t>(std::clamp(std::ceil(share * n), 1.0, n)) - 1;
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<size_t>(rank)];
}

// Within every limit. An answer of one token has no time per token to miss; one whose time per
// token was not seen is a miss.
bool IsGood(const RequestOutcome& request, const Limits& limits) {
  if (!request.ok() || !request.tokens) return false;
  const auto ttft = request.ttft_s(), tpot = request.tpot_s();
  if (!ttft || *ttft > Seconds(limits.ttft)) return false;
  return tpot ? *tpot <= Seconds(limits.tpot) : *request.tokens == 1;
}

std::string Column(const std::optional<Duration>& at) {
  return at ? fmt::format("{:.6f}", Seconds(*at)) : "-";
}

}  // namespace

LoadSummary Summarise(const LoadResult& result, const Limits& limits) {
  LoadSummary sum;
  std::vector<double> ttft, tpot, ttfb, role, e2e, gap, lag;
  const size_t dropped = (result.requests.size() + 9) / 10;
  for (size_t i = dropped; i < result.requests.size(); ++i) {
    const RequestOutcome& r = result.requests[i];
    ++sum.counted;
    lag.push_back(Seconds(r.sent - r.planned));
    if (IsGood(r, limits)) ++sum.good;
    if (!r.ok()) {
      ++sum.failed;
      if (r.timed_out) ++sum.timed_out;
      if (sum.first_error.empty())
        sum.first_error = fmt::format("request {}: {}", r.index, r.error);
      if (r.timed_out && !r.first_content) ttft.push_back(Seconds(r.ended - r.sent));
      continue;
    }
    ttft.push_back(*r.ttft_s());
    if (const auto t = r.tpot_s()) tpot.push_back(*t);
    if (r.first_byte) ttfb.push_back(Seconds(*r.first_byte - r.sent));
    if (r.role) role.push_back(Seconds(*r.role - r.sent));
    e2e.push_back(Seconds(*r.last_content - r.sent));
    if (r.messages > 1)
      gap.push_back(Seconds(*r.last_content - *r.first_content) / (r.messages - 1));
    sum.messages += static_cast<size_t>(r.messages);
    if (r.tokens) {
      sum.tokens += static_cast<size_t>(*r.tokens);
    } else {
      ++sum.without_usage;
    }
  }
  sum.ttft_samples = ttft.size();
  sum.tpot_samples = tpot.size();
  sum.ttft_p50_s = Percentile(ttft, 0.50);
  sum.ttft_p99_s = Percentile(ttft, 0.99);
  sum.tpot_p50_s = Percentile(tpot, 0.50);
  sum.tpot_p99_s = Percentile(tpot, 0.99);
  sum.ttfb_p50_s = Percentile(ttfb, 0.50);
  sum.role_p50_s = Percentile(role, 0.50);
  sum.e2e_p99_s = Percentile(e2e, 0.99);
  sum.message_gap_p50_s = Percentile(gap, 0.50);
  sum.lag_p99_s = Percentile(lag, 0.99);
  return sum;
}

Observations ObserveLoad(const LoadResult& result, const Limits& limits, const Subject& endpoint,
                         const Reading& reading) {
  const LoadSummary sum = Summarise(result, limits);
  ObservationBuilder out(reading);
  const auto unknown = [&](std::string_view fact, UnknownReason reason, const std::string& why) {
    out.AddUnobserved(endpoint, fact, reason, why);
  };
  out.Add(
      endpoint, "serve.requests", static_cast<int64_t>(sum.counted), Unit::kCount,
      fmt::format("{} requests, {} after the first tenth", result.requests.size(), sum.counted));
  if (result.client_cpu) {
    out.Add(
        endpoint, "serve.client_cpu", *result.client_cpu, Unit::kRatio,
        fmt::format("the load generator used {:.0f} % of a core; sent up to {:.3f} s (p99) late",
                    100 * *result.client_cpu, sum.lag_p99_s));
  } else {
    unknown("serve.client_cpu", UnknownReason::kNotObserved, "/proc/self/stat cannot be read");
  }
  if (sum.counted > 0) {
    out.Add(endpoint, "serve.errors",
            static_cast<double>(sum.failed) / static_cast<double>(sum.counted), Unit::kRatio,
            fmt::format("{} of {} failed ({} timed out){}{}", sum.failed, sum.counted,
                        sum.timed_out, sum.first_error.empty() ? "" : "; ", sum.first_error));
  } else {
    unknown("serve.errors", UnknownReason::kTooFewSamples, "no request counts");
  }

  // What makes every time worthless.
  std::string why;
  UnknownReason reason = UnknownReason::kTooFewSamples;
  if (sum.counted < kMinRequests) {
    why = fmt::format("{} requests count, {} are needed", sum.counted, kMinRequests);
  } else if (!result.client_cpu || *result.client_cpu > kBusyClient) {
    reason = UnknownReason::kToolFault;
    why = result.client_cpu
              ? fmt::format("the load generator used {:.0f} % of a core (limit {:.0f} %)",
                            100 * *result.client_cpu, 100 * kBusyClient)
              : "how busy the load generator was is not known";
  }
  const auto figure = [&](std::string_view fact, double value, Unit unit, size_t samples,
                          bool needs_usage, const std::string& excerpt) {
    if (!why.empty()) return unknown(fact, reason, why);
    if (needs_usage && sum.without_usage > 0) {
      return unknown(fact, UnknownReason::kNotObserved,
                     fmt::format("{} answers came without usage: their tokens are not known",
                                 sum.without_usage));
    }
    if (samples == 0) {
      return unknown(
          fact, UnknownReason::kNotObserved,
          "no request gave it" + (sum.first_error.empty() ? "" : "; " + sum.first_error));
    }
    out.Add(endpoint, fact, value, unit, excerpt);
  };
  const auto of = [](size_t n) {
    return n < 100 ? fmt::format("of {} requests, so the largest", n)
                   : fmt::format("of {} requests", n);
  };
  figure("serve.ttft_p99", sum.ttft_p99_s, Unit::kSeconds, sum.ttft_samples, false,
         fmt::format(
             "TTFT p50 {:.4f} s, p99 {:.4f} s ({}); first byte p50 {:.4f} s, role p50 {:.4f} s; "
             "late by p99 {:.4f} s",
             sum.ttft_p50_s, sum.ttft_p99_s, of(sum.ttft_samples), sum.ttfb_p50_s, sum.role_p50_s,
             sum.lag_p99_s));
  figure("serve.tpot_p99", sum.tpot_p99_s, Unit::kSeconds, sum.tpot_samples, true,
         fmt::format(
             "TPOT p50 {:.5f} s, p99 {:.5f} s ({}); {} tokens in {} messages, gap p50 {:.5f} s",
             sum.tpot_p50_s, sum.tpot_p99_s, of(sum.tpot_samples), sum.tokens, sum.messages,
             sum.message_gap_p50_s));
  figure("serve.goodput",
         sum.counted > 0 ? static_cast<double>(sum.good) / static_cast<double>(sum.counted) : 0,
         Unit::kRatio, sum.counted, true,
         fmt::format("{} of {} requests within TTFT {} and TPOT {}", sum.good, sum.counted,
                     FormatDuration(limits.ttft), FormatDuration(limits.tpot)));
  return out.Take();
}

std::string LoadTable(const LoadResult& result) {
  std::string text =
      "index planned sent first_byte first_content last_content tokens messages error\n";
  for (const RequestOutcome& r : result.requests) {
    text += fmt::format("{} {:.6f} {:.6f} {} {} {} {} {} {}\n", r.index, Seconds(r.planned),
                        Seconds(r.sent), Column(r.first_byte), Column(r.first_content),
                        Column(r.last_content), r.tokens ? std::to_string(*r.tokens) : "-",
                        r.messages, r.error.empty() ? "-" : Printable(r.error));
  }
  return text;
}

}  // namespace muster::inference
