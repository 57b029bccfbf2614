#include "app/bom_image.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"

namespace muster {

Result<Bom> BomOfImage(Files& files, const std::string& root, TimePoint at) {
  const std::string folder = root + "/var/lib/dpkg/status.d";
  TRY(const std::vector<FileInfo> list, files.List(folder).Context("the packages of the image"));
  Bom bom;
  bom.site = "image";
  bom.at = at;
  bom.items.push_back({"image", "muster", MUSTER_VERSION, ""});
  for (const FileInfo& info : list) {
    if (info.is_directory) continue;
    const std::string path = folder + "/" + info.name;
    TRY(const std::string text, files.Read(path, 1u << 20));
    std::string name, version;
    for (const std::string_view line : Lines(text)) {
      if (const auto value = After(line, "Package: ")) name = std::string(Trim(*value));
      if (const auto value = After(line, "Version: ")) version = std::string(Trim(*value));
    }
    if (name.empty() || version.empty())
      return Fail(Code::kInvalid, path + ": expected lines Package: and Version:");
    bom.items.push_back({"image", "package:" + name, version, ""});
  }
  if (bom.items.size() == 1) return Fail(Code::kNotFound, folder + " has no packages");
  std::sort(bom.items.begin() + 1, bom.items.end(),
            [](const BomItem& a, const BomItem& b) { return a.name < b.name; });
  std::string all;
  for (const BomItem& item : bom.items) all += item.name + "=" + item.version + "\n";
  const std::string hex = Sha256Hex(all);
  bom.serial = fmt::format("urn:uuid:{}-{}-8{}-8{}-{}", hex.substr(0, 8), hex.substr(8, 4),
                           hex.substr(13, 3), hex.substr(17, 3), hex.substr(20, 12));
  return bom;
}

}  // namespace muster
