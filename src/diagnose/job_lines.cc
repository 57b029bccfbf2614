#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/hash.h"
#include "diagnose/job.h"

namespace muster::diagnose {

namespace {

constexpr size_t kMostUses = 1u << 16;   // hosts x transports told apart
constexpr size_t kMostRanks = 1u << 18;  // of all communicators
constexpr std::string_view kMark = "NCCL INFO ";
constexpr size_t kVia = 4;  // bytes of "via "

// A comparison of a size that the compiler knows.
template <size_t kSize>
bool Begins(std::string_view text, const char (&with)[kSize]) {
  return text.size() >= kSize - 1 && std::memcmp(text.data(), with, kSize - 1) == 0;
}

int IntAfter(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return -1;
  int value = -1;
  const char* begin = text.data() + at + mark.size();
  std::from_chars(begin, text.data() + text.size(), value);
  return value;
}

std::string_view WordAfter(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + mark.size());
  return rest.substr(0, rest.find(' '));
}

// "NET/IB" of "NET/IB/3(5)/GDRDMA/Shared"; "P2P/CUMEM" of "P2P/CUMEM/read".
std::string Normal(std::string_view via, bool& net, bool& gdr, int& device) {
  net = via.starts_with("NET/");
  gdr = via.find("/GDRDMA") != std::string_view::npos;
  device = -1;
  if (net) {
    size_t at = via.find('/', 4);
    while (at != std::string_view::npos && at + 1 < via.size() &&
           !(via[at + 1] >= '0' && via[at + 1] <= '9'))
      at = via.find('/', at + 1);
    if (at != std::string_view::npos)
      std::from_chars(via.data() + at + 1, via.data() + via.size(), device);
    return std::string(via.substr(0, at));
  }
  if (via.starts_with("direct shared memory")) return "SHM/direct";
  size_t slash = via.find('/');
  if (slash != std::string_view::npos) slash = via.find('/', slash + 1);
  std::string_view head = via.substr(0, slash);
  if (const size_t bracket = head.find('['); bracket != std::string_view::npos)
    head = head.substr(0, bracket);
  return std::string(head);
}

}  // namespace

void JobMap::Speaks(std::string_view host) {
  const uint64_t hash = HashOf(host);
  if (hash == Speaker().hash || host.empty()) return;
  const uint32_t known = host_index_.Find(hash);
  if (known != FlatIndex::kNone) {
    speaker_ = known;
    return;
  }
  if (hosts_.size() >= kMostUses) {  // the rest is told as one
    speaker_ = 0;
    return;
  }
  speaker_ = static_cast<uint32_t>(hosts_.size());
  host_index_.Add(hash, speaker_);
  hosts_.push_back({std::string(host), hash});
  hosts_seen_.insert(std::string(host));
}

// "host:pid:tid [0] " as a line before had it, at the place where its host began: the form of
// nearly every line, whatever the order of the ranks.
void JobMap::SetHost(std::string_view line, size_t nccl_at) {
  const auto speaker_words = [&] {
    return std::string_view(line.data() + host_begin_, nccl_at - host_begin_);
  };
  uint64_t hash = 0;
  if (host_begin_ < nccl_at && (host_begin_ == 0 || line[host_begin_ - 1] == ' ')) {
    hash = HashOf(speaker_words());
    if (const uint32_t known = words_index_.Find(hash); known != FlatIndex::kNone) {
      speaker_ = known;
      return;
    }
  }
  if (!FindHost(line, nccl_at) || words_ >= kMostUses) return;
  hash = HashOf(speaker_words());
  if (words_index_.Find(hash) != FlatIndex::kNone) return;
  words_index_.Add(hash, speaker_);
  ++words_;
}

// Walks back from the mark to the word with two colons. False when the line does not say who
// speaks: then it is who spoke before.
bool JobMap::FindHost(std::string_view line, size_t nccl_at) {
  size_t end = nccl_at;
  while (end > 0 && line[end - 1] == ' ') --end;
  if (end > 0 && line[end - 1] == ']') {
    const size_t open = line.rfind('[', end - 1);
    if (open == std::string_view::npos) return false;
    end = open;
    while (end > 0 && line[end - 1] == ' ') --end;
  }
  size_t begin = end;
  while (begin > 0 && line[begin - 1] != ' ') --begin;
  std::string_view word = line.substr(begin, end - begin);
  const size_t tid = word.rfind(':');
  const size_t pid = tid == 0 || tid == std::string_view::npos ? tid : word.rfind(':', tid - 1);
  if (pid == 0 || pid == std::string_view::npos) return false;
  std::string_view host = word.substr(0, pid);
  host_begin_ = begin;
  // "[1,3]<stdout>:host", "[rank3]:host": what a runner glued before it.
  if (const size_t tag = host.find_last_of("]>:"); tag != std::string_view::npos)
    host.remove_prefix(tag + 1);
  if (host.empty()) return false;
  Speaks(host);
  return true;
}

bool JobMap::Take(std::string_view line, const std::string& file, size_t number) {
  size_t at = guess_;
  if (at + kMark.size() > line.size() ||
      std::memcmp(line.data() + at, kMark.data(), kMark.size()) != 0) {
    at = line.find(kMark);
    if (at == std::string_view::npos) {
      Version(line);
      return false;
    }
    guess_ = at;
  }
  ++lines_;
  const size_t begin = at + kMark.size();
  const std::string_view text(line.data() + begin, line.size() - begin);
  if (Begins(text, "Channel ") || Begins(text, "CollNet ")) {
    SetHost(line, at);
    Edge(text, line, file, number);
    return true;
  }
  return TakeOther(text, line, at, file, number);
}

