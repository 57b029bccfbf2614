#include "probes/nccl_log/nccl_map.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster::nccl_log {
namespace {

constexpr size_t kMostWarnings = 50;
constexpr int kMostRanks = 1 << 20;

// "rank 3" and the like in "comm 0x55 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1b000 commId 0x9a
// - Init START".
std::string_view WordAfter(const std::vector<std::string_view>& words, std::string_view key) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == key) return words[i + 1];
  }
  return {};
}

int NumberAfter(const std::vector<std::string_view>& words, std::string_view key) {
  const auto number = ParseInt(WordAfter(words, key));
  return number.ok() && *number >= 0 && *number <= 1 << 24 ? static_cast<int>(*number) : -1;
}

std::string AlgorithmName(std::string_view text) {
  // Numbers up to 2.21, capitals or mixed case later.
  constexpr std::array<std::string_view, 7> kNames = {
      "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
  if (const auto number = ParseInt(text); number.ok()) {
    return *number >= 0 && *number < 7 ? std::string(kNames[static_cast<size_t>(*number)])
                                       : std::string();
  }
  std::string bare;
  for (char c : text) {
    if (c != '_') bare += c;
  }
  for (std::string_view name : kNames) {
    if (EqualsIgnoreCase(bare, name)) return std::string(name);
  }
  return std::string(Printable(text));
}

// One process and device: what the lines of its threads have in common.
using Speaker = std::tuple<std::string, long long, int>;

struct Comm {
  int nranks = 0;
  std::map<int, NcclRank> ranks;
  std::map<int, Speaker> speakers;
};

struct Voice {
  size_t last_edge = 0, last_connected = 0, last_complete = 0;
};

class LogReader {
 public:
  NcclMap Read(std::string_view text) {
    const auto lines = Lines(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      ++at_;
      const bool closed = i + 1 < lines.size() || text.ends_with('\n');
      auto line = ReadLogLine(lines[i]);
      if (!line) {
        ReadBareVersion(lines[i], closed);
        continue;
      }
      ++map_.lines;
      line->closed = closed;
      if (!closed) Gap("the last line is not ended");
      ReadLine(*line, lines[i]);
    }
    Finish();
    return std::move(map_);
  }

 private:
  void Gap(std::string text) {
    if (std::find(map_.gaps.begin(), map_.gaps.end(), text) == map_.gaps.end())
      map_.gaps.push_back(std::move(text));
  }

  void ReadBareVersion(std::string_view line, bool closed) {
    const size_t at = line.find("NCCL version ");
    if (at != std::string_view::npos && closed) NoteVersion("", line.substr(at));
  }

  void NoteVersion(std::string_view host, std::string_view text) {
    auto rest = After(text, "NCCL version ");
    if (!rest) return;
    const std::string_view version = rest->substr(0, rest->find_first_of(" \t"));
    // "2.26.2+cuda12.8": three numbers at least.
    if (version.empty() || std::isdigit(static_cast<unsigned char>(version.front())) == 0) return;
    if (std::count(version.begin(), version.end(), '.') < 2) return;
    map_.versions.emplace(host, version);
  }

  void ReadLine(const LogLine& line, std::string_view whole) {
    const std::string_view text = line.text;
    const Speaker speaker{std::string(line.host), line.pid, line.cuda_device};
    if (line.warn) NoteWarning(line);
    if (auto edge = ReadEdge(text)) return NoteEdge(line, speaker, *std::move(edge), whole);
    if (StartsWith(text, "NET/IB : Using [") || StartsWith(text, "NET/Socket : Using ["))
      return NoteDevices(line);
    if (EndsWith(text, "Init COMPLETE") || EndsWith(text, "Init START"))
      return NoteInit(line, speaker);
    if (StartsWith(text, "Connected ") && (Contains(text, "rings") || Contains(text, "tree"))) {
      voices_[speaker].last_connected = at_;
      return;
    }
    if (Contains(text, " -> Algo ")) return NoteAlgorithm(text, whole);
    if (Contains(text, " coll channels, ")) return NoteChannels(text);
    if (auto network = After(text, "Using network ")) {
      networks_[speaker] = *network;
      return;
    }
    if (Contains(text, " via COLLNET/")) map_.collnet_edges = true;
    if (Contains(text, "SHARP coll init error") || Contains(text, "sharp_create_job failed"))
      map_.sharp_failed = true;
    if (auto forced = After(text, "NCCL_ALGO set by environment to ")) {
      const std::string_view value = Trim(forced->substr(0, forced->find_first_of(" .")));
      if (!Contains(value, ",") && !Contains(value, "^") && line.closed)
        map_.forced_algorithm = AlgorithmName(value);
    }
    NoteVersion(line.host, text);
  }

  void NoteWarning(const LogLine& line) {
    if (Contains(line.text, "Mismatched NCCL version")) map_.version_mismatch = true;
    if (Contains(line.text, "SHARP coll init error")) map_.sharp_failed = true;
    if (map_.warnings.size() < kMostWarnings) {
      map_.warnings.push_back(Shorten(Printable(fmt::format("{}: {}", line.host, line.text)), 300));
    }
  }

  void NoteEdge(const LogLine& line, const Speaker& speaker, EdgeText text,
                std::string_view whole) {
    if (text.transport.empty() || line.host.empty()) return Gap("a connection line cannot be read");
    if (!line.closed) return;
    NcclEdge edge;
    static_cast<EdgeText&>(edge) = std::move(text);
    edge.host = line.host;
    edge.line = Shorten(Printable(Trim(whole)), 200);
    if (edge.connection == 0) voices_[speaker].last_edge = at_;
    map_.edges.push_back(std::move(edge));
  }

  // "Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
  void NoteDevices(const LogLine& line) {
    const bool socket = StartsWith(line.text, "NET/Socket");
    std::vector<NetDevice> devices;
    for (std::string_view word : SplitBlank(line.text)) {
      if (StartsWith(word, "OOB")) break;
      const size_t close = word.find(']');
      if (!StartsWith(word, "[") || close == std::string_view::npos) continue;
      const auto index = ParseInt(word.substr(1, close - 1));
      if (!index.ok() || *index < 0 || *index > 1023) continue;
      NetDevice device;
      device.index = static_cast<int>(*index);
      const std::string_view rest = word.substr(close + 1);
      device.name = rest.substr(0, rest.find(':'));
      const size_t kind = rest.rfind('/');
      device.kind = socket                           ? "Socket"
                    : kind == std::string_view::npos ? ""
                                                     : std::string(rest.substr(kind + 1));
      if (!device.name.empty()) devices.push_back(std::move(device));
    }
    auto& known = map_.devices[std::string(line.host)];
    // Sockets are listed beside the adapters by some versions; adapters are the ones that edges
    // count.
    if (known.empty() || (!socket && known.front().kind == "Socket")) known = std::move(devices);
  }

  void NoteInit(const LogLine& line, const Speaker& speaker) {
    const auto words = SplitBlank(line.text);
    const int rank = NumberAfter(words, "rank");
    const int nranks = NumberAfter(words, "nranks");
    if (rank < 0 || nranks < 1 || nranks > kMostRanks || rank >= nranks || line.host.empty())
      return Gap("an Init line cannot be read");
    const std::string id(WordAfter(words, "commId"));
    Comm& comm = comms_[fmt::format("{}/{}", id, nranks)];
    comm.nranks = nranks;
    NcclRank& entry = comm.ranks[rank];
    if (entry.rank >= 0 && (entry.host != line.host || entry.pid != line.pid)) {
      Gap(fmt::format("two processes say that they are rank {} of {}", rank, nranks));
    }
    entry.rank = rank;
    entry.nranks = nranks;
    entry.host = line.host;
    entry.pid = line.pid;
    entry.cuda_device = NumberAfter(words, "cudaDev");
    entry.nvml_device = NumberAfter(words, "nvmlDev");
    entry.bus_id = WordAfter(words, "busId");
    if (EndsWith(line.text, "COMPLETE")) {
      entry.complete = true;
      voices_[speaker].last_complete = at_;
    } else {
      entry.started = true;
    }
    comm.speakers[rank] = speaker;
  }

  void NoteAlgorithm(std::string_view text, std::string_view whole) {
    const auto words = SplitBlank(text);
    // "AllReduce: 1073741824 Bytes -> Algo RING proto SIMPLE ...", or up to 2.21 "1073741824 Bytes
    // -> Algo 1 proto 2 time 5.1"
    const bool named = !words.empty() && words[0].ends_with(':');
    if (named && words[0] != "AllReduce:") return;
    const auto bytes =
        words.size() > 1 ? ParseInt(words[named ? 1 : 0]) : Result<int64_t>(Fail(Code::kParse, ""));
    const std::string_view algorithm = WordAfter(words, "Algo");
    if (!bytes.ok() || *bytes < 0 || algorithm.empty() || WordAfter(words, "proto").empty()) return;
    map_.algorithms.push_back({static_cast<uint64_t>(*bytes), AlgorithmName(algorithm),
                               std::string(WordAfter(words, "proto")),
                               Shorten(Printable(Trim(whole)), 200)});
  }

  void NoteChannels(std::string_view text) {
    const auto words = SplitBlank(text);
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      const auto number = ParseInt(words[i - 1]);
      if (!number.ok() || *number < 0 || *number > 1024) continue;
      if (words[i] == "coll")
        map_.coll_channels = std::max(map_.coll_channels, static_cast<int>(*number));
      if (words[i] == "nvls" && *number > 0) map_.nvls = true;
    }
  }

  void Finish() {
    const Comm* largest = nullptr;
    for (const auto& [id, comm] : comms_) {
      if (largest == nullptr || comm.nranks > largest->nranks) largest = &comm;
    }
    if (largest == nullptr) {
      Gap("no rank says that it took part");
      return;
    }
    if (comms_.size() > 1) Gap("several communicators: ranks of connections cannot be told apart");
    map_.nranks = largest->nranks;
    map_.ranks = largest->ranks;
    for (auto& [rank, entry] : map_.ranks) {
      const Speaker& speaker = largest->speakers.at(rank);
      if (const auto at = networks_.find(speaker); at != networks_.end())
        entry.network = at->second;
      entry.connected = Connected(voices_[speaker], entry);
    }
    for (NcclEdge& edge : map_.edges) {
      const auto from = map_.ranks.find(edge.from), to = map_.ranks.find(edge.to);
      edge.between_nodes = from == map_.ranks.end() || to == map_.ranks.end() ||
                           from->second.host != to->second.host;
    }
    if (const auto missing = map_.Missing(); !missing.empty()) {
      Gap(fmt::format("{} of {} ranks did not finish their set-up (first: rank {})", missing.size(),
                      map_.nranks, missing.front()));
    }
    CheckEnds();
    CheckChannels();
  }

  // Releases before 2.8 do not say "Connected"; their edges come before "Init COMPLETE".
  bool Connected(const Voice& voice, const NcclRank& rank) const {
    if (voice.last_connected > 0) return voice.last_connected > voice.last_edge;
    const bool old =
        std::any_of(map_.versions.begin(), map_.versions.end(), [](const auto& version) {
          for (std::string_view early : {"2.4.", "2.5.", "2.6.", "2.7."}) {
            if (version.second.starts_with(early)) return true;
          }
          return false;
        });
    return old && rank.complete && voice.last_complete > voice.last_edge;
  }

  // A connection between nodes is told by the rank that sends and by the rank that receives.
  void CheckEnds() {
    std::map<std::tuple<int, int, int, int>, int> ends;
    for (const NcclEdge& edge : map_.edges) {
      if (!edge.net() || !edge.between_nodes) continue;
      ends[{edge.channel, edge.connection, edge.from, edge.to}] |=
          edge.side == EdgeText::Side::kSend ? 1 : 2;
    }
    for (const auto& [key, sides] : ends) {
      if (sides == 3) continue;
      const auto& [channel, connection, from, to] = key;
      return Gap(fmt::format("channel {:02d} from rank {} to rank {} is told by one end only",
                             channel, from, to));
    }
  }

  // Every channel of a collective enters and leaves every node.
  void CheckChannels() {
    const auto hosts = map_.Hosts();
    if (hosts.size() < 2) return;
    std::map<std::string, std::set<std::pair<int, bool>>> seen;
    for (const NcclEdge& edge : map_.edges) {
      if (Contains(edge.transport, "MNNVL"))
        return;  // NVLink between nodes: there need be no network edge
      if (edge.net() && edge.between_nodes && edge.connection == 0) {
        seen[edge.host].insert({edge.channel, edge.side == EdgeText::Side::kSend});
      }
    }
    for (const std::string& host : hosts) {
      for (int channel = 0; channel < map_.coll_channels; ++channel) {
        for (const bool send : {false, true}) {
          if (seen[host].contains({channel, send})) continue;
          return Gap(fmt::format("channel {:02d} has no {} connection on {}", channel,
                                 send ? "send" : "receive", host));
        }
      }
    }
  }

  NcclMap map_;
  size_t at_ = 0;
  std::map<std::string, Comm> comms_;
  std::map<Speaker, Voice> voices_;
  std::map<Speaker, std::string> networks_;
};

}  // namespace

std::set<std::string> NcclMap::Hosts() const {
  std::set<std::string> hosts;
  for (const auto& [number, rank] : ranks) hosts.insert(rank.host);
  return hosts;
}

std::vector<int> NcclMap::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < nranks; ++rank) {
    const auto at = ranks.find(rank);
    if (at == ranks.end() || !at->second.complete || !at->second.connected) missing.push_back(rank);
  }
  return missing;
}

NcclMap ParseNcclLog(std::string_view text) { return LogReader().Read(text); }

}  // namespace muster::nccl_log
