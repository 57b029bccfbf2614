#include "probes/infiniband/text.h"

#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::infiniband {

std::vector<std::string_view> WholeLines(std::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return {};
  return Lines(text.substr(0, end + 1));
}

namespace {

// "rc=0" as the last line of a block.
void TakeExitCode(Block& block) {
  std::string_view text = block.text;
  if (!EndsWith(text, "\n")) return;
  text.remove_suffix(1);
  const size_t begin = text.rfind('\n');
  const size_t line = begin == std::string_view::npos ? 0 : begin + 1;
  const auto digits = After(text.substr(line), "rc=");
  if (!digits) return;
  const auto code = ParseInt(*digits);
  if (!code.ok()) return;
  block.exit_code = static_cast<int>(*code);
  block.text = block.text.substr(0, line);
}

}  // namespace

std::vector<Block> Blocks(std::string_view text, int whole_exit_code) {
  std::vector<Block> blocks;
  Block now;
  size_t body = 0;
  const auto close = [&](size_t end) {
    now.text = text.substr(body, end - body);
    if (now.command.empty()) {
      if (!Trim(now.text).empty()) blocks.push_back(now);
    } else {
      TakeExitCode(now);
      blocks.push_back(now);
    }
  };
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t next = newline == std::string_view::npos ? text.size() : newline + 1;
    if (newline != std::string_view::npos && text.substr(at, 2) == "$ ") {
      close(at);
      now = Block{};
      now.command = Trim(text.substr(at + 2, newline - at - 2));
      body = next;
    }
    at = next;
  }
  close(text.size());
  if (blocks.size() == 1 && blocks[0].command.empty()) blocks[0].exit_code = whole_exit_code;
  return blocks;
}

std::string RenderBlock(std::string_view command, std::string_view out, int exit_code) {
  const bool ended = out.empty() || out.back() == '\n';
  // Output whose last line was not ended gets no "rc=": it stays recognisable as cut.
  if (!ended) return fmt::format("$ {}\n{}", command, out);
  return fmt::format("$ {}\n{}rc={}\n", command, out, exit_code);
}

bool IsOf(const Block& block, std::string_view program) {
  if (block.command.empty()) return true;
  // "kill OpenSM; sminfo": what was printed is the last one's.
  const size_t last = block.command.rfind("; ");
  const std::string_view command =
      last == std::string_view::npos ? block.command : block.command.substr(last + 2);
  return command.substr(0, command.find(' ')) == program;
}

std::optional<std::string_view> Between(std::string_view text, std::string_view open,
                                        std::string_view close) {
  const size_t begin = text.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t from = begin + open.size();
  const size_t end = text.find(close, from);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(from, end - from);
}

std::optional<uint64_t> TakeNumber(std::string_view& text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

void SkipBlank(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && (text[n] == ' ' || text[n] == '\t')) ++n;
  text.remove_prefix(n);
}

bool Take(std::string_view& text, std::string_view what) {
  if (!StartsWith(text, what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::string DeviceId(bool is_adapter, std::string_view description) {
  const std::string_view trimmed = Trim(description);
  if (!is_adapter) return std::string(trimmed);
  const auto words = SplitBlank(trimmed);
  if (words.size() != 2) return std::string(trimmed);
  return fmt::format("{}/{}", words[0], words[1]);
}

void DeviceNames::Add(uint64_t guid, bool is_adapter, std::string_view description) {
  std::string id = DeviceId(is_adapter, description);
  if (id.empty()) id = fmt::format("0x{:016x}", guid);
  if (!by_guid_.emplace(guid, id).second) return;
  by_id_[id].push_back(guid);
}

std::string DeviceNames::Id(uint64_t guid) const {
  const auto it = by_guid_.find(guid);
  if (it == by_guid_.end()) return fmt::format("0x{:016x}", guid);
  const auto same = by_id_.find(it->second);
  if (same == by_id_.end() || same->second.size() == 1) return it->second;
  return fmt::format("{}@{:016x}", it->second, guid);
}

std::optional<double> NominalLaneRate(double lane_gbit_per_s) {
  struct Speed {
    double printed, nominal;
  };
  static constexpr Speed kSpeeds[] = {{2.5, 2.5},     {5.0, 5},     {10.0, 10},    {14.0625, 14},
                                      {25.78125, 25}, {53.125, 50}, {106.25, 100}, {212.5, 200}};
  for (const Speed& speed : kSpeeds) {
    const double off = lane_gbit_per_s - speed.printed;
    if (off < 0.001 && off > -0.001) return speed.nominal;
  }
  return std::nullopt;
}

}  // namespace muster::infiniband
