#include "diagnose/job.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

constexpr size_t kMostUses = 1u << 16;   // hosts x transports told apart
constexpr size_t kMostRanks = 1u << 18;  // of all communicators

template <class Word>
uint64_t Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The last word overlaps the one before, so that every load has a fixed size.
uint64_t HashOf(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull ^ text.size();
  const auto mix = [&](uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  };
  const char* const end = text.data() + text.size();
  if (text.size() >= 8) {
    for (const char* at = text.data(); at + 8 < end; at += 8) mix(Load<uint64_t>(at));
    mix(Load<uint64_t>(end - 8));
  } else if (text.size() >= 4) {
    mix(Load<uint32_t>(text.data()) << 32 | Load<uint32_t>(end - 4));
  } else {
    for (const char c : text) mix(static_cast<uint8_t>(c));
  }
  return h ^ (h >> 32);
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

std::string Ranges(const std::vector<int>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!out.empty()) out += ",";
    out += j == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]);
    i = j + 1;
    if (out.size() > 120) return out + ",...";
  }
  return out;
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

// Digits at `at`; where they end, or `at` when there is none.
size_t SkipDigits(std::string_view s, size_t at) {
  while (at < s.size() && s[at] >= '0' && s[at] <= '9') ++at;
  return at;
}

}  // namespace

std::vector<int> Communicator::Silent() const {
  std::vector<int> silent;
  for (int r = 0; r < nranks && silent.size() < 65536; ++r)
    if (!ranks.contains(r)) silent.push_back(r);
  return silent;
}

std::vector<int> Communicator::Unfinished() const {
  std::vector<int> open;
  for (const auto& [number, rank] : ranks)
    if (!rank.complete) open.push_back(number);
  return open;
}

bool Communicator::AllComplete() const {
  return !ranks.empty() &&
         std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.second.complete; });
}

// "host:pid:tid [0] NCCL", with the host where it stood in the line before: the form of nearly
// every line, checked without looking for anything.
bool JobMap::SameForm(std::string_view line, size_t nccl_at) {
  const size_t begin = host_begin_;
  if (begin >= nccl_at || (begin > 0 && line[begin - 1] != ' ')) return false;
  const size_t length = Speaker().name.size();
  size_t colon = begin + length;  // most often as long as the one before
  if (length == 0 || colon >= nccl_at || line[colon] != ':') colon = line.find(':', begin);
  if (colon == std::string_view::npos || colon == begin || colon >= nccl_at) return false;
  size_t at = SkipDigits(line, colon + 1);
  if (at == colon + 1 || at >= nccl_at || line[at] != ':') return false;
  const size_t tid = at + 1;
  at = SkipDigits(line, tid);
  if (at == tid || at + 1 >= nccl_at || line[at] != ' ') return false;
  if (line[at + 1] == '[') {
    at = SkipDigits(line, at + 2);
    if (at + 1 >= nccl_at || line[at] != ']' || line[at + 1] != ' ') return false;
    ++at;
  }
  if (at + 1 != nccl_at) return false;
  const std::string_view host = line.substr(begin, colon - begin);
  for (const char c : host)
    if (c == ':' || c == ' ' || c == ']' || c == '>') return false;
  Speaks(host);
  return true;
}

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

void JobMap::SetHost(std::string_view line, size_t nccl_at) {
  if (SameForm(line, nccl_at)) return;
  // "host:pid:tid [0] NCCL": walk back from the mark to the word with two colons.
  size_t end = nccl_at;
  while (end > 0 && line[end - 1] == ' ') --end;
  if (end > 0 && line[end - 1] == ']') {
    const size_t open = line.rfind('[', end - 1);
    if (open == std::string_view::npos) return;
    end = open;
    while (end > 0 && line[end - 1] == ' ') --end;
  }
  size_t begin = end;
  while (begin > 0 && line[begin - 1] != ' ') --begin;
  std::string_view word = line.substr(begin, end - begin);
  const size_t tid = word.rfind(':');
  const size_t pid = tid == 0 || tid == std::string_view::npos ? tid : word.rfind(':', tid - 1);
  if (pid == 0 || pid == std::string_view::npos) return;
  std::string_view host = word.substr(0, pid);
  host_begin_ = begin;
  // "[1,3]<stdout>:host", "[rank3]:host": what a runner glued before it.
  if (const size_t tag = host.find_last_of("]>:"); tag != std::string_view::npos)
    host.remove_prefix(tag + 1);
  Speaks(host);
}

