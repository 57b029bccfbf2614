#include "cli/advise/advise.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/advise.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode AdviseControl(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> words;
  Args args("advise",
            "From a failure or a workload, in your words, to the control that answers it");
  args.Rest("WORDS", words,
            "What happens (\"ranks pending\", \"TopologyAffinityError\"); none = all");
  output.AddTo(args);
  args.Example("muster advise NCCL falls back to TCP");
  args.Example("muster advise partial-gang");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto all = EmbeddedAdvice();
  if (!all.ok()) return Complain(context, all.error());
  const std::string asked = Join(words, " ");
  const auto fits = Advise(*all, asked);
  if (fits.empty())
    return Complain(context, Code::kNotFound,
                    fmt::format("nothing fits \"{}\"; `muster advise` lists what is known", asked));
  Document doc;
  doc.kind = "Advice";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  Table table({"WHEN", "NAME", "SITUATION"});
  for (const Advice& a : fits) {
    list.push_back({{"id", a.id},
                    {"situation", a.situation},
                    {"control", a.control},
                    {"acts", ActsWhen(a.acts)},
                    {"why", a.why},
                    {"does_not", a.does_not},
                    {"validate", a.validate},
                    {"next", a.next},
                    {"source", a.source}});
    table.Row({std::string(ActsWhen(a.acts)), a.id, a.situation});
    doc.cases.push_back({"advise", a.id, Level::kPass, a.control});
    if (asked.empty()) continue;
    doc.table += fmt::format("{}  {}\n\n", Bold(context, a.id), a.situation);
    const std::pair<const char*, std::string> kFields[] = {
        {"use", a.control},       {"acts", std::string(ActsWhen(a.acts))},
        {"why", a.why},           {"does not", a.does_not},
        {"validate", a.validate}, {"next", a.next},
        {"source", a.source}};
    for (const auto& [name, text] : kFields)
      doc.table += fmt::format("  {:<8}  {}\n", name, Folded(context, text, 12));
    doc.table += "\n";
  }
  (*doc.json)["advice"] = list;
  if (asked.empty()) doc.table = table.ToString();
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
