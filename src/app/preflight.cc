#include "app/preflight.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/collective_sweep.h"
#include "app/derive.h"
#include "app/pool.h"
#include "base/strings.h"
#include "catalogue/embedded.h"
#include "evidence/worse.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

using namespace std::chrono_literals;

struct CheckInfo {
  std::string code, title, why, fix, source, does;
  int gate = 0;
  std::vector<std::string> probes, facts;
};

Result<std::vector<CheckInfo>> CheckInfos() {
  const auto text = FindEmbedded("preflight.yaml");
  if (!text) return Fail(Code::kInternal, "this binary has no preflight.yaml");
  TRY(const YamlNode root, ParseYaml(*text, "preflight.yaml"));
  YamlFindings findings;
  YamlReader reader(root, "preflight.yaml", findings);
  const YamlNode* sources = reader.NeedChild("sources");
  std::vector<CheckInfo> infos;
  for (const YamlNode& item : reader.Items("checks")) {
    YamlReader entry(item, "preflight.yaml", findings);
    CheckInfo info;
    info.code = entry.Text("code");
    info.title = entry.Text("title");
    info.why = entry.Text("why");
    info.fix = entry.Text("fix");
    info.does = entry.TextOr("does", "");
    info.gate = static_cast<int>(entry.IntOr("gate", 0));
    info.probes = entry.TextsOr("probes");
    info.facts = entry.TextsOr("facts");
    const std::string source = entry.Text("source");
    const YamlNode* full = sources == nullptr ? nullptr : sources->Find(source);
    if (full == nullptr) entry.Say("source is not in the list of sources");
    info.source = full == nullptr ? source : full->text;
    entry.Done();
    infos.push_back(std::move(info));
  }
  TRY_VOID(ToStatus(findings));
  return infos;
}

class Flight {
 public:
  Flight(SiteContext& context, const PreflightOptions& options, std::vector<std::string> nodes,
         Progress& progress)
      : context_(context), options_(options), nodes_(std::move(nodes)), progress_(progress) {}

  PreflightCheck Run(const CheckInfo& info) {
    PreflightCheck check{info.code, info.title,  info.why,
                         info.fix,  info.source, Level::kUnknown,
                         "",        {},          context_.hosts->origin(),
                         {}};
    progress_.Note(fmt::format("{} {}", info.code, info.title));
    const Duration began = context_.world.clock.Monotonic();
    if (info.does == "rendezvous") {
      Rendezvous(check);
    } else if (info.does == "checkpoint") {
      Checkpoint(check);
    } else if (info.does == "admission" || info.does == "topology") {
      Jobs(check, info.does == "admission" ? FitsWhole : FitsNuma);
    } else {
      Criteria(info, check);
    }
    check.took = context_.world.clock.Monotonic() - began;
    return check;
  }

 private:
  // The gates' own criteria over what is so now.
  void Criteria(const CheckInfo& info, PreflightCheck& check) {
    Observations seen;
    if (info.does == "collective") {
      if (!options_.collective) {
        check.text = "left out as asked";
        return;
      }
      seen = ShortCollective();
    } else {
      std::vector<PlannedRead> reads = PlanReads(context_.site(), info.gate, nodes_);
      std::erase_if(reads, [&](const PlannedRead& read) {
        return std::find(info.probes.begin(), info.probes.end(), read.probe->id) ==
               info.probes.end();
      });
      SilentProgress silent;
      seen = Observe(*context_.hosts, reads, {false, {}}, context_.world.clock, silent).TakeAll();
    }
    GateResult result = JudgeEvidence(context_.site(), *context_.catalogue, info.gate, nodes_, seen,
                                      context_.world.clock.Now());
    const auto other = [&](const std::string& code) {
      const Criterion* criterion = context_.catalogue->Find(code);
      return criterion == nullptr ||
             std::find(info.facts.begin(), info.facts.end(), criterion->fact) == info.facts.end();
    };
    std::erase_if(result.verdicts, [&](const Verdict& v) { return other(v.code); });
    std::erase_if(result.not_applicable, [&](const NotApplicable& n) { return other(n.code); });
    if (result.verdicts.empty() && !result.not_applicable.empty()) {
      check.level = Level::kNotApplicable;
      check.text = result.not_applicable.front().reason;
      return;
    }
    check.level = Combine(result.verdicts);
    size_t passed = 0;
    for (const Verdict& verdict : result.verdicts) {
      if (verdict.level == Level::kPass) {
        ++passed;
      } else {
        check.found.push_back(
            fmt::format("{}  {}  {}", ToString(verdict.level), verdict.code, verdict.text));
      }
    }
    check.text = check.found.empty() ? fmt::format("{} checks pass", passed)
                                     : fmt::format("{} of {} checks do not pass",
                                                   check.found.size(), result.verdicts.size());
  }

