#include "cli/nccl_profile/nccl_profile.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/nccl_profile.h"
#include "app/site_file.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

Json VariableJson(const NcclVariable& v) {
  Json json = {{"name", v.name}};
  if (!v.value.empty()) json["value"] = v.value;
  json["why"] = v.why;
  json["source"] = v.source;
  return json;
}

// A file for `docker --env-file`, `env $(...)` or a ConfigMap: the reasons stay as comments.
std::string EnvFile(const NcclProfile& made) {
  std::string text =
      fmt::format("# NCCL {} profile for {}\n", made.profile, Printable(made.node_type));
  for (const NcclVariable& v : made.variables)
    text += fmt::format("# {}\n{}={}\n", v.why, v.name, Printable(v.value));
  return text;
}

}  // namespace

ExitCode PrintNcclProfile(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string profile = "production", node;
  Args args("nccl-profile",
            "The NCCL environment of a node type: each variable with its reason, and what is left "
            "to NCCL");
  site_option.AddTo(args);
  args.Choice("--profile", profile, {"production", "debug"},
              "production: quiet, no TCP; debug: for validation and incidents");
  args.Option("--node", node, "NODE", "A node of the type, where the site has several types");
  args.Choice("-o,--output", output.format, {"table", "env", "yaml", "json", "junit", "short"},
              "Form of the output; env is NAME=value lines, short the same without comments");
  args.Example("muster nccl-profile --site site.yaml -o env");
  args.Example("muster nccl-profile --site site.yaml --profile debug");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto loaded = ReadSiteFile(context.world.files, site_option.file);
  if (!loaded.ok()) return Complain(context, loaded.error());
  const auto made = MakeNcclProfile(loaded->site, profile, node);
  if (!made.ok()) {
    Complain(context, made.error());
    return made.error().code == Code::kNotFound ? ExitCode::kUsage : ExitCodeFor(made.error());
  }
  for (const std::string& note : made->notes) context.err << "muster: " << note << "\n";
  if (output.format == "env") {
    context.out << EnvFile(*made);
    context.out.flush();
    return ExitCode::kDone;
  }
  Document doc;
  doc.kind = "NcclProfile";
  Json variables = Json::array(), left = Json::array();
  Table table({"VARIABLE", "VALUE", "WHY"}), left_table({"LEFT TO NCCL", "WHY"});
  for (const NcclVariable& v : made->variables) {
    variables.push_back(VariableJson(v));
    table.Row({v.name, Printable(v.value), v.why});
    doc.brief += fmt::format("{}={}\n", v.name, Printable(v.value));
    doc.cases.push_back({"nccl-profile", v.name, Level::kPass, v.value});
  }
  for (const NcclVariable& v : made->left_alone) {
    left.push_back(VariableJson(v));
    left_table.Row({v.name, v.why});
  }
  *doc.json = {{"profile", made->profile}, {"node_type", made->node_type}, {"nodes", made->nodes},
               {"variables", variables},   {"left_alone", left},           {"notes", made->notes}};
  doc.table = fmt::format("{} profile for {} ({} nodes)\n\n{}\n{}", made->profile,
                          Printable(made->node_type), made->nodes.size(), table.ToString(),
                          left_table.ToString());
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
