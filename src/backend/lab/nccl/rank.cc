#include "backend/lab/nccl/rank.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <unistd.h>

#include <fmt/format.h>

#include "backend/lab/nccl/exchange.h"
#include "backend/lab/nccl/job.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr int kBadUse = 1, kNcclError = 3, kNotImplemented = 5;

// What a launcher gives a rank.
struct Identity {
  int rank = 0, world = 1, local = 0;
  std::string node, lab, address;
  int port = 29500;
  std::chrono::milliseconds timeout{};
  NcclEnv nccl;
};

// The one place of this room that reads the environment.
std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<int> Whole(const char* name, int least, int most,
                  std::optional<int> otherwise = std::nullopt) {
  const std::string text = Env(name);
  if (text.empty() && otherwise) return *otherwise;
  const auto number = ParseInt(text);
  if (!number.ok() || *number < least || *number > most) {
    return Fail(Code::kInvalid, fmt::format("{}=\"{}\": expected a number from {} to {}", name,
                                            Shorten(text, 40), least, most));
  }
  return static_cast<int>(*number);
}

Result<Identity> ReadIdentity() {
  Identity me;
  TRY(me.rank, Whole("RANK", 0, 65535));
  TRY(me.world, Whole("WORLD_SIZE", 1, 65536));
  TRY(me.local, Whole("LOCAL_RANK", 0, 1023));
  TRY(me.port, Whole("MASTER_PORT", 1, 65535));
  TRY(const int seconds, Whole("MUSTER_RENDEZVOUS_TIMEOUT_S", 1, 3600, 20));
  me.timeout = std::chrono::seconds(seconds);
  me.node = Env("MUSTER_NODE");
  me.lab = Env("MUSTER_LAB");
  me.address = Env("MASTER_ADDR");
  const std::string debug = ToLower(Env("NCCL_DEBUG"));
  me.nccl = {Env("NCCL_ALGO"), Env("NCCL_IB_HCA"), debug == "info" || debug == "trace"};
  if (me.node.empty() || me.lab.empty())
    return Fail(Code::kInvalid, "MUSTER_NODE and MUSTER_LAB must be set");
  if (me.rank >= me.world)
    return Fail(Code::kInvalid, fmt::format("RANK {} of WORLD_SIZE {}", me.rank, me.world));
  return me;
}

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Ranks of a node follow each other, as torchrun and mpirun -N place them.
Result<std::vector<std::string>> NodesInOrder(const std::vector<std::string>& of_rank) {
  std::vector<std::string> nodes;
  std::map<std::string, size_t> ranks;
  for (const std::string& node : of_rank) {
    if (nodes.empty() || nodes.back() != node) {
      if (ranks.contains(node))
        return Fail(Code::kInvalid, fmt::format("the ranks of {} are not consecutive", node));
      nodes.push_back(node);
    }
    ++ranks[node];
  }
  for (const auto& [node, count] : ranks) {
    if (count * nodes.size() != of_rank.size())
      return Fail(Code::kInvalid,
                  fmt::format("{} has {} ranks, others another number", node, count));
  }
  return nodes;
}

// Small whole numbers, whose sum over at most 65536 ranks a float holds exactly.
float Element(size_t i, int rank) {
  return static_cast<float>(static_cast<int>(i % 13) + rank % 7);
}

class Runner {
 public:
  Runner(const Job& job, const Identity& me, Exchange& peers) : job_(job), me_(me), peers_(peers) {}

  Status Run() {
    if (me_.rank == 0)
      Print(TableHead(job_, "times come from the lab's modelled fabric, data moved over loopback"));
    Print(RankLog(job_, me_.rank, static_cast<int>(getpid())));
    if (me_.rank == 0) Print(TableColumns());
    for (uint64_t bytes : job_.sweep.Sizes()) {
      TRY_VOID(Move(bytes));
      if (me_.rank != 0) continue;
      const int64_t wrong =
          std::min(wrong_, me_.world * static_cast<int64_t>(bytes / sizeof(float)));
      Print(TuningLine(job_, static_cast<int>(getpid()), bytes) +
            TableRow(job_, bytes, {job_.sweep.check, wrong}));
      total_ += 2 * wrong;  // out of place and in place
    }
    if (me_.rank == 0) Print(TableFoot(job_, total_));
    return peers_.Barrier();
  }