  // A sweep of a few sizes over all nodes of the job: long enough for NCCL to open every channel.
  Observations ShortCollective() {
    CollectiveSweep sweep{{SubjectKind::kScope, "all"},
                          nodes_,
                          RanksPerNode(context_.site(), nodes_),
                          ShortSweep(nodes_.size()),
                          2min};
    const std::string run =
        fmt::format("preflight-{:08x}", context_.world.random.Next() & 0xffffffff);
    Observations seen;
    for (const Reading& reading :
         RunSweep({context_.site(), *context_.hosts, *context_.jobs, context_.world.clock, run},
                  sweep)) {
      Observations more = Understand(reading).value_or(Observations{});
      seen.insert(seen.end(), more.begin(), more.end());
    }
    Observations derived = Derive(context_.site(), 6, nodes_, seen);
    seen.insert(seen.end(), derived.begin(), derived.end());
    return seen;
  }

  // Runs `work` on every node; it answers "" or what is wrong, and whether that is only unknown.
  struct NodeAnswer {
    Level level = Level::kPass;
    std::string text;
  };
  void EachNode(PreflightCheck& check, const std::function<NodeAnswer(const HostPorts&)>& work,
                const std::string& passes) {
    std::vector<NodeAnswer> answers(nodes_.size());
    ForEachParallel(nodes_.size(), context_.hosts->Parallel(), [&](size_t i) {
      const auto ports = context_.hosts->At(nodes_[i]);
      answers[i] = ports.ok() ? work(*ports) : NodeAnswer{Level::kUnknown, ports.error().message};
    });
    check.level = Level::kPass;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const NodeAnswer& answer = answers[i];
      if (answer.level == Level::kPass) continue;
      check.level = Worse(check.level, answer.level);
      check.found.push_back(
          fmt::format("{}  {}: {}", ToString(answer.level), nodes_[i], answer.text));
    }
    check.text = check.found.empty()
                     ? passes
                     : fmt::format("{} of {} nodes do not pass", check.found.size(), nodes_.size());
  }

  static NodeAnswer FromReading(const Reading& reading, const std::string& failed) {
    if (reading.fault) {
      const bool missing = reading.fault->reason == UnknownReason::kToolFault ||
                           reading.fault->reason == UnknownReason::kUnreachable ||
                           reading.fault->reason == UnknownReason::kNotPermitted;
      return {missing ? Level::kUnknown : Level::kFail, reading.fault->detail};
    }
    if (reading.exit_code == 0) return {};
    const std::string_view said =
        Trim(reading.stderr_text.empty() ? reading.text : reading.stderr_text);
    return {Level::kFail, said.empty() ? failed : fmt::format("{}: {}", failed, said)};
  }

  void Rendezvous(PreflightCheck& check) {
    std::string name = options_.rendezvous;
    if (name.empty() && !nodes_.empty()) {
      const Node* node = context_.site().cluster.FindNode(nodes_.front());
      name = node == nullptr || node->address.empty() ? nodes_.front() : node->address;
    }
    EachNode(
        check,
        [&](const HostPorts& ports) -> NodeAnswer {
          const Reading reading = ReadCommand(ports, "preflight.rendezvous",
                                              {.argv = {"getent", "ahosts", name}, .timeout = 10s});
          NodeAnswer answer = FromReading(reading, fmt::format("{} does not resolve", name));
          if (answer.level == Level::kPass && Trim(reading.text).empty())
            return {Level::kFail, fmt::format("{} resolves to nothing", name)};
          return answer;
        },
        fmt::format("{} resolves on {} node{}", name, nodes_.size(),
                    nodes_.size() == 1 ? "" : "s"));
  }

  void Checkpoint(PreflightCheck& check) {
    if (options_.checkpoint.empty()) {
      check.text = "no folder was named; give --checkpoint";
      return;
    }
    constexpr int64_t kProbeBytes = 8 << 20;
    const std::string file = fmt::format("{}/.muster-preflight-{:08x}", options_.checkpoint,
                                         context_.world.random.Next() & 0xffffffff);
    EachNode(
        check,
        [&](const HostPorts& ports) -> NodeAnswer {
          const Reading df =
              ReadCommand(ports, "preflight.checkpoint",
                          {.argv = {"df", "-P", "-B1", options_.checkpoint}, .timeout = 20s});
          NodeAnswer answer = FromReading(df, "df failed");
          if (answer.level != Level::kPass) return answer;
          const auto free = FreeBytesOfDf(df.text);
          if (!free) return {Level::kUnknown, "df tells no free space"};
          const Reading written = ReadCommand(
              ports, "preflight.checkpoint",
              {.argv = {"dd", "if=/dev/zero", "of=" + file, "bs=1M", "count=8", "conv=fsync"},
               .timeout = 30s});
          answer = FromReading(written, "writing failed");
          const Reading gone = ReadCommand(ports, "preflight.checkpoint",
                                           {.argv = {"unlink", file}, .timeout = 20s});
          if (answer.level != Level::kPass) return answer;
          if (gone.fault || gone.exit_code != 0)
            return {Level::kUnknown, fmt::format("{} was written and could not be removed", file)};
          if (*free < kProbeBytes) return {Level::kFail, "less than 8 MiB are free"};
          return {};
        },
        fmt::format("8 MiB written, synced and removed under {} on {} node{}", options_.checkpoint,
                    nodes_.size(), nodes_.size() == 1 ? "" : "s"));
  }

  void Jobs(PreflightCheck& check, AdmissionAnswer (*fits)(const Job&, const std::vector<Node>&)) {
    if (options_.jobs.empty()) {
      check.level = Level::kNotApplicable;
      check.text = "no job was given; --job FILE asks for it";
      return;
    }
    std::vector<Node> nodes;
    for (const std::string& name : nodes_) {
      if (const Node* node = context_.site().cluster.FindNode(name)) nodes.push_back(*node);
    }
    check.level = Level::kPass;
    for (const Job& job : options_.jobs) {
      const AdmissionAnswer answer = fits(job, nodes);
      check.text += (check.text.empty() ? "" : "; ") + answer.text;
      if (answer.level == Level::kPass) continue;
      check.level = Worse(check.level, answer.level);
      check.found.push_back(fmt::format("{}  {}", ToString(answer.level), answer.text));
    }
  }

  SiteContext& context_;
  const PreflightOptions& options_;
  std::vector<std::string> nodes_;
  Progress& progress_;
};

