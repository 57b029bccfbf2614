#include "cli/gate/gate.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/changes.h"
#include "app/facility_signoff.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/site_option.h"

namespace muster::cli {

namespace {

struct Statement {
  SiteOption site;
  OutputOptions output;
  std::string gate, by, reason, until;

  void AddTo(Args& args) {
    args.Positional("GATE", gate, "Gate number, 1 to 8");
    site.AddTo(args);
    args.Required("--by", by, "NAME", "Who answers for it: a person's name");
    args.Required("--reason", reason, "TEXT", "Why");
    args.Required("--until", until, "WHEN",
                  "When it expires: a date (2026-12-31T00:00:00Z) or a span from now (7d)");
    output.AddTo(args);
  }
  Result<TimePoint> Until(const Context& context) const {
    if (auto span = ParseDuration(until); span.ok()) return context.world.clock.Now() + *span;
    if (until.size() == 10) return ParseTime(until + "T00:00:00Z");
    return ParseTime(until).Context("--until");
  }
};

}  // namespace

ExitCode GateWaive(const Invocation& invocation) {
  Statement s;
  Args args("gate waive",
            "Open a gate that does not pass, by name, with a reason and an expiry; signed, shown "
            "in every report");
  s.AddTo(args);
  args.Example(
      "muster gate waive 5 --by 'A. Person' --reason 'Prometheus arrives on Monday' --until 5d");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = s.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto gate = ParseInt(s.gate);
  const auto until = s.Until(context);
  if (!gate.ok()) return Complain(context, gate.error());
  if (!until.ok()) return Complain(context, until.error());
  const auto waiver =
      AddWaiver(context.world, site->paths, static_cast<int>(*gate), s.by, s.reason, *until);
  if (!waiver.ok()) return Complain(context, waiver.error());
  Document doc;
  doc.kind = "Waiver";
  *doc.json = {{"gate", waiver->gate},
               {"by", waiver->by},
               {"reason", waiver->reason},
               {"at", FormatTime(waiver->at)},
               {"until", FormatTime(waiver->until)},
               {"public_key", waiver->public_key},
               {"signature", waiver->signature}};
  doc.table = fmt::format("gate {} is waived by {} until {}: {}\n", waiver->gate, waiver->by,
                          FormatTime(waiver->until), waiver->reason);
  doc.cases = {{"waiver", fmt::format("gate {}", waiver->gate), Level::kWarn, waiver->reason}};
  Emit(context, s.output, doc);
  return ExitCode::kDone;
}

ExitCode GateStale(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string component, by, reason;
  Args args("gate stale",
            "Say that something changed which nothing observes (operator, cni, scheduler, fabric, "
            "...): every gate that stands on it is stale until it is seen again");
  args.Positional("COMPONENT", component,
                  "cni, driver, fabric, facility, firmware, image, kernel, nccl, operator, "
                  "scheduler, telemetry or topology");
  site_option.AddTo(args);
  args.Required("--by", by, "NAME", "Who says so: a person's name");
  args.Required("--reason", reason, "TEXT", "What changed");
  output.AddTo(args);
  args.Example("muster gate stale operator --by 'A. Person' --reason 'GPU Operator 25.3 to 25.10'");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  auto site = site_option.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto change =
      AddChange(context.world, site->paths, *site->catalogue, component, by, reason);
  if (!change.ok()) return Complain(context, change.error());
  const std::vector<int> gates = GatesStandingOn(*site->catalogue, component);
  Document doc;
  doc.kind = "Change";
  *doc.json = {
      {"component", change->component}, {"by", change->by}, {"reason", change->reason},
      {"at", FormatTime(change->at)},   {"gates", gates},   {"public_key", change->public_key},
      {"signature", change->signature}};
  doc.table = fmt::format(
      "{} changed, says {}: {}\nstale until seen again: gates {}\nnext: muster bringup run --site "
      "{} --from {}\n",
      component, by, reason, fmt::join(gates, ", "), site->paths.site_file, gates.front());
  doc.cases = {{"change", component, Level::kWarn, reason}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode GateSign(const Invocation& invocation) {
  Statement s;
  Args args(
      "gate sign",
      "Sign the facility's budgets (gate 1): power, cooling, weight, and that the PDUs are on");
  s.AddTo(args);
  args.Example("muster gate sign 1 --by 'A. Person' --reason 'as measured on site' --until 180d");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (s.gate != "1") {
    return Complain(context, Code::kInvalid,
                    fmt::format("gate {} is observed, not signed; only gate 1 is. To open it "
                                "anyway: muster gate waive {}",
                                s.gate, s.gate));
  }
  auto site = s.site.Open(context);
  if (!site.ok()) return Complain(context, site.error());
  const auto until = s.Until(context);
  if (!until.ok()) return Complain(context, until.error());
  const auto path = SignFacility(*site, s.by, s.reason, *until);
  if (!path.ok()) return Complain(context, path.error());
  Document doc;
  doc.kind = "Signoff";
  *doc.json = {{"gate", 1},
               {"by", s.by},
               {"reason", s.reason},
               {"until", FormatTime(*until)},
               {"file", *path}};
  doc.table =
      fmt::format("gate 1: {} signed {} until {}\n{}\n", s.by,
                  Counted(site->site().budgets.size(), "budget"), FormatTime(*until), *path);
  doc.cases = {{"sign-off", "gate 1", Level::kPass, s.reason}};
  Emit(context, s.output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
