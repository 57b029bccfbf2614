#include "cli/pool/pool.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/pool.h"
#include "app/site_file.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode PoolReadiness(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string kubelet_file;
  Args args("pool",
            "The readiness sheet of a pool: NUMA domains, nearest adapters, valid and refused "
            "shapes, policy");
  site_option.AddTo(args);
  args.Option("--kubelet-config", kubelet_file, "FILE",
              "The KubeletConfiguration of the nodes: its policy then decides the shapes");
  output.AddTo(args);
  args.Example("muster pool --site site.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::optional<KubeletPolicy> kubelet;
  if (!kubelet_file.empty()) {
    auto text = context.world.files.Read(kubelet_file);
    if (!text.ok()) return Complain(context, text.error());
    auto read = ReadKubeletPolicy(std::move(*text), kubelet_file);
    if (!read.ok()) return Complain(context, read.error());
    kubelet = std::move(*read);
  }
  auto site = site_option.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());

  Document doc;
  doc.kind = "PoolSheets";
  nlohmann::ordered_json sheets = nlohmann::ordered_json::array();
  Level worst = Level::kPass;
  for (const PoolSheet& sheet : PoolSheets(site->site(), kubelet)) {
    nlohmann::ordered_json answers = nlohmann::ordered_json::array();
    doc.table += fmt::format("{}  {} node{}\n\n", Bold(context, sheet.name), sheet.nodes.size(),
                             sheet.nodes.size() == 1 ? "" : "s");
    for (const PoolAnswer& answer : sheet.answers) {
      const std::string said = answer.who.empty()
                                   ? answer.answer
                                   : fmt::format("{}; would tell: {}", answer.answer, answer.who);
      doc.table += fmt::format("  {:<7}  {:<37}  {}\n", LevelWord(context, answer.level),
                               answer.question, Folded(context, said, 50));
      answers.push_back({{"question", answer.question},
                         {"answer", answer.answer},
                         {"verdict", ToString(answer.level)},
                         {"would_tell", answer.who}});
      doc.cases.push_back({sheet.name, answer.question, answer.level, answer.answer});
      if (answer.level == Level::kFail) worst = Level::kFail;
    }
    doc.table += "\n";
    sheets.push_back({{"class", sheet.name},
                      {"nodes", sheet.nodes},
                      {"valid_shapes", sheet.valid},
                      {"answers", answers}});
  }
  (*doc.json)["pools"] = sheets;
  Emit(context, output, doc);
  return ExitCodeFor(worst, false);
}

}  // namespace muster::cli