int64_t GpusOf(const TaskGroup& group) {
  int64_t gpus = 0;
  for (const auto& [resource, amount] : group.shape) {
    if (EndsWith(resource, "/gpu")) gpus += amount;
  }
  return gpus;
}

}  // namespace

Result<Preflight> RunPreflight(SiteContext& context, const PreflightOptions& options,
                               Progress& progress) {
  TRY(const std::vector<CheckInfo> infos, CheckInfos());
  for (const std::string& code : options.only) {
    if (std::none_of(infos.begin(), infos.end(),
                     [&](const CheckInfo& i) { return EqualsIgnoreCase(i.code, code); }))
      return Fail(Code::kInvalid, fmt::format("--only {}: the checks are PRE-001 to PRE-{:03}",
                                              code, infos.size()));
  }
  for (const std::string& name : options.nodes) {
    if (context.site().cluster.FindNode(name) == nullptr)
      return Fail(Code::kInvalid, fmt::format("site {} has no node {}", context.site().name, name));
  }
  Flight flight(context, options,
                options.nodes.empty() ? context.site().ScopeNodes("").value() : options.nodes,
                progress);
  Preflight preflight;
  bool any = false;
  for (const CheckInfo& info : infos) {
    const bool asked = options.only.empty() ||
                       std::any_of(options.only.begin(), options.only.end(), [&](const auto& code) {
                         return EqualsIgnoreCase(code, info.code);
                       });
    if (!asked) continue;
    preflight.checks.push_back(flight.Run(info));
    const Level level = preflight.checks.back().level;
    if (level == Level::kNotApplicable) continue;
    preflight.level = any ? Worse(preflight.level, level) : level;
    any = true;
  }
  return preflight;
}