  int64_t wrong() const { return total_; }

 private:
  // Sizes that were moved once need not be moved again: a few stand for all, and the largest of
  // them for what is larger.
  Status Move(uint64_t bytes) {
    constexpr uint64_t kStand[] = {256, 64ull << 10, 1ull << 20};
    uint64_t stand = kStand[0];
    for (uint64_t size : kStand) {
      if (size <= bytes) stand = size;
    }
    if (const auto at = moved_.find(stand); at != moved_.end()) {
      wrong_ = at->second;
      return {};
    }
    std::vector<float> values(stand / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) values[i] = Element(i, me_.rank);
    Corrupt(values);
    TRY_VOID(peers_.Sum(std::span<float>(values)));
    int64_t wrong[1] = {job_.sweep.check ? CountWrong(values) : 0};
    TRY_VOID(peers_.Sum(std::span<int64_t>(wrong)));
    wrong_ = moved_[stand] = wrong[0];
    return {};
  }

  void Corrupt(std::vector<float>& values) const {
    const Fault* fault = job_.state->Find("wrong_result", NodeSubject(me_.node));
    if (fault == nullptr || me_.local != 0) return;
    const auto count =
        std::min(static_cast<size_t>(std::max(Setting(*fault, "count"), 1.0)), values.size());
    for (size_t i = 0; i < count; ++i) values[i] += 1;
  }

  int64_t CountWrong(const std::vector<float>& values) const {
    int ranks = 0;
    for (int rank = 0; rank < me_.world; ++rank) ranks += rank % 7;
    int64_t wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto expected = static_cast<float>(static_cast<int>(i % 13) * me_.world + ranks);
      wrong += values[i] == expected ? 0 : 1;
    }
    return wrong;
  }

  const Job& job_;
  const Identity& me_;
  Exchange& peers_;
  std::map<uint64_t, int64_t> moved_;
  int64_t wrong_ = 0, total_ = 0;
};

int Broken(const Identity& me, const Error& error) {
  Print(fmt::format("{0}:{1}:{1} [{2}] bootstrap.cc:700 NCCL WARN {3}\n", me.node, getpid(),
                    me.local, error.message));
  Print(
      fmt::format("{}: Test NCCL failure common.cu:1005 'remote process exited or there was a "
                  "network error / {}'\n .. {} pid {}: Test "
                  "failure common.cu:891\n",
                  me.node, error.message, me.node, getpid()));
  return kNcclError;
}

int Complain(const Error& error, int code) {
  const std::string text = error.ToString() + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  return code;
}

}  // namespace

int AllReduceRankMain(std::span<const std::string> args, World& world) {
  const auto me = ReadIdentity();
  if (!me.ok()) return Complain(me.error(), kBadUse);
  const auto sweep = ParseSweepArgs(args);
  if (!sweep.ok()) return Complain(sweep.error(), kBadUse);
  const auto state = LoadLab(world.files, me->lab);
  if (!state.ok()) return Complain(state.error(), kBadUse);

  auto peers = JoinExchange({me->rank, me->world, me->address, me->port, me->timeout, me->node});
  if (!peers.ok()) return Broken(*me, peers.error());
  auto nodes = NodesInOrder((*peers)->Notes());
  if (!nodes.ok()) return Complain(nodes.error(), kBadUse);
  const int per_node = me->world / static_cast<int>(nodes->size());
  const auto job =
      MakeJob(*state, *std::move(nodes), per_node, *sweep, me->nccl, world.clock.Now());
  if (!job.ok()) return Complain(job.error(), kNotImplemented);

  Runner runner(*job, *me, **peers);
  const auto ran = runner.Run();
  std::fflush(stdout);
  if (!ran) return Broken(*me, ran.error());
  return runner.wrong() > 0 ? kBadUse : 0;
}

}  // namespace muster::lab
