#include "backend/lab/nccl/sweep_args.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr uint64_t kMost = 1ull << 44;

Result<uint64_t> ParseSize(std::string_view text) {
  uint64_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const size_t at = kUnits.find(static_cast<char>(digits.back() & ~0x20));
    if (at != std::string_view::npos && (digits.back() & 0x40) != 0) {
      unit = 1ull << (10 * (at + 1));
      digits.remove_suffix(1);
    }
  }
  TRY(const double number, ParseDouble(digits));
  const double bytes = number * static_cast<double>(unit);
  if (bytes < 0 || bytes > static_cast<double>(kMost))
    return Fail(Code::kInvalid, "size out of range");
  return static_cast<uint64_t>(bytes);
}

Result<int> ParseCount(std::string_view text, int most) {
  TRY(const int64_t number, ParseInt(text));
  if (number < 0 || number > most)
    return Fail(Code::kInvalid, fmt::format("{} is out of range", text));
  return static_cast<int>(number);
}

}  // namespace

std::vector<uint64_t> SweepArgs::Sizes() const {
  std::vector<uint64_t> sizes;
  for (uint64_t size = std::max<uint64_t>(min_bytes, 4);
       size <= max_bytes && sizes.size() < 4096;) {
    sizes.push_back(size / 4 * 4);
    const uint64_t next = by_factor ? size * step : size + step;
    if (next <= size) break;
    size = next;
  }
  return sizes;
}

Result<SweepArgs> ParseSweepArgs(std::span<const std::string> args) {
  SweepArgs sweep;
  uint64_t increment = 1ull << 20;
  bool end_given = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& option = args[i];
    if (option.size() < 2 || option[0] != '-') {
      return Fail(Code::kInvalid, fmt::format("unexpected argument \"{}\"", option));
    }
    if (i + 1 >= args.size()) return Fail(Code::kInvalid, fmt::format("{} needs a value", option));
    const std::string& value = args[++i];
    if (option == "-b" || option == "--minbytes") {
      TRY(sweep.min_bytes, ParseSize(value));
    } else if (option == "-e" || option == "--maxbytes") {
      TRY(sweep.max_bytes, ParseSize(value));
      end_given = true;
    } else if (option == "-f" || option == "--stepfactor") {
      TRY(const int factor, ParseCount(value, 1024));
      if (factor < 2) return Fail(Code::kInvalid, "-f takes 2 or more");
      sweep.step = static_cast<uint64_t>(factor);
      sweep.by_factor = true;
    } else if (option == "-i" || option == "--stepbytes") {
      TRY(increment, ParseSize(value));
    } else if (option == "-g" || option == "--ngpus") {
      TRY(sweep.gpus, ParseCount(value, 64));
    } else if (option == "-n" || option == "--iters") {
      TRY(sweep.iterations, ParseCount(value, 1 << 20));
    } else if (option == "-w" || option == "--warmup_iters") {
      TRY(sweep.warmup, ParseCount(value, 1 << 20));
    } else if (option == "-c" || option == "--check") {
      TRY(const int check, ParseCount(value, 1 << 20));
      sweep.check = check != 0;
    }
  }
  if (!sweep.by_factor) sweep.step = std::max<uint64_t>(increment, 1);
  if (!end_given) sweep.max_bytes = std::max(sweep.max_bytes, sweep.min_bytes);
  if (sweep.max_bytes < sweep.min_bytes) return Fail(Code::kInvalid, "-e is less than -b");
  return sweep;
}

}  // namespace muster::lab
