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

uint64_t HashOf(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull ^ text.size();
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, text.data() + i, text.size() - i);
  h = (h ^ tail) * 0x9e3779b97f4a7c15ull;
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

void JobMap::SetHost(std::string_view line, size_t nccl_at) {
  // Most often the same host speaks again, with nothing before it.
  if (!host_.empty() && line.size() > host_.size() && line[host_.size()] == ':' &&
      std::memcmp(line.data(), host_.data(), host_.size()) == 0)
    return;
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
  const size_t first = word.find(':');
  if (first == std::string_view::npos || first == 0) return;
  if (const size_t tag = word.find_last_of("]>"); tag != std::string_view::npos && tag > first) {
    word.remove_prefix(tag + 1);
  }
  const std::string_view host = word.substr(0, word.find(':'));
  if (host == host_ || host.empty()) return;
  host_ = host;
  host_hash_ = HashOf(host);
  if (hosts_seen_.size() < kMostUses && host_hashes_.insert(host_hash_).second)
    hosts_seen_.insert(host_);
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
        if (networks_.size() < kMostUses) networks_[host_] = std::string(*network);
      }
      return false;
    case 'N':
      if (text.starts_with("NET/IB : Using ") || text.starts_with("NET/Socket : Using ")) {
        SetHost(line, at);
        if (devices_.size() < kMostUses) devices_[host_] = Shorten(Printable(text), 400);
      } else if (text.starts_with("NCCL version ")) {
        SetHost(line, at);
        versions_[std::string(WordAfter(text, "NCCL version "))].insert(host_);
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

void JobMap::Edge(std::string_view text, std::string_view line, const std::string& file,
                  size_t number) {
  const size_t via = text.find("via ");
  if (via == std::string_view::npos || text.find("->") >= via) return;
  std::string_view how = text.substr(via + 4);
  while (!how.empty() && (how.back() == ' ' || how.back() == '\r')) how.remove_suffix(1);
  const uint64_t key = HashOf(how) ^ (host_hash_ * 31);
  if (key == last_key_ && last_use_ != nullptr) {
    ++last_use_->edges;
    return;
  }
  auto it = uses_.find(key);
  if (it == uses_.end()) {
    if (uses_.size() >= kMostUses) return;
    TransportUse use;
    int device = -1;
    use.host = host_;
    use.transport = Normal(how, use.net, use.gdr, device);
    if (device >= 0) use.devices.insert(device);
    use.at = {file, number};
    use.text = Shorten(Printable(line), kTextBytes);
    it = uses_.emplace(key, std::move(use)).first;
  }
  ++it->second.edges;
  last_key_ = key;
  last_use_ = &it->second;
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
  r.host = host_;
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
  for (const auto& [key, use] : uses_) {
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
