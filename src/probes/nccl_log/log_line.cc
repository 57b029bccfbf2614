#include "probes/nccl_log/log_line.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace muster::nccl_log {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "host:pid:tid", with whatever tag stands before the host in the same word.
bool ReadSpeaker(std::string_view word, bool glued_to_row, LogLine& line) {
  const size_t last = word.rfind(':');
  if (last == std::string_view::npos || last == 0 || !AllDigits(word.substr(last + 1)))
    return false;
  const size_t before = word.rfind(':', last - 1);
  if (before == std::string_view::npos || before == 0) return false;
  const auto pid = ParseInt(word.substr(before + 1, last - before - 1));
  if (!pid.ok() || !AllDigits(word.substr(before + 1, last - before - 1))) return false;
  std::string_view host = word.substr(0, before);
  if (const size_t tag = host.rfind(':'); tag != std::string_view::npos)
    host.remove_prefix(tag + 1);
  if (glued_to_row && host.starts_with("-1")) host.remove_prefix(2);
  if (host.empty()) return false;
  line.host = host;
  line.pid = *pid;
  return true;
}

// A rank with its bracket, as "8[0]" or "8[101c0]".
bool ReadRank(std::string_view word, int& rank, int& device) {
  const size_t open = word.find('[');
  const auto number = ParseInt(word.substr(0, open));
  if (!number.ok() || *number < 0 || *number > 1 << 24) return false;
  rank = static_cast<int>(*number);
  if (open == std::string_view::npos) return true;
  if (!word.ends_with(']')) return false;
  const std::string_view inside = word.substr(open + 1, word.size() - open - 2);
  const auto index = ParseInt(inside);
  if (index.ok() && *index >= 0 && *index < 64) device = static_cast<int>(*index);
  return !inside.empty();
}

// "IB/5(2)/GDRDMA(PCI)/Shared", with RCCL's " comm 0x... nRanks 08" after it.
bool ReadNet(std::string_view text, EdgeText& edge) {
  if (const size_t tail = text.find(" comm "); tail != std::string_view::npos)
    text = text.substr(0, tail);
  const auto parts = Split(Trim(text), '/');
  if (parts.size() < 2 || parts[0].empty()) return false;
  std::string_view device = parts[1];
  if (const size_t proxy = device.find('('); proxy != std::string_view::npos) {
    if (!device.ends_with(')')) return false;
    const auto rank = ParseInt(device.substr(proxy + 1, device.size() - proxy - 2));
    if (!rank.ok()) return false;
    edge.proxy_rank = static_cast<int>(*rank);
    device = device.substr(0, proxy);
  }
  const auto number = ParseInt(device);
  if (!AllDigits(device) || !number.ok() || *number > 1023) return false;
  edge.device = static_cast<int>(*number);
  for (size_t i = 2; i < parts.size(); ++i) {
    const std::string_view flag = Trim(parts[i]);
    if (flag == "GDRDMA" || flag == "GDRDMA(PCI)") {
      edge.gdr = true;
    } else if (flag != "Shared") {
      return false;
    }
  }
  edge.transport = "NET/" + std::string(parts[0]);
  return true;
}

}  // namespace

std::optional<LogLine> ReadLogLine(std::string_view line) {
  LogLine read;
  size_t at = line.find("NCCL INFO ");
  if (at == std::string_view::npos) {
    at = line.find("NCCL WARN ");
    read.warn = true;
  }
  if (at == std::string_view::npos) return std::nullopt;
  read.text = Trim(line.substr(at + std::string_view("NCCL INFO ").size()));
  const auto words = SplitBlank(line.substr(0, at));
  for (size_t i = words.size(); i-- > 0;) {
    if (!ReadSpeaker(words[i], i >= 3, read)) continue;
    if (i + 1 < words.size()) {
      const std::string_view bracket = words[i + 1];
      if (bracket.size() > 2 && bracket.front() == '[' && bracket.back() == ']') {
        const auto device = ParseInt(bracket.substr(1, bracket.size() - 2));
        if (device.ok() && *device >= 0 && *device < 1024)
          read.cuda_device = static_cast<int>(*device);
      }
    }
    break;
  }
  return read;
}

std::optional<EdgeText> ReadEdge(std::string_view text) {
  // 2.4 says "Ring 00 : 1[0] -> 2[1] via ..."; later ones say Channel.
  auto rest = After(text, "Channel ");
  if (!rest) rest = After(text, "Ring ");
  const size_t via = text.find(" via ");
  const size_t arrow = text.find(" -> ");
  if (!rest || via == std::string_view::npos || arrow == std::string_view::npos || arrow > via)
    return std::nullopt;
  EdgeText edge;
  const auto words =
      SplitBlank(text.substr(text.size() - rest->size(), via - (text.size() - rest->size())));
  // "00/0", ":", "0[0]", "->", "8[0]", "[send]"
  if (words.size() < 5 || words[1] != ":" || words[3] != "->") return edge;
  const auto label = Split(words[0], '/');
  const auto channel = ParseInt(label[0]);
  const auto connection = label.size() > 1 ? ParseInt(label[1]) : Result<int64_t>(0);
  if (!channel.ok() || !connection.ok() || label.size() > 2 || *channel < 0 || *channel > 1023)
    return edge;
  edge.channel = static_cast<int>(*channel);
  edge.connection = static_cast<int>(*connection);
  if (!ReadRank(words[2], edge.from, edge.from_device) ||
      !ReadRank(words[4], edge.to, edge.to_device))
    return edge;
  if (words.size() > 5) {
    if (words[5] == "[send]") {
      edge.side = EdgeText::Side::kSend;
    } else if (words[5] == "[receive]") {
      edge.side = EdgeText::Side::kReceive;
    } else {
      return edge;
    }
  }
  const std::string_view transport = Trim(text.substr(via + 5));
  if (const auto net = After(transport, "NET/")) {
    if (edge.side == EdgeText::Side::kBoth || !ReadNet(*net, edge)) edge.transport.clear();
    return edge;
  }
  edge.transport = transport.substr(0, transport.find(" comm "));
  return edge;
}

}  // namespace muster::nccl_log