bool JobMap::Take(std::string_view line, const std::string& file, size_t number) {
  size_t at = guess_;
  if (at + 10 > line.size() || std::memcmp(line.data() + at, "NCCL INFO ", 10) != 0) {
    at = line.find("NCCL INFO ");
    if (at == std::string_view::npos) {
      if (const size_t version = line.find("NCCL version "); version != std::string_view::npos) {
        ++lines_;
        const std::string_view said = WordAfter(line.substr(version), "NCCL version ");
        if (!said.empty() && said.size() < 40 && versions_.size() < 64)
          versions_[std::string(said)].insert("");
      }
      return false;
    }
    guess_ = at;
  }
  ++lines_;
  const std::string_view text = line.substr(at + 10);
  if (text.empty()) return true;
  switch (text[0]) {
    case 'C':
      if (text.starts_with("Channel ")) {
        SetHost(line, at);
        Edge(text, line, file, number);
        return true;
      }
      if (text.starts_with("CollNet ")) {
        SetHost(line, at);
        Edge(text, line, file, number);
        return true;
      }
      return text.starts_with("Connected ");
    case 'R':
      return text.starts_with("Ring ");
    case 'T':
      return text.starts_with("Trees [");
    case 'c':
    case 'n':
      SetHost(line, at);
      if (text.starts_with("comm ") || text.starts_with("ncclCommInit")) {
        Init(text, line, file, number);
        return true;
      }
      return false;
    case 'U':
      if (const auto network = After(text, "Using network ")) {
        SetHost(line, at);
        if (networks_.size() < kMostUses) networks_[Speaker().name] = std::string(*network);
      }
      return false;
    case 'N':
      if (text.starts_with("NET/IB : Using ") || text.starts_with("NET/Socket : Using ")) {
        SetHost(line, at);
        if (devices_.size() < kMostUses) devices_[Speaker().name] = Shorten(Printable(text), 400);
      } else if (text.starts_with("NCCL version ")) {
        SetHost(line, at);
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
  constexpr size_t kMark = 4;
  const auto here = [&](size_t at) { return std::memcmp(text.data() + at, "via ", kMark) == 0; };
  for (const size_t back : via_)
    if (back >= kMark && back <= text.size() && here(text.size() - back)) return text.size() - back;
  for (size_t at = text.size() < kMark ? 0 : text.size() - kMark + 1; at-- > 0;) {
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
  std::string_view how = text.substr(via + 4);
  while (!how.empty() && (how.back() == ' ' || how.back() == '\r')) how.remove_suffix(1);
  const uint64_t key = HashOf(how) ^ (Speaker().hash * 31);
  const uint32_t known = use_index_.Find(key);
  if (known != FlatIndex::kNone) {
    ++edges_[known];
    return;
  }
  if (uses_.size() >= kMostUses || text.find("->") >= via) return;
  TransportUse use;
  int device = -1;
  use.host = Speaker().name;
  use.transport = Normal(how, use.net, use.gdr, device);
  if (device >= 0) use.devices.insert(device);
  use.at = {file, number};
  use.text = Shorten(Printable(line), kTextBytes);
  use_index_.Add(key, static_cast<uint32_t>(uses_.size()));
  uses_.push_back(std::move(use));
  edges_.push_back(1);
}

void JobMap::Init(std::string_view text, std::string_view line, const std::string& file,
                  size_t number) {
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
  (void)line;
}

const Communicator* JobMap::Largest() const {
  const Communicator* best = nullptr;
  for (const auto& [id, comm] : comms_)
    if (best == nullptr || comm.nranks > best->nranks ||
        (comm.nranks == best->nranks && comm.ranks.size() > best->ranks.size()))
      best = &comm;
  return best;
}

std::vector<TransportUse> JobMap::Transports() const {
  std::map<std::tuple<std::string, std::string, bool>, TransportUse> merged;
  for (size_t i = 0; i < uses_.size(); ++i) {
    TransportUse use = uses_[i];
    use.edges = edges_[i];
    auto [it, fresh] = merged.try_emplace({use.host, use.transport, use.gdr}, use);
    if (fresh) continue;
    it->second.edges += use.edges;
    it->second.devices.insert(use.devices.begin(), use.devices.end());
    if (use.at.file == it->second.at.file && use.at.line < it->second.at.line) {
      it->second.at = use.at;
      it->second.text = use.text;
    }
  }
  std::vector<TransportUse> out;
  for (auto& [key, use] : merged) out.push_back(std::move(use));
  return out;
}

void JobMap::AddFacts(FactStore& facts) const {
  const auto add = [&](std::string id, Attributes attrs, Place at, std::string text) {
    facts.Add({std::move(id), std::move(attrs), std::move(at), std::move(text), {}, 0, 1});
  };
  for (const TransportUse& use : Transports()) {
    if (use.net && use.transport.starts_with("NET/Socket")) {
      add("job.socket", {{"host", use.host}, {"edges", std::to_string(use.edges)}}, use.at,
          use.text);
    } else if (use.net && !use.gdr && use.transport.starts_with("NET/IB")) {
      add("job.no_gdr",
          {{"host", use.host}, {"transport", use.transport}, {"edges", std::to_string(use.edges)}},
          use.at, use.text);
    } else if (use.net) {
      add("job.rdma", {{"host", use.host}, {"transport", use.transport}}, use.at, use.text);
    } else if (use.transport.starts_with("SHM")) {
      add("job.shm", {{"host", use.host}, {"edges", std::to_string(use.edges)}}, use.at, use.text);
    } else {
      add("job.p2p", {{"host", use.host}, {"transport", use.transport}}, use.at, use.text);
    }
  }
  if (versions_.size() > 1) {
    std::vector<std::string> names;
    for (const auto& [version, hosts] : versions_) names.push_back(version);
    add("job.versions", {{"versions", Join(names, ", ")}}, {"NCCL log", 0},
        "ranks print different versions: " + Join(names, ", "));
  }
  for (const auto& [id, comm] : comms_) {
    const auto silent = comm.Silent(), open = comm.Unfinished();
    const JobRank& any = comm.ranks.begin()->second;
    const bool none_done = open.size() == comm.ranks.size();
    if (comm.AllComplete())
      add("job.complete", {{"nranks", std::to_string(comm.nranks)}}, any.at,
          fmt::format("{} of {} ranks finished their set-up", comm.ranks.size(), comm.nranks));
    // A rank that finished proves that all joined: then a silent one only has no log here.
    if (none_done && !silent.empty() && silent.size() < comm.ranks.size())
      add("job.silent_ranks",
          {{"ranks", Ranges(silent)},
           {"present", std::to_string(comm.ranks.size())},
           {"nranks", std::to_string(comm.nranks)}},
          any.at,
          fmt::format("{} of {} ranks began their set-up, none finished; no line of rank {}",
                      comm.ranks.size(), comm.nranks, Ranges(silent)));
    else if (none_done && !silent.empty())
      add("job.few_ranks",
          {{"present", std::to_string(comm.ranks.size())}, {"nranks", std::to_string(comm.nranks)}},
          any.at,
          fmt::format("only {} of {} ranks have a line here", comm.ranks.size(), comm.nranks));
    else if (!open.empty())
      add("job.unfinished",
          {{"ranks", Ranges(open)},
           {"done", std::to_string(comm.ranks.size() - open.size())},
           {"nranks", std::to_string(comm.nranks)}},
          comm.ranks.at(open.front()).at,
          fmt::format("rank {} began its set-up and did not end it ({} of {} did)", Ranges(open),
                      comm.ranks.size() - open.size(), comm.nranks));
  }
}

}  // namespace muster::diagnose
