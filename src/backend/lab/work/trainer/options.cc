#include "backend/lab/work/trainer/options.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {
namespace {

Result<int> Between(std::string_view what, const std::string& text, int64_t low, int64_t high) {
  const auto n = ParseInt(text);
  if (!n.ok() || *n < low || *n > high) {
    return Fail(Code::kInvalid, fmt::format("{}: expected a whole number from {} to {}, not \"{}\"",
                                            what, low, high, Printable(text)));
  }
  return static_cast<int>(*n);
}

// A fault on a node (or on a part of it) is that node's; on the gang or the site it is everyone's.
bool Touches(const Fault& fault, const std::string& node) {
  switch (fault.on.kind) {
    case SubjectKind::kNode:
    case SubjectKind::kGpu:
    case SubjectKind::kHca:
    case SubjectKind::kRank:
      return fault.on.Host() == node;
    default:
      return true;
  }
}

}  // namespace

Status ParsePairs(std::span<const std::string> args,
                  const std::function<Result<bool>(std::string_view, const std::string&)>& take) {
  for (size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size())
      return Fail(Code::kInvalid, fmt::format("{} has no value", Printable(args[i])));
    TRY(const bool known, take(args[i], args[i + 1]));
    if (!known) return Fail(Code::kInvalid, fmt::format("unknown option {}", Printable(args[i])));
  }
  return {};
}

Result<TrainOptions> ParseTrainOptions(std::span<const std::string> args) {
  TrainOptions options;
  TRY_VOID(ParsePairs(args, [&](std::string_view key, const std::string& value) -> Result<bool> {
    if (key == "--steps") {
      TRY(options.steps, Between(key, value, 1, 1'000'000));
    } else if (key == "--seed") {
      TRY(const int seed, Between(key, value, 0, 2'000'000'000));
      options.seed = static_cast<uint64_t>(seed);
    } else if (key == "--batch") {
      TRY(options.batch, Between(key, value, 1, 65536));
    } else if (key == "--checkpoint") {
      options.checkpoint = value;
    } else if (key == "--resume") {
      options.resume = value;
    } else if (key == "--rendezvous-timeout") {
      TRY(options.rendezvous_timeout, ParseDuration(value));
    } else {
      return false;
    }
    return true;
  }));
  return options;
}

std::optional<std::string> FromProcess(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<RankIdentity> ReadIdentity(const Environment& environment) {
  RankIdentity identity;
  const auto number = [&](const char* name, int64_t low, int64_t high,
                          std::optional<int> otherwise) -> Result<int> {
    const auto text = environment(name);
    if (!text && otherwise) return *otherwise;
    if (!text) return Fail(Code::kInvalid, fmt::format("{} is not set", name));
    return Between(name, *text, low, high);
  };
  TRY(identity.world, number("WORLD_SIZE", 1, 65536, std::nullopt));
  TRY(identity.rank, number("RANK", 0, identity.world - 1, std::nullopt));
  TRY(identity.local_rank, number("LOCAL_RANK", 0, 65535, 0));
  TRY(identity.master_port, number("MASTER_PORT", 1, 65535, 29500));
  identity.node = environment("MUSTER_NODE").value_or(identity.node);
  identity.master_addr = environment("MASTER_ADDR").value_or(identity.master_addr);
  identity.lab = environment("MUSTER_LAB").value_or("");
  return identity;
}

double FigureOf(const Fault& fault, const std::string& name, double otherwise) {
  if (const auto found = fault.with.find(name); found != fault.with.end()) return found->second;
  if (const FaultKind* kind = FindFaultKind(fault.kind); kind != nullptr) {
    if (const auto found = kind->defaults.find(name); found != kind->defaults.end())
      return found->second;
  }
  return otherwise;
}

RankFaults FaultsOf(const LabState& state, const std::string& node, int steps) {
  RankFaults faults;
  for (const Fault& fault : state.faults) {
    if (!Touches(fault, node)) continue;
    if (fault.kind == "straggler") {
      faults.straggler_factor = std::clamp(FigureOf(fault, "factor", 2.5), 1.0, 20.0);
    } else if (fault.kind == "slow_training") {
      // Written as how many times longer a step takes; a share of the speed left (0.1) says the
      // same.
      const double factor = FigureOf(fault, "factor", 25);
      faults.slow_factor = std::clamp(factor > 0 && factor < 1 ? 1 / factor : factor, 1.0, 100.0);
    } else if (fault.kind == "nan_loss") {
      faults.nan_at = std::max(1, static_cast<int>(FigureOf(fault, "step", std::min(12, steps))));
      faults.nan_steps = std::max(1, static_cast<int>(FigureOf(fault, "steps", 3)));
    } else if (fault.kind == "checkpoint_disk_full") {
      faults.disk_full = true;
    }
  }
  return faults;
}

}  // namespace muster::lab
