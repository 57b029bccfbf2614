#include "sched/decay.h"

namespace muster::sched {

namespace {

__extension__ using Wide = __int128;
constexpr int kBits = 20;
constexpr int64_t kOne = int64_t{1} << kBits;

// 2^(-1/2), 2^(-1/4), ... in parts of 2^-30: the factors of a binary fraction of the half-life.
constexpr int64_t kRoots[] = {759250125,  902905651,  984625594,  1028218693, 1050733751,
                              1062175491, 1067942999, 1070838486, 1072289173, 1073015252,
                              1073378477, 1073560135, 1073650976};
constexpr int kRootBits = 30;

}  // namespace

int64_t DecayTowards(int64_t average, int64_t towards, int64_t span_ms) {
  if (span_ms <= 0 || average == towards) return average;
  const int64_t halvings = span_ms / kHalfLifeMs;
  if (halvings > 40) return towards;
  int64_t rest = static_cast<int64_t>((Wide{span_ms % kHalfLifeMs} << kBits) / kHalfLifeMs);
  int64_t factor = int64_t{1} << kRootBits;
  for (const int64_t root : kRoots) {
    rest *= 2;
    if (rest >= kOne) {
      rest -= kOne;
      factor = static_cast<int64_t>((Wide{factor} * root) >> kRootBits);
    }
  }
  factor >>= halvings;
  return towards + static_cast<int64_t>(Wide{average - towards} * factor / (Wide{1} << kRootBits));
}

int64_t FixedRatio(int64_t amount, int64_t total) {
  return static_cast<int64_t>((Wide{amount} << kBits) / total);
}

}  // namespace muster::sched
