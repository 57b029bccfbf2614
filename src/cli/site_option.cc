#include "cli/site_option.h"

#include "cli/output.h"

namespace muster::cli {

void SiteOption::AddTo(Args& args) {
  args.Option("-s,--site", file, "FILE",
              "Site file (default: $MUSTER_SITE, ./site.yaml, ./muster-lab/site.yaml)");
}

std::optional<ExitCode> SiteOption::Begin(const Invocation& invocation, Args& args) {
  if (auto stop = cli::Begin(invocation, args)) return stop;
  const auto found = File(invocation.context);
  if (!found.ok()) return Complain(invocation.context, found.error());
  file = *found;
  return std::nullopt;
}

Result<std::string> SiteOption::File(const Context& context) const {
  if (!file.empty()) return file;
  if (!context.default_site.empty()) return context.default_site;
  return Fail(Code::kInvalid,
              "no site: name one with --site FILE, or make one with `muster init --kind lab --out "
              "site.yaml`");
}

Result<SiteContext> SiteOption::Open(const Context& context, bool modelled_telemetry) const {
  TRY(const std::string path, File(context));
  return OpenSite(path, context.world, {context.self_binary, modelled_telemetry});
}

}  // namespace muster::cli
