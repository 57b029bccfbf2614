// Tables of which a number or a mark tells a fault: RAS errors by block (rocm-smi), what an
// interface counts (ip -s link), who can reach whose memory (nvidia-smi topo -p2p).
#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// ---- rocm-smi --showrasinfo ----

// "GPU[0]		: RAS INFO" and below it "UMC     ENABLED    0    4".
void ReadRasBlocks(const Section& s, FactStore& facts) {
  std::string gpu;
  size_t blocks = 0;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (StartsWith(Trim(line), "GPU[")) {
      const std::string_view trimmed = Trim(line);
      gpu = trimmed.substr(4, trimmed.find(']') - 4);
    }
    if (words.size() != 4 || words[1] != "ENABLED") continue;
    const auto corrected = ParseInt(words[2]), uncorrected = ParseInt(words[3]);
    if (!corrected.ok() || !uncorrected.ok()) {
      AddDamage(s, facts, "rocm-smi: a block's errors are no numbers");
      continue;
    }
    ++blocks;
    if (*uncorrected > 0)
      facts.Add(s.Make(
          "ras.uncorrected",
          {{"gpu", gpu}, {"block", std::string(words[0])}, {"value", std::to_string(*uncorrected)}},
          s.Where(line), line));
  }
  if (blocks == 0) AddDamage(s, facts, "rocm-smi lists no block with RAS");
}

// ---- ip -s link ----

// "6: ens1f0np0: <BROADCAST,...", and below "RX errors:  length    crc ..." the figures.
void ReadLinkCounters(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  const std::string_view first = Trim(lines.front());
  const size_t name_at = first.find(": ");
  const std::string_view rest = first.substr(name_at + 2);
  const std::string device(rest.substr(0, rest.find_first_of(":@")));
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const auto heads = SplitBlank(lines[i]), figures = SplitBlank(lines[i + 1]);
    const bool more = heads.size() > 2 && heads[1] == "errors:";  // "RX errors:  length crc"
    const size_t skip = more ? 2 : 1;
    if (heads.size() <= skip || (heads[0] != "RX:" && heads[0] != "TX:" && !more)) continue;
    if (figures.size() < heads.size() - skip) {
      AddDamage(s, facts, "ip -s link: a row of figures is cut");
      continue;
    }
    for (size_t k = skip; k < heads.size(); ++k) {
      const std::string_view what = heads[k];
      if (what != "errors" && what != "crc" && what != "fifo" && what != "carrier") continue;
      const auto value = ParseInt(figures[k - skip]);
      if (!value.ok()) {
        AddDamage(s, facts, "ip -s link: a counter that is no number");
        continue;
      }
      const std::string_view side = StartsWith(heads[0], "RX") ? "rx" : "tx";
      const std::string name = what == "errors" ? fmt::format("{}_errors", side)
                                                : fmt::format("{}_{}_errors", side, what);
      facts.Add(s.Make("counter.sample",
                       {{"device", device},
                        {"name", name},
                        {"value", std::to_string(*value)},
                        {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                       s.Where(lines[i + 1]), lines[i + 1]));
    }
  }
}

// ---- rdma statistic ----

// "link mlx5_0/1 rx_write_requests 1128 out_of_buffer 0 ...": what RoCE lost is kept.
void ReadRdmaStatistic(const Section& s, FactStore& facts) {
  static constexpr std::string_view kLost[] = {
      "out_of_buffer",     "out_of_sequence", "packet_seq_err", "local_ack_timeout_err",
      "rnr_nak_retry_err", "req_cqe_error",   "resp_cqe_error", "roce_adp_retrans_to"};
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 4 || words[0] != "link") continue;
    const size_t slash = words[1].find('/');
    const std::string device(words[1].substr(0, slash)), port(words[1].substr(slash + 1));
    for (size_t i = 2; i + 1 < words.size(); i += 2) {
      if (std::find(std::begin(kLost), std::end(kLost), words[i]) == std::end(kLost)) continue;
      const auto value = ParseInt(words[i + 1]);
      if (!value.ok()) {
        AddDamage(s, facts, "rdma statistic: a counter that is no number");
        continue;
      }
      facts.Add(s.Make("counter.sample",
                       {{"device", device},
                        {"port", port},
                        {"name", std::string(words[i])},
                        {"value", std::to_string(*value)},
                        {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                       s.Where(line), line));
    }
  }
}

bool IsStatistic(std::string_view line) {
  const auto words = SplitBlank(line);
  return words.size() > 3 && words[0] == "link" && Contains(words[1], "/") &&
         ParseInt(words[3]).ok();
}

bool NamesAnInterface(std::string_view line) {
  const size_t colon = line.find(": ");
  return colon != std::string_view::npos && ParseInt(Trim(line.substr(0, colon))).ok() &&
         Contains(line, ">");
}

// ---- nvidia-smi topo -p2p ----

struct Mark {
  std::string_view mark, says;
};
constexpr std::array kMarks = {
    Mark{"CNS", "the chipset does not support it"},
    Mark{"TNS", "the topology does not support it"},
    Mark{"GNS", "the GPU does not support it"},
    Mark{"DR", "a setting of the driver disables it"},
};

bool IsPeerRow(std::string_view line) { return StartsWith(Trim(line), "GPU"); }

void ReadPeerAccess(const Section& s, FactStore& facts) {
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 2 || !IsPeerRow(line) || StartsWith(words[1], "GPU")) continue;
    for (const Mark& mark : kMarks)
      for (size_t i = 1; i < words.size(); ++i)
        if (words[i] == mark.mark) {
          facts.Add(s.Make("gpu.no_peer_access", {{"what", std::string(mark.says)}}, s.Where(line),
                           line));
          return;  // one row says it for all
        }
  }
}

constexpr std::array kFaults = {
    SectionKind{"rocm-smi", "correctable error  uncorrectable error",
                [](std::string_view) { return true; },
                [](std::string_view l) {
                  return Indented(l) || StartsWith(l, "GPU[") || StartsWith(l, "=");
                },
                ReadRasBlocks, true},
    SectionKind{"ip link", "> mtu ", NamesAnInterface,
                [](std::string_view l) { return Indented(l) && !Trim(l).empty(); },
                ReadLinkCounters, false, false},
    SectionKind{"rdma statistic", "link ", IsStatistic, [](std::string_view) { return false; },
                ReadRdmaStatistic, false, false},
    SectionKind{"nvidia-smi topo -p2p", "gpu1",
                [](std::string_view l) {
                  const auto words = SplitBlank(l);
                  return words.size() > 1 && words[0] == "GPU0" && words[1] == "GPU1" &&
                         !Contains(l, "Affinity");
                },
                [](std::string_view l) {
                  const auto words = SplitBlank(l);
                  return words.size() > 1 && IsPeerRow(l) &&
                         (words[1] == "X" || words[1] == "OK" || words[1].ends_with("S") ||
                          words[1] == "DR");
                },
                ReadPeerAccess, false, false},
};

}  // namespace

std::span<const SectionKind> FaultSections() { return kFaults; }

}  // namespace muster::diagnose
