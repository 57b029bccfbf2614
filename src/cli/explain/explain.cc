#include "cli/explain/explain.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/explain.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode ExplainCode(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> words;
  Args args("explain",
            "What a code means: why it matters, how it is measured, threshold and source, fix, "
            "next command");
  args.Rest("CODE", words,
            "A criterion (FAB-004), a gate (gate-2), an Xid (XID-79), a fact (gpu.count), a lab "
            "fault, a term of the glossary (busbw, bus bandwidth)",
            true);
  output.AddTo(args);
  args.Example("muster explain FAB-004");
  args.Example("muster explain XID-79");
  args.Example("muster explain busbw");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto found = Explain(Join(words, " "));
  if (!found.ok()) return Complain(context, found.error());
  Document doc;
  doc.kind = "Explanation";
  *doc.json = {{"code", found->code}, {"title", found->title}, {"about", found->kind}};
  doc.table = fmt::format("{}  {}\n\n", Bold(context, found->code), found->title);
  for (const auto& [name, text] : found->fields) {
    (*doc.json)[name] = text;
    doc.table += fmt::format("  {:<12}  {}\n", name, Folded(context, text, 16));
  }
  doc.cases = {{"explain", found->code, Level::kPass, found->title}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
