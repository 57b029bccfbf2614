#include "kube/resource.h"

#include <fmt/format.h>

namespace muster::kube {

std::string Resource::ApiVersion() const { return group.empty() ? version : group + "/" + version; }

std::string Resource::Title() const { return group.empty() ? plural : plural + "." + group; }

std::string Resource::Path(std::string_view ns, std::string_view name,
                           std::string_view subresource) const {
  std::string path = group.empty()
                         ? fmt::format("/api/{}", PercentEncode(version))
                         : fmt::format("/apis/{}/{}", PercentEncode(group), PercentEncode(version));
  if (namespaced && !ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  path += "/" + PercentEncode(plural);
  if (!name.empty()) path += "/" + PercentEncode(name);
  if (!subresource.empty()) path += "/" + PercentEncode(subresource);
  return path;
}

std::string PercentEncode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '~' ||
                       (c == '.' && text != "." && text != "..");
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace muster::kube
