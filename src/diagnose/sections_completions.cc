// What an mlx5 adapter says of a request that failed: four rows of the completion, in hexadecimal,
// that libmlx5 and the kernel print below a line that names no reason.
// Source: rdma-core providers/mlx5/cq.c (dump_cqe, mlx5_handle_error_cqe); Linux
// drivers/infiniband/hw/mlx5/cq.c and include/linux/mlx5/device.h (struct mlx5_err_cqe).
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

constexpr size_t kRows = 4, kRowBytes = 16;
using Row = std::array<uint8_t, kRowBytes>;

// "00000000 00008a12 0a0001a4 00f0a3d2" or "00000030: 00 00 00 00 00 00 8a 12 ..." at the end of a
// line, behind whatever prefix its log has.
std::optional<Row> RowOf(std::string_view line) {
  for (const size_t width : {8u, 2u}) {
    const size_t words = kRowBytes * 2 / width;
    auto all = SplitBlank(line);
    if (all.size() < words) continue;
    if (width == 2 && (all.size() == words || !all[all.size() - words - 1].ends_with(':')))
      continue;
    Row row{};
    size_t at = 0;
    for (size_t i = all.size() - words; i < all.size(); ++i) {
      const auto value = ParseHex(all[i]);
      if (all[i].size() != width || !value.ok()) break;
      for (size_t byte = width / 2; byte-- > 0;)
        row[at++] = static_cast<uint8_t>(*value >> (8 * byte));
    }
    if (at == kRowBytes) return row;
  }
  return std::nullopt;
}

struct Syndrome {
  uint8_t syndrome;
  int status;  // of ibv_wc_status, as programs print it
  std::string_view says;
};

constexpr std::array kSyndromes = {
    Syndrome{0x01, 1, "local length error"},
    Syndrome{0x02, 2, "local QP operation error"},
    Syndrome{0x04, 4, "local protection error"},
    Syndrome{0x05, 5, "Work Request Flushed Error"},
    Syndrome{0x06, 6, "memory management operation error"},
    Syndrome{0x10, 7, "bad response error"},
    Syndrome{0x11, 8, "local access error"},
    Syndrome{0x12, 9, "remote invalid request error"},
    Syndrome{0x13, 10, "remote access error"},
    Syndrome{0x14, 11, "remote operation error"},
    Syndrome{0x15, 12, "transport retry counter exceeded"},
    Syndrome{0x16, 13, "RNR retry counter exceeded"},
    Syndrome{0x22, 16, "remote abort"},
};

void ReadCompletion(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  if (lines.size() < kRows + 1)
    return AddDamage(s, facts,
                     "the dump of a failed completion is cut: its reason stands in the fourth row");
  const auto row = RowOf(lines[kRows]);
  if (!row) return;
  const uint8_t vendor = (*row)[6], syndrome = (*row)[7];
  for (const Syndrome& known : kSyndromes)
    if (known.syndrome == syndrome)
      facts.Add(s.Make("ib.completion",
                       {{"status", std::to_string(known.status)},
                        {"what", std::string(known.says)},
                        {"vendor", fmt::format("{:#04x}", vendor)}},
                       Place{s.file, s.first_line + kRows},
                       fmt::format("{} (syndrome {:#04x}: {}, vendor {:#04x})", Trim(lines[kRows]),
                                   syndrome, known.says, vendor)));
}

bool BeginsCompletion(std::string_view line) {
  return line.ends_with("got completion with error:") || line.ends_with("dump error cqe");
}

bool IsRow(std::string_view line) { return RowOf(line).has_value(); }

constexpr SectionKind Completion(std::string_view marker) {
  return {"failed completion of an adapter",
          marker,
          BeginsCompletion,
          IsRow,
          ReadCompletion,
          false,
          false};
}

constexpr std::array kCompletions = {Completion("got completion with error:"),
                                     Completion("dump error cqe")};

}  // namespace

std::span<const SectionKind> CompletionSections() { return kCompletions; }

}  // namespace muster::diagnose
