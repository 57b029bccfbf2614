#include "sched/amount.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::sched {

namespace {

__extension__ using Wide = __int128;
constexpr int64_t kLargest = int64_t{1} << 53;

struct Suffix {
  std::string_view text;
  int64_t times, over;
};
constexpr int64_t kKi = 1024;
constexpr std::array kSuffixes = {
    Suffix{"Ki", kKi, 1},
    Suffix{"Mi", kKi* kKi, 1},
    Suffix{"Gi", kKi* kKi* kKi, 1},
    Suffix{"Ti", kKi* kKi* kKi* kKi, 1},
    Suffix{"Pi", kKi* kKi* kKi* kKi* kKi, 1},
    Suffix{"n", 1, 1'000'000'000},
    Suffix{"u", 1, 1'000'000},
    Suffix{"m", 1, 1'000},
    Suffix{"k", 1'000, 1},
    Suffix{"M", 1'000'000, 1},
    Suffix{"G", 1'000'000'000, 1},
    Suffix{"T", 1'000'000'000'000, 1},
    Suffix{"P", 1'000'000'000'000'000, 1},
};

Result<int64_t> Unreadable(std::string_view text) {
  return Fail(Code::kInvalid,
              fmt::format("\"{}\" is no quantity, expected digits with an optional suffix m, k, M, "
                          "G, T, Ki, Mi, Gi, Ti",
                          Printable(Shorten(text, 40))));
}

}  // namespace

bool IsDevice(std::string_view resource) { return resource.find('/') != std::string_view::npos; }
bool IsGpu(std::string_view resource) { return resource.ends_with("/gpu"); }

Result<int64_t> ParseAmount(std::string_view resource, std::string_view text) {
  std::string_view rest = text;
  Wide digits = 0;
  int64_t over = 1;
  bool any = false, fraction = false;
  while (!rest.empty() && ((rest[0] >= '0' && rest[0] <= '9') || (rest[0] == '.' && !fraction))) {
    if (rest[0] == '.') {
      fraction = true;
    } else {
      any = true;
      digits = digits * 10 + (rest[0] - '0');
      if (fraction) over *= 10;
      if (digits > Wide{kLargest} * 1000 || over > 1'000'000'000) return Unreadable(text);
    }
    rest.remove_prefix(1);
  }
  if (!any || text.ends_with('.')) return Unreadable(text);
  const Suffix* suffix = nullptr;
  for (const Suffix& s : kSuffixes) {
    if (rest == s.text) suffix = &s;
  }
  if (!rest.empty() && suffix == nullptr) return Unreadable(text);
  Wide times = resource == "cpu" ? 1000 : 1;
  Wide divide = over;
  if (suffix != nullptr) times *= suffix->times, divide *= suffix->over;
  const Wide scaled = digits * times;
  const Wide value = (scaled + divide - 1) / divide;
  if (value > kLargest)
    return Fail(Code::kInvalid,
                fmt::format("\"{}\" is too large, at most 2^53", Shorten(text, 40)));
  if (scaled % divide != 0 && (IsDevice(resource) || resource == kGpuMilli))
    return Fail(Code::kInvalid,
                fmt::format("\"{}\" of {} is not whole", Shorten(text, 40), Printable(resource)));
  return static_cast<int64_t>(value);
}

std::string FormatAmount(std::string_view resource, int64_t amount) {
  if (resource == "cpu")
    return amount % 1000 == 0 ? fmt::format("{}", amount / 1000) : fmt::format("{}m", amount);
  if (resource == "memory" || resource == "ephemeral-storage") {
    for (int i = 4; i >= 0 && amount != 0; --i) {
      const Suffix& s = kSuffixes[static_cast<size_t>(i)];
      if (amount % s.times == 0) return fmt::format("{}{}", amount / s.times, s.text);
    }
  }
  return fmt::format("{}", amount);
}

}  // namespace muster::sched
