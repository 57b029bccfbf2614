#include "cli/lab/lab.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/init.h"
#include "app/lab_cases.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

ExitCode LabCreate(const Invocation& invocation) {
  OutputOptions output;
  std::string spec_text, out = "muster-lab/site.yaml", name = "lab";
  int seed = 1;
  bool force = false;
  Args args("lab create", "Make a lab: a cluster played on this machine, with its site file");
  args.Option("--spec", spec_text, "SPEC",
              "nodes=4,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400 (1 to 1,024 nodes)");
  args.Option("--out", out, "FILE", "The site file; the lab's state goes beside it");
  args.Option("--name", name, "NAME", "Name of the site");
  args.Option("--seed", seed, "N", "Seed of serials, clocks and noise");
  args.Flag("--force", force, "Overwrite an existing site file");
  output.AddTo(args);
  args.Example("muster lab create --spec nodes=64,gpus=8,rails=8,leaves=8,spines=8");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto spec =
      spec_text.empty() ? Result<ClusterSpec>(ClusterSpec{}) : ParseClusterSpec(spec_text);
  if (!spec.ok()) return Complain(context, Error(spec.error()).Context("--spec"));
  if (auto made = InitLab(context.world, out, name, *spec, static_cast<uint64_t>(seed), force);
      !made.ok())
    return Complain(context, made.error());
  Document doc;
  doc.kind = "Lab";
  *doc.json = {{"site", out}, {"spec", FormatClusterSpec(*spec)}};
  doc.table = fmt::format(
      "{}\n  {}, {}, rehearsed on this machine\nnext: muster bringup run --site {}\n", out,
      Counted(static_cast<size_t>(spec->nodes), "node"),
      Counted(static_cast<size_t>(spec->nodes) * static_cast<size_t>(spec->gpus), "GPU"), out);
  doc.cases = {{"lab", out, Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabInjectFault(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string fault, on;
  Args args("lab inject", "Put a fault into the lab; `muster lab faults` lists them");
  args.Positional("FAULT", fault, "Name of the fault, such as link_down");
  args.Option(
      "--on", on, "SUBJECT",
      "Where: node003, node003/gpu2, leaf00/5--node000/mlx5_4/1 ... (default: a place chosen by "
      "the seed)");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster lab inject xid_79 --on node001/gpu3 --site muster-lab/site.yaml");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto subject = LabInject(context.world, site_option.file, fault, on);
  if (!subject.ok()) return Complain(context, subject.error());
  Document doc;
  doc.kind = "LabFault";
  *doc.json = {{"fault", fault}, {"on", {{"kind", ToString(subject->kind)}, {"id", subject->id}}}};
  doc.table = fmt::format(
      "{} on {}\nnext: muster bringup run --site {}    undo: muster lab heal --site {}\n", fault,
      subject->ToString(), site_option.file, site_option.file);
  doc.cases = {{"lab", fault, Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabHealFaults(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string fault, on;
  Args args("lab heal", "Take faults out of the lab: all, one kind, or one kind on one subject");
  args.Positional("FAULT", fault, "Name of the fault (default: all)", false);
  args.Option("--on", on, "SUBJECT", "Only there");
  site_option.AddTo(args);
  output.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto healed = LabHeal(context.world, site_option.file, fault, on);
  if (!healed.ok()) return Complain(context, healed.error());
  Document doc;
  doc.kind = "LabHealed";
  *doc.json = {{"healed", *healed}};
  doc.table = fmt::format("{} fault{} taken out\n", *healed, *healed == 1 ? "" : "s");
  doc.cases = {{"lab", "heal", Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabListFaults(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  bool now = false;
  Args args(
      "lab faults",
      "The faults that can be injected, with the gate that must notice; --now: those that are in");
  args.Flag("--now", now, "Those that are in the site's lab");
  site_option.AddTo(args);
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  Document doc;
  doc.kind = "LabFaults";
  Json rows = Json::array();
  if (now) {
    const auto file = site_option.File(context);
    if (!file.ok()) return Complain(context, file.error());
    const auto faults = LabFaultsNow(context.world, *file);
    if (!faults.ok()) return Complain(context, faults.error());
    Table table({"FAULT", "ON", "SINCE"});
    for (const LabFaultNow& f : *faults) {
      table.Row({f.kind, f.on.ToString(), FormatTime(f.since)});
      rows.push_back({{"fault", f.kind}, {"on", f.on.ToString()}, {"since", FormatTime(f.since)}});
      doc.cases.push_back({"lab", f.kind, Level::kPass, f.on.ToString()});
    }
    doc.table = faults->empty() ? "no fault is in\n" : table.ToString();
  } else {
    Table table({"FAULT", "ON", "GATE", ""});
    for (const LabFaultInfo& f : LabFaults()) {
      table.Row({f.name, f.on, f.gate == 0 ? "-" : std::to_string(f.gate), f.what});
      rows.push_back({{"fault", f.name},
                      {"on", f.on},
                      {"gate", f.gate},
                      {"what", f.what},
                      {"source", f.source}});
      doc.cases.push_back({"lab", f.name, Level::kPass, f.what});
    }
    doc.table = table.ToString();
  }
  *doc.json = {{"faults", rows}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabExecCommand(const Invocation& invocation) {
  SiteOption site_option;
  std::string host;
  std::vector<std::string> argv;
  Args args(
      "lab exec",
      "Run a command on a lab host, as a probe would: muster lab exec node000 -- nvidia-smi -q -x");
  args.Positional("HOST", host, "A node of the lab, or fabric");
  args.Rest("COMMAND", argv, "The command and its arguments, after --", true);
  site_option.AddTo(args);
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto result = LabExec(context.world, site_option.file, host, argv, context.self_binary);
  if (!result.ok()) return Complain(context, result.error());
  context.out << result->out;
  context.err << result->err;
  if (result->timed_out) {
    context.err << "muster: the command hung (the lab plays the hang without waiting)\n";
    return ExitCode::kTimeout;
  }
  return static_cast<ExitCode>(result->exit_code);
}

ExitCode LabRunExam(const Invocation& invocation) {
  OutputOptions output;
  ExamOptions options;
  int seed = 1;
  bool quiet = false;
  Args args("lab exam",
            "Inject every fault in turn, and a sample of pairs, run the gates, and count what they "
            "got right");
  args.Option("--seed", seed, "N", "Seed of the places and the pairs");
  args.Option("--nodes", options.nodes, "N", "Nodes of the exam's lab");
  args.Option("--pairs", options.pairs, "N", "Pairs of faults (0 = none)");
  args.Option("--only", options.only, "FAULT", "Only these faults");
  args.Flag("-q,--quiet", quiet, "No line for each case while it runs");
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  options.seed = static_cast<uint64_t>(seed);
  options.self_binary = context.self_binary;
  class Lines final : public Progress {
   public:
    Lines(std::ostream& err, bool quiet) : err_(err), quiet_(quiet) {}
    void GateBegins(int, std::string_view, size_t) override {}
    void ReadingDone(std::string_view) override {}
    void Note(std::string_view text) override {
      if (!quiet_) err_ << text << "\n" << std::flush;
    }
    void GateEnds(int, Level, std::string_view) override {}

   private:
    std::ostream& err_;
    bool quiet_;
  } progress(context.err, quiet);
  const auto exam = LabExam(context.world, options, progress);
  if (!exam.ok()) return Complain(context, exam.error());
  Document doc;
  doc.kind = "LabExam";
  Json rows = Json::array();
  Table table({"FAULT", "GATE", "VERDICT", "SUSPECT", ""});
  for (const ExamCase& c : exam->cases) {
    const bool right = !c.false_pass && c.right_gate && c.right_suspect;
    const std::string note = c.false_pass ? "FALSE PASS"
                             : !c.right_gate
                                 ? fmt::format("wrong gate, expected {}", c.expected_gate)
                             : !c.right_suspect ? "wrong suspect"
                                                : "";
    table.Row({Join(c.faults, " + "), c.first_gate == 0 ? "-" : std::to_string(c.first_gate),
               std::string(ToString(c.level)), c.suspect, note});
    rows.push_back({{"faults", c.faults},
                    {"expected_gate", c.expected_gate},
                    {"first_gate", c.first_gate},
                    {"verdict", ToString(c.level)},
                    {"suspect", c.suspect},
                    {"false_pass", c.false_pass},
                    {"right_gate", c.right_gate},
                    {"right_suspect", c.right_suspect}});
    doc.cases.push_back({"exam", Join(c.faults, " + "), right ? Level::kPass : Level::kFail, note});
  }
  // A false pass is a share like the other two, and must be 0.
  const double total = static_cast<double>(std::max<size_t>(1, exam->cases.size()));
  *doc.json = {{"false_passes", static_cast<double>(exam->false_passes) / total},
               {"right_gate", exam->right_gate},
               {"right_suspect", exam->right_suspect},
               {"cases", exam->cases.size()},
               {"seed", seed},
               {"took_s", Seconds(exam->took)},
               {"results", rows}};
  doc.table =
      table.ToString() +
      fmt::format(
          "\n{} in {}: {} false passes, right gate {:.1f} %, right suspect first {:.1f} %\n",
          Counted(exam->cases.size(), "case"), FormatDuration(exam->took), exam->false_passes,
          exam->right_gate * 100, exam->right_suspect * 100);
  Emit(context, output, doc);
  return exam->false_passes == 0 && exam->right_gate == 1.0 && exam->right_suspect >= 0.97
             ? ExitCode::kDone
             : ExitCode::kFail;
}

}  // namespace muster::cli