// A version told outside of NCCL's own lines, by whatever runs the job.
void JobMap::Version(std::string_view line) {
  const size_t version = line.find("NCCL version ");
  if (version == std::string_view::npos) return;
  ++lines_;
  const std::string_view said = WordAfter(line.substr(version), "NCCL version ");
  if (!said.empty() && said.size() < 40 && versions_.size() < 64)
    versions_[std::string(said)].insert("");
}

bool JobMap::TakeOther(std::string_view text, std::string_view line, size_t nccl_at,
                       const std::string& file, size_t number) {
  if (text.empty()) return true;
  switch (text[0]) {
    case 'B':
      if (text.starts_with("Bootstrap : Using ") || text.starts_with("Bootstrap: Using ")) {
        SetHost(line, nccl_at);
        if (bootstraps_.size() < kMostUses)
          bootstraps_[Speaker().name] = Shorten(Printable(WordAfter(text, "Using ")), 80);
      }
      return false;
    case 'C':
      return text.starts_with("Connected ");
    case 'R':
      return text.starts_with("Ring ");
    case 'T':
      return text.starts_with("Trees [");
    case 'c':
    case 'n':
      SetHost(line, nccl_at);
      if (text.starts_with("comm ") || text.starts_with("ncclCommInit")) {
        Init(text, file, number);
        return true;
      }
      return false;
    case 'U':
      if (const auto network = After(text, "Using network ")) {
        SetHost(line, nccl_at);
        if (networks_.size() < kMostUses) networks_[Speaker().name] = std::string(*network);
      }
      return false;
    case 'N':
      if (text.starts_with("NET/IB : Using ") || text.starts_with("NET/Socket : Using ")) {
        SetHost(line, nccl_at);
        if (devices_.size() < kMostUses) devices_[Speaker().name] = Shorten(Printable(text), 400);
      } else if (text.starts_with("NCCL version ")) {
        SetHost(line, nccl_at);
        versions_[std::string(WordAfter(text, "NCCL version "))].insert(Speaker().name);
      }
      return false;
    case 'A':
      if (text.starts_with("AllReduce: ") || text.starts_with("AllGather: ")) {
        const std::string key =
            fmt::format("{}/{}", WordAfter(text, "Algo "), WordAfter(text, "proto "));
        if (key.size() < 40 && algorithms_.size() < 256) ++algorithms_[key];
        return true;
      }
      return false;
    default:
      return false;
  }
}

// The last "via ": lines of a rank end in a few lengths that repeat.
size_t JobMap::FindVia(std::string_view text) {
  const auto here = [&](size_t at) { return std::memcmp(text.data() + at, "via ", kVia) == 0; };
  for (const size_t back : via_)
    if (back >= kVia && back <= text.size() && here(text.size() - back)) return text.size() - back;
  for (size_t at = text.size() < kVia ? 0 : text.size() - kVia + 1; at-- > 0;) {
    if (text[at] != 'v' || !here(at)) continue;
    via_[1] = via_[0];
    via_[0] = text.size() - at;
    return at;
  }
  return std::string_view::npos;
}

void JobMap::Edge(std::string_view text, std::string_view line, const std::string& file,
                  size_t number) {
  const size_t via = FindVia(text);
  if (via == std::string_view::npos) return;
  std::string_view how(text.data() + via + kVia, text.size() - via - kVia);
  while (!how.empty() && (how.back() == ' ' || how.back() == '\r')) how.remove_suffix(1);
  const uint64_t key = HashOf(how) ^ (Speaker().hash * 31);
  if (const uint32_t known = use_index_.Find(key); known != FlatIndex::kNone) {
    ++edges_[known];
    return;
  }
  if (uses_.size() < kMostUses && text.find("->") < via) AddUse(how, key, {file, number}, line);
}

void JobMap::AddUse(std::string_view how, uint64_t key, Place at, std::string_view line) {
  TransportUse use;
  int device = -1;
  use.host = Speaker().name;
  use.transport = Normal(how, use.net, use.gdr, device);
  if (device >= 0) use.devices.insert(device);
  use.at = std::move(at);
  use.text = Shorten(Printable(line), kTextBytes);
  use_index_.Add(key, static_cast<uint32_t>(uses_.size()));
  uses_.push_back(std::move(use));
  edges_.push_back(1);
}

void JobMap::Init(std::string_view text, const std::string& file, size_t number) {
  const int rank = IntAfter(text, " rank "),
            nranks = std::max(IntAfter(text, " nranks "), IntAfter(text, " nRanks "));
  if (rank < 0 || nranks <= 0 || rank >= nranks || nranks > (1 << 20)) return;
  const bool start = text.find("Init START") != std::string_view::npos;
  const bool complete = text.find("Init COMPLETE") != std::string_view::npos;
  if (!start && !complete) return;
  std::string id(WordAfter(text, "commId "));
  if (id.empty()) id = fmt::format("of {} ranks", nranks);
  if (comms_.size() > 4096 && !comms_.contains(id)) return;
  Communicator& comm = comms_[id];
  comm.id = id;
  comm.nranks = nranks;
  if (comm.ranks.size() >= kMostRanks) return;
  JobRank& r = comm.ranks[rank];
  r.rank = rank;
  r.nranks = nranks;
  r.host = Speaker().name;
  r.comm = id;
  r.cuda_device = IntAfter(text, "cudaDev ");
  if (const auto bus = WordAfter(text, "busId "); !bus.empty()) r.bus_id = bus;
  if (start) {
    r.started = true;
    r.started_order = ++order_;
  }
  if (complete) {
    r.complete = true;
    r.complete_order = ++order_;
  }
  r.at = {file, number};
}

}  // namespace muster::diagnose
