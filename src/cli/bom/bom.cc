#include "cli/bom/bom.h"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bom.h"
#include "cli/bom/record.h"
#include "cli/live_line.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"
#include "evidence/worse.h"

namespace muster::cli {

namespace {

using Rows = nlohmann::ordered_json;

Result<Bom> ReadBom(const Context& context, const std::string& path) {
  TRY(const std::string text, context.world.files.Read(path));
  return FromCycloneDx(text, path);
}

// The record named by --bom, or what the site runs now.
Result<Bom> BomOf(Context& context, const SiteOption& site, const std::string& path,
                  const std::vector<std::string>& nodes) {
  if (!path.empty()) return ReadBom(context, path);
  TRY(SiteContext opened, site.Open(context, true));
  LiveLine progress(context);
  return RecordBom(opened, nodes, progress);
}

// GPU model by node, so that only nodes of one kind are held against each other.
std::map<std::string, std::string> KindsOfNodes(const Context& context, const SiteOption& option) {
  std::map<std::string, std::string> kinds;
  const auto site = option.Open(context, true);
  if (!site.ok()) return kinds;
  for (const Node& node : site->site().cluster.nodes)
    kinds[node.name] = node.gpus.empty() ? "no GPUs" : node.gpus.front().model;
  return kinds;
}

size_t UnknownOf(const Bom& bom) {
  return static_cast<size_t>(std::count_if(bom.items.begin(), bom.items.end(),
                                           [](const BomItem& i) { return i.version.empty(); }));
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

ExitCode BomRecordFile(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string out;
  std::vector<std::string> nodes;
  Args args("bom record",
            "Record what every node runs: kernel, driver, firmware, packages; CycloneDX JSON");
  site_option.AddTo(args);
  args.Option("--nodes", nodes, "NODES", "Only these nodes");
  args.Option("--out", out, "FILE", "Where the record goes (default: standard output)");
  output.AddTo(args);
  args.Example("muster bom record --site site.yaml --out bom.json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto bom = BomOf(context, site_option, "", nodes);
  if (!bom.ok()) return Complain(context, bom.error());
  const size_t unknown = UnknownOf(*bom);
  const ExitCode code = unknown == 0 ? ExitCode::kDone : ExitCode::kUnknown;
  if (out.empty()) {
    context.out << ToCycloneDx(*bom);
    return code;
  }
  auto recorded = WriteBomRecord(context, *bom, out, unknown);
  if (!recorded.ok()) return Complain(context, recorded.error());
  Document& doc = *recorded;
  doc.table =
      fmt::format("{} parts recorded in {} ({})\n", bom->items.size(), out, ToString(bom->origin));
  for (const BomItem& item : bom->items) {
    if (!item.version.empty()) continue;
    doc.table += fmt::format("UNKNOWN  {}  {}: {}\n", item.node, item.name, item.unknown);
    doc.cases.push_back({"bom", item.node + " " + item.name, Level::kUnknown, item.unknown});
  }
  Emit(context, output, doc);
  return code;
}

ExitCode BomDiffFiles(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string was_file, is_file;
  Args args("bom diff", "What changed between a record and another one, or the site as it is now");
  site_option.AddTo(args);
  args.Positional("WAS", was_file, "A record (CycloneDX JSON)");
  args.Positional("IS", is_file, "A later record (default: the site now)", false);
  output.AddTo(args);
  args.Example("muster bom diff accepted.json --site site.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto was = ReadBom(context, was_file);
  if (!was.ok()) return Complain(context, was.error());
  const auto is = BomOf(context, site_option, is_file, {});
  if (!is.ok()) return Complain(context, is.error());
  Document doc;
  doc.kind = "BomDiff";
  Rows rows = Rows::array();
  Table table({"NODE", "PART", "WAS", "IS", ""});
  bool changed = false, unknown = false;
  for (const BomChange& change : DiffBom(*was, *is)) {
    changed = changed || !change.unknown;
    unknown = unknown || change.unknown;
    const std::string note = change.unknown       ? "not known: cannot be compared"
                             : change.was.empty() ? "new"
                             : change.is.empty()  ? "gone"
                                                  : "changed";
    table.Row({OrDash(change.node), change.name, OrDash(change.was), OrDash(change.is), note});
    rows.push_back({{"node", change.node},
                    {"part", change.name},
                    {"was", change.was},
                    {"is", change.is},
                    {"unknown", change.unknown}});
    doc.cases.push_back({"bom", change.node + " " + change.name,
                         change.unknown ? Level::kUnknown : Level::kFail, note});
  }
  *doc.json = {{"was", was->serial},
               {"is", is->serial},
               {"origin", ToString(is->origin)},
               {"changes", rows}};
  doc.table = rows.empty() ? "nothing changed\n" : table.ToString();
  Emit(context, output, doc);
  return changed ? ExitCode::kFail : unknown ? ExitCode::kUnknown : ExitCode::kDone;
}

ExitCode BomCheckSite(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string bom_file, table_file;
  Args args("bom check",
            "Drift between nodes of one kind, and versions below a dated table of minimums");
  site_option.AddTo(args);
  args.Option("--bom", bom_file, "FILE", "A record instead of the site as it is now");
  args.Option("--table", table_file, "FILE",
              "A newer table of minimum versions, as catalogue/minimum_versions.yaml");
  output.AddTo(args);
  args.Example("muster bom check --site site.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  Result<MinimumTable> minimums = EmbeddedMinimumTable();
  if (!table_file.empty()) {
    const auto text = context.world.files.Read(table_file);
    if (!text.ok()) return Complain(context, text.error());
    minimums = ParseMinimumTable(*text, table_file);
  }
  if (!minimums.ok()) return Complain(context, minimums.error());
  const auto bom = BomOf(context, site_option, bom_file, {});
  if (!bom.ok()) return Complain(context, bom.error());

  Document doc;
  doc.kind = "BomCheck";
  Rows drifts = Rows::array(), findings = Rows::array();
  Level worst = bom->items.empty() ? Level::kUnknown : Level::kPass;
  Table table({"", "NODE", "PART", "VERSION", ""});
  // One line for what is so of many nodes; the JSON has each.
  std::vector<std::pair<std::array<std::string, 4>, std::vector<std::string>>> lines;
  const auto row = [&](Level level, const std::string& node, const std::string& name,
                       const std::string& version, const std::string& text) {
    worst = Worse(worst, level);
    doc.cases.push_back({"bom", node + " " + name, level, text});
    const std::array<std::string, 4> key = {LevelWord(context, level), name, version, text};
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == key; });
    if (line == lines.end()) line = lines.insert(lines.end(), {key, {}});
    line->second.push_back(node);
  };
  for (const BomDrift& drift : DriftWithin(*bom, KindsOfNodes(context, site_option))) {
    Rows odd = Rows::array();
    for (const auto& [node, version] : drift.odd) {
      odd.push_back({{"node", node}, {"version", version}});
      row(Level::kFail, node, drift.name, version,
          fmt::format("drift: {} node{} run {}", drift.usual_nodes,
                      drift.usual_nodes == 1 ? "" : "s", OrDash(drift.usual)));
    }
    drifts.push_back({{"part", drift.name}, {"usual", drift.usual}, {"odd", odd}});
  }
  for (const BomFinding& finding : HoldToMinimums(*bom, *minimums, context.world.clock.Now())) {
    row(finding.level, finding.node, finding.name, finding.version, finding.text);
    findings.push_back({{"verdict", ToString(finding.level)},
                        {"node", finding.node},
                        {"part", finding.name},
                        {"version", finding.version},
                        {"text", finding.text},
                        {"source", finding.source}});
  }
  for (const auto& [key, nodes] : lines) {
    const std::string who = nodes.size() < 2
                                ? OrDash(nodes.front())
                                : fmt::format("{} +{}", nodes.front(), nodes.size() - 1);
    table.Row({key[0], who, key[1], OrDash(key[2]), key[3]});
  }
  *doc.json = {{"verdict", ToString(worst)},
               {"origin", ToString(bom->origin)},
               {"table_as_of", minimums->as_of},
               {"drift", drifts},
               {"minimums", findings}};
  doc.table = fmt::format("{} parts, minimum versions as of {} ({})\n\n{}", bom->items.size(),
                          minimums->as_of, ToString(bom->origin),
                          drifts.empty() && findings.empty() ? "no drift, nothing below a minimum\n"
                                                             : table.ToString());
  Emit(context, output, doc);
  return ExitCodeFor(worst, false);
}

}  // namespace muster::cli
