#include "cli/version/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catalogue/embedded.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode Version(const Invocation& invocation) {
  OutputOptions output;
  Args args("version", "Version of this binary and digest of the catalogue inside it");
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Document doc;
  doc.kind = "Version";
  *doc.json = {{"version", MUSTER_VERSION}, {"catalogue_sha256", EmbeddedDigest()}};
  doc.table =
      fmt::format("muster {}  catalogue {}\n", MUSTER_VERSION, EmbeddedDigest().substr(0, 16));
  doc.cases = {{"version", MUSTER_VERSION, Level::kPass, ""}};
  Emit(invocation.context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
