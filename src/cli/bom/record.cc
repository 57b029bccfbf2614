#include "cli/bom/record.h"

#include <nlohmann/json.hpp>

namespace muster::cli {

Result<Document> WriteBomRecord(Context& context, const Bom& bom, const std::string& file,
                                size_t unknown) {
  TRY_VOID(context.world.files.WriteAtomic(file, ToCycloneDx(bom)));
  Document doc;
  doc.kind = "BomRecord";
  *doc.json = {{"file", file},
               {"serial", bom.serial},
               {"origin", ToString(bom.origin)},
               {"items", bom.items.size()},
               {"unknown", unknown}};
  return doc;
}

}  // namespace muster::cli
