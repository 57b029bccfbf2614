#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bom_image.h"
#include "cli/bom/bom.h"
#include "cli/bom/record.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode BomImageRoot(const Invocation& invocation) {
  OutputOptions output;
  std::string root, out;
  Args args("bom image", "What a container image of Muster holds, as CycloneDX JSON");
  args.Positional("ROOT", root,
                  "The image's file system, as packaging/kubernetes/image.sh makes it");
  args.Option("--out", out, "FILE", "Where the record goes (default: standard output)");
  output.AddTo(args);
  args.Example("muster bom image build/image/rootfs --out sbom.json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto bom = BomOfImage(context.world.files, root, context.world.clock.Now());
  if (!bom.ok()) return Complain(context, bom.error());
  if (out.empty()) {
    context.out << ToCycloneDx(*bom);
    return ExitCode::kDone;
  }
  auto recorded = WriteBomRecord(context, *bom, out, 0);
  if (!recorded.ok()) return Complain(context, recorded.error());
  Document& doc = *recorded;
  doc.table = fmt::format("{} parts recorded in {}\n", bom->items.size(), out);
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