AdmissionAnswer FitsWhole(const Job& job, const std::vector<Node>& nodes) {
  std::vector<int64_t> free;
  for (const Node& node : nodes) free.push_back(static_cast<int64_t>(node.gpus.size()));
  std::vector<const TaskGroup*> groups;
  for (const TaskGroup& group : job.tasks) groups.push_back(&group);
  // Large shapes first: they have the fewest places.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TaskGroup* a, const TaskGroup* b) { return GpusOf(*a) > GpusOf(*b); });
  int64_t wanted = 0;
  for (const TaskGroup* group : groups) {
    const int64_t gpus = GpusOf(*group);
    int64_t placed = 0;
    for (int64_t& room : free) {
      const int64_t here =
          gpus == 0 ? group->min - placed : std::min<int64_t>(group->min - placed, room / gpus);
      placed += here;
      room -= here * gpus;
      if (placed == group->min) break;
    }
    wanted += group->min;
    if (placed < group->min)
      return {Level::kFail, fmt::format("{}: {} of {} ranks of {} GPUs find room on {} nodes",
                                        job.name, placed, group->min, gpus, nodes.size())};
  }
  return {Level::kPass,
          fmt::format("{}: all {} ranks find room on {} nodes while nothing else runs", job.name,
                      wanted, nodes.size())};
}

AdmissionAnswer FitsNuma(const Job& job, const std::vector<Node>& nodes) {
  for (const TaskGroup& group : job.tasks) {
    const int64_t gpus = GpusOf(group);
    if (gpus == 0) continue;
    bool fits = false, known = false;
    std::set<int64_t> valid;
    KubeletPolicy strict;
    strict.policy = "single-numa-node";
    for (const Node& node : nodes) {
      if (node.gpus.empty()) continue;
      const auto shapes = ShapesOf(node, strict);
      if (!shapes.ok()) continue;
      known = true;
      valid.insert(shapes->valid.begin(), shapes->valid.end());
      valid.insert(static_cast<int64_t>(node.gpus.size()));
    }
    fits = valid.contains(gpus);
    if (!known)
      return {Level::kUnknown, fmt::format("{}: the inventory has no GPUs to hold {} against",
                                           job.name, group.name)};
    if (!fits)
      return {Level::kFail,
              fmt::format("{}: {}{} GPUs a rank, which no NUMA domain has; valid: {}", job.name,
                          group.name.empty() ? "" : group.name + " asks for ", gpus,
                          fmt::join(valid, ", "))};
  }
  return {Level::kPass,
          fmt::format("{}: every shape lies within one NUMA domain or is a whole node", job.name)};
}

std::optional<int64_t> FreeBytesOfDf(std::string_view text) {
  const auto lines = Lines(text);
  std::vector<std::string_view> kept;
  for (const std::string_view line : lines) {
    if (!Trim(line).empty()) kept.push_back(line);
  }
  if (kept.size() != 2 || !StartsWith(kept[0], "Filesystem")) return std::nullopt;
  const auto words = SplitBlank(kept[1]);
  if (words.size() < 6) return std::nullopt;
  const auto free = ParseInt(words[3]);
  return free.ok() && *free >= 0 ? std::optional(*free) : std::nullopt;
}

}  // namespace muster
