#include "catalogue/embedded.h"

#include "base/digest.h"

namespace muster {

std::optional<std::string_view> FindEmbedded(std::string_view name) {
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    if (file.name == name) return file.text;
  }
  return std::nullopt;
}

std::string EmbeddedDigest() {
  std::string all;
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    all += file.name;
    all += '\n';
    all += Sha256Hex(file.text);
    all += '\n';
  }
  return Sha256Hex(all);
}

}  // namespace muster
