// The exam: a fresh small lab for every case, the production gates over it, and a count of what
// they got right.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/init.h"
#include "app/lab_cases.h"
#include "backend/lab/state/lab_state.h"

namespace muster {

namespace {

struct Planned {
  std::vector<std::pair<const lab::FaultKind*, Subject>> faults;
};

std::vector<Planned> PlanCases(const ExamOptions& options, const lab::LabState& state) {
  std::vector<Planned> cases;
  std::vector<const lab::FaultKind*> kinds;
  uint64_t n = options.seed;
  for (const lab::FaultKind& kind : lab::FaultTable()) {
    if (kind.gate == 0) continue;  // a runbook's own checks see it
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), kind.name) == options.only.end())
      continue;
    kinds.push_back(&kind);
    cases.push_back({{{&kind, lab::SampleSubject(state, kind, ++n)}}});
  }
  SeededRandom random(options.seed);
  for (int i = 0; i < options.pairs && kinds.size() > 1; ++i) {
    const lab::FaultKind* a = kinds[random.Below(kinds.size())];
    const lab::FaultKind* b = kinds[random.Below(kinds.size())];
    if (a == b) continue;
    cases.push_back(
        {{{a, lab::SampleSubject(state, *a, ++n)}, {b, lab::SampleSubject(state, *b, ++n)}}});
  }
  return cases;
}

// One case in a lab of its own; only the part of the run up to the first gate that does not open.
Result<ExamCase> OneCase(World& world, const ExamOptions& options, const Planned& planned,
                         const std::string& folder) {
  const std::string site_file = folder + "/site.yaml";
  TRY_VOID(world.files.Remove(folder));
  ClusterSpec spec;
  spec.nodes = options.nodes;
  TRY_VOID(InitLab(world, site_file, "exam", spec, options.seed, true));
  ExamCase result;
  result.expected_gate = 9;
  TRY(lab::LabState state, lab::LoadLab(world.files, folder + "/lab"));
  for (const auto& [kind, on] : planned.faults) {
    TRY_VOID(lab::Inject(state, kind->name, on.id, world.clock.Now()));
    result.faults.push_back(fmt::format("{} on {}", kind->name, on.ToString()));
    result.expected_gate = std::min(result.expected_gate, kind->gate);
  }
  TRY_VOID(lab::SaveLab(world.files, state));

  TRY(SiteContext site, OpenSite(site_file, world, {options.self_binary, true}));
  SilentProgress silent;
  BringupOptions bringup;
  bringup.by = "exam";
  bringup.to = std::min(8, result.expected_gate + 1);
  bringup.keep_readings = false;
  TRY(const Run run, RunBringup(site, bringup, silent));
  for (const GateRecord& record : run.gates) {
    if (!record.result || record.result->open()) continue;
    result.first_gate = record.gate;
    result.level = record.result->level;
    if (!record.result->suspects.empty()) {
      const Subject& named = record.result->suspects.front().subject;
      result.suspect = named.ToString();
      result.right_suspect =
          std::any_of(state.faults.begin(), state.faults.end(), [&](const lab::Fault& f) {
            return lab::FindFaultKind(f.kind)->gate == result.expected_gate &&
                   lab::IsRightSuspect(state, f, named);
          });
    }
    break;
  }
  result.false_pass = result.first_gate == 0 || result.first_gate > result.expected_gate;
  result.right_gate = result.first_gate == result.expected_gate;
  return result;
}

}  // namespace

Result<ExamResult> LabExam(World& world, const ExamOptions& options, Progress& progress) {
  for (const std::string& name : options.only) {
    if (lab::FindFaultKind(name) == nullptr)
      return Fail(Code::kInvalid,
                  fmt::format("there is no fault {}; `muster lab faults` lists them", name));
  }
  ClusterSpec spec;
  spec.nodes = options.nodes;
  const lab::LabState state = lab::MakeLab(spec, options.seed, world.clock.Now());
  const std::string folder = options.folder.empty()
                                 ? fmt::format("/tmp/muster-exam-{:016x}", world.random.Next())
                                 : options.folder;
  ExamResult exam;
  const Duration began = world.clock.Monotonic();
  size_t right_gate = 0, right_suspect = 0;
  for (const Planned& planned : PlanCases(options, state)) {
    auto one = OneCase(world, options, planned, folder);
    if (!one.ok()) {
      TRY_VOID(world.files.Remove(folder));
      return tl::unexpected(
          std::move(one.error())
              .Context(fmt::format("exam case {}", planned.faults.front().first->name)));
    }
    progress.Note(fmt::format(
        "{}  gate {}  {}{}", fmt::join(one->faults, " + "), one->first_gate, one->suspect,
        one->false_pass      ? "  FALSE PASS"
        : !one->right_gate   ? fmt::format("  wrong gate, expected {}", one->expected_gate)
        : one->right_suspect ? ""
                             : "  wrong suspect"));
    exam.false_passes += one->false_pass ? 1 : 0;
    right_gate += one->right_gate ? 1 : 0;
    right_suspect += one->right_suspect ? 1 : 0;
    exam.cases.push_back(std::move(*one));
  }
  TRY_VOID(world.files.Remove(folder));
  const double total = static_cast<double>(std::max<size_t>(1, exam.cases.size()));
  exam.right_gate = static_cast<double>(right_gate) / total;
  exam.right_suspect = static_cast<double>(right_suspect) / total;
  exam.took = world.clock.Monotonic() - began;
  return exam;
}

}  // namespace muster
