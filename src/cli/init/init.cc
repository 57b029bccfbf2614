#include "cli/init/init.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/init.h"
#include "base/strings.h"
#include "cli/live_line.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode Init(const Invocation& invocation) {
  OutputOptions output;
  std::string kind = "lab", out = "site.yaml", spec_text, name;
  std::vector<std::string> hosts;
  bool look = false, force = false;
  int seed = 1;
  Args args("init", "Write a commented site file: a lab on this machine, or real hosts");
  args.Choice("--kind", kind, {"lab", "host"}, "What the site is");
  args.Option("--out", out, "FILE", "The site file (default site.yaml)");
  args.Option("--name", name, "NAME", "Name of the site (default: lab for a lab, site for hosts)");
  args.Option("--spec", spec_text, "SPEC",
              "Lab: nodes=4,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400");
  args.Option("--seed", seed, "N", "Lab: seed of its serials, clocks and noise");
  args.Option("--hosts", hosts, "HOSTS",
              "Hosts: addresses as ssh takes them, comma separated (default: this machine)");
  args.Flag("--from-host", look, "Hosts: fill the file by looking at them");
  args.Flag("--force", force, "Overwrite an existing file");
  output.AddTo(args);
  args.Example(
      "muster init --kind lab --spec nodes=16,gpus=8,rails=8,leaves=8,spines=4 --out "
      "lab/site.yaml");
  args.Example("muster init --kind host --hosts gpu-01,gpu-02 --from-host --out site.yaml");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::vector<std::string> notes;
  if (kind == "lab" && !look) {
    const auto spec =
        spec_text.empty() ? Result<ClusterSpec>(ClusterSpec{}) : ParseClusterSpec(spec_text);
    if (!spec.ok()) return Complain(context, Error(spec.error()).Context("--spec"));
    if (auto made = InitLab(context.world, out, name.empty() ? "lab" : name, *spec,
                            static_cast<uint64_t>(seed), force);
        !made.ok()) {
      return Complain(context, made.error());
    }
  } else {
    LiveLine progress(context);
    auto made = InitHost(context.world, out, name, hosts, look, force, progress);
    if (!made.ok()) return Complain(context, made.error());
    notes = *made;
  }
  Document doc;
  doc.kind = "SiteFile";
  *doc.json = {{"file", out}, {"type", look ? "host" : kind}, {"notes", notes}};
  doc.table = fmt::format("{}\n", out);
  for (const std::string& note : notes) doc.table += fmt::format("  {}\n", Printable(note));
  doc.table += fmt::format("next: muster bringup plan --site {}\n", out);
  doc.cases = {{"init", out, Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
