#include "kube/object.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json_reader.h"

namespace muster::kube {

const std::string* Meta::Annotation(std::string_view key) const {
  const auto found = annotations.find(key);
  return found == annotations.end() ? nullptr : &found->second;
}

const std::string* Meta::Label(std::string_view key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

uint64_t VersionNumber(std::string_view resource_version) {
  uint64_t number = 0;
  for (const char c : resource_version) {
    if (c < '0' || c > '9' || number > (UINT64_MAX - 9) / 10) return 0;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

Result<Ident> ReadIdent(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  const View metadata = View(root)["metadata"];
  const std::string name = metadata["name"].Text(), ns = metadata["namespace"].Text();
  if (name.empty()) return Fail(Code::kParse, "an object without a name");
  return Ident{ns.empty() ? name : ns + "/" + name, metadata["uid"].Text(),
               VersionNumber(metadata["resourceVersion"].Text())};
}

Result<Object> DecodeObject(std::string_view json) {
  TRY(const Element root, ParseJson(json));
  Object object;
  TRY(object.meta, ReadMeta(View(root)));
  object.api_version = View(root)["apiVersion"].Text();
  object.kind = View(root)["kind"].Text();
  object.json = json;
  return object;
}

std::optional<std::string> ValueAt(std::string_view json, std::string_view pointer) {
  const auto root = ParseJson(json);
  if (!root.ok()) return std::nullopt;
  Element found;
  if (root->at_pointer(pointer).get(found) != simdjson::SUCCESS) return std::nullopt;
  std::string_view text;
  if (found.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(found);
}

}  // namespace muster::kube
