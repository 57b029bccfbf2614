#include "cli/sched/shapes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_shapes.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

namespace {

Json ClassJson(const NodeClassShapes& shapes) {
  const numa::ShapeSheet& sheet = shapes.sheet;
  Json json = {{"nodes", shapes.nodes}, {"resource", sheet.resource}};
  if (!shapes.unknown.empty()) {
    json["unknown"] = shapes.unknown;
    return json;
  }
  json["layout"] = sheet.layout;
  json["policy"] = ToString(sheet.policy);
  json["valid"] = sheet.valid;
  json["shapes"] = Json::array();
  for (const numa::ShapeVerdict& verdict : sheet.verdicts) {
    Json one = {{"count", verdict.count}, {"admitted", verdict.admitted}};
    if (verdict.admitted) {
      one["per_node"] = verdict.per_node;
      one["zones"] = verdict.zones;
    } else {
      one["kubelet"] = verdict.kubelet;
      one["why"] = verdict.why;
    }
    json["shapes"].push_back(std::move(one));
  }
  json["other_policies"] = Json::object();
  for (const auto& other : sheet.others) {
    json["other_policies"][std::string(ToString(other.policy))] = other.valid;
  }
  return json;
}

std::string NodesText(const std::vector<std::string>& nodes) {
  if (nodes.size() == 1) return nodes[0];
  return fmt::format("{} like {}", nodes.size(), nodes[0]);
}

// Refusals that have one reason stand in one line: "5, 6, 7, 8: no NUMA zone ...".
std::string RefusalsText(const numa::ShapeSheet& sheet) {
  std::string text;
  for (size_t i = 0; i < sheet.verdicts.size();) {
    std::vector<int> counts;
    const numa::ShapeVerdict& first = sheet.verdicts[i];
    while (i < sheet.verdicts.size() && sheet.verdicts[i].admitted == first.admitted &&
           sheet.verdicts[i].why == first.why) {
      counts.push_back(sheet.verdicts[i++].count);
    }
    if (first.admitted) continue;
    text += fmt::format("  {}: {} ({})\n", numa::FormatCounts(counts), first.why, first.kubelet);
  }
  return text;
}

}  // namespace

ExitCode SchedShapes(const Invocation& invocation) {
  OutputOptions output;
  ShapesRequest request;
  Args args("sched shapes",
            "Which GPU counts a node class admits, and why its kubelets refuse the others");
  args.Required("--nodes", request.file, "FILE", "A cluster script; its node.add lines are read");
  args.Option("--resource", request.resource, "NAME",
              "Device resource to count (default: every resource of whole GPUs)");
  args.Option("--with", request.per_unit, "RESOURCE=AMOUNT",
              "What goes with each device: rdma/ib=1, cpu=12, memory=64Gi");
  output.AddTo(args);
  args.Example("muster sched shapes --nodes cluster.jsonl --with rdma/ib=1,cpu=12,memory=128Gi");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto report = NodeShapes(context.world.files, request);
  if (!report.ok()) return Complain(context, report.error());

  Document doc;
  doc.kind = "NodeShapes";
  Json list = Json::array();
  Table table({"NODES", "RESOURCE", "LAYOUT", "POLICY", "VALID"});
  std::string refusals, others;
  bool unknown = false;
  for (const NodeClassShapes& shapes : report->classes) {
    list.push_back(ClassJson(shapes));
    const std::string nodes = NodesText(shapes.nodes);
    const numa::ShapeSheet& sheet = shapes.sheet;
    if (!shapes.unknown.empty()) {
      unknown = true;
      table.Row({nodes, sheet.resource, "", "", "unknown: " + shapes.unknown});
      doc.cases.push_back({"shapes", nodes, Level::kUnknown, shapes.unknown});
      continue;
    }
    table.Row({nodes, sheet.resource, sheet.layout, std::string(ToString(sheet.policy)),
               numa::FormatCounts(sheet.valid)});
    doc.cases.push_back({"shapes", nodes, Level::kPass, numa::FormatCounts(sheet.valid)});
    if (const std::string text = RefusalsText(sheet); !text.empty()) {
      refusals +=
          fmt::format("\n{} {} refused on {}:\n{}", sheet.resource, sheet.layout, nodes, text);
    }
    for (const auto& other : sheet.others) {
      if (other.valid == sheet.valid) continue;
      others += fmt::format("  {} under {}: {}\n", nodes, ToString(other.policy),
                            numa::FormatCounts(other.valid));
    }
  }
  (*doc.json)["classes"] = std::move(list);
  (*doc.json)["without"] = report->without;
  doc.table = table.ToString() + refusals;
  if (!others.empty()) doc.table += "\nother policies would take:\n" + others;
  if (!report->without.empty()) {
    doc.table += fmt::format("\nwithout such a resource: {}\n", NodesText(report->without));
  }
  Emit(context, output, doc);
  return unknown ? ExitCode::kUnknown : ExitCode::kDone;
}

}  // namespace muster::cli
