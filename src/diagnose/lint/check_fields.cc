// Fields that the API does not have, and objects that are there twice.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"

namespace muster::lint {

namespace {

// `type` as the table writes it: a name, "[]name", "{}name", "?" or "".
void Walk(Context& c, const Document& doc, const YamlNode& node, std::string_view type,
          const std::string& path) {
  if (type.empty() || type == "?" || node.IsNull()) return;
  if (StartsWith(type, "[]")) {
    for (const YamlNode& item : node.items) Walk(c, doc, item, type.substr(2), path);
    return;
  }
  if (StartsWith(type, "{}")) {
    for (const YamlEntry& e : node.entries)
      Walk(c, doc, e.value, type.substr(2), path + "." + e.key);
    return;
  }
  const auto fields = c.rules.types.find(type);
  if (fields == c.rules.types.end()) return;
  if (node.kind != YamlNode::Kind::kMapping) {
    c.Say("LINT-004", doc, node, fmt::format("{}: expected a mapping", path));
    return;
  }
  for (const YamlEntry& e : node.entries) {
    const auto field = fields->second.find(e.key);
    const std::string here = path.empty() ? e.key : path + "." + e.key;
    if (field != fields->second.end()) {
      Walk(c, doc, e.value, field->second, here);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [name, unused] : fields->second) names.push_back(name);
    const auto near = Nearest(e.key, names);
    Context::Edits fix;
    const std::string_view text = c.TextOfFile(doc.file);
    const size_t offset = OffsetOf(text, e.at);
    if (near && node.Find(*near) == nullptr && offset != std::string_view::npos &&
        text.substr(offset, e.key.size()) == e.key)
      fix = {{doc.file, offset, e.key.size(), *near}};
    YamlNode at;
    at.at = e.at;
    c.Say("LINT-001", doc, at,
          fmt::format("{} is no field of {}{}", Shorten(Printable(here), 80), doc.kind_name,
                      near ? ", did you mean " + *near : ""),
          std::move(fix));
  }
}

}  // namespace

void CheckFields(Context& c) {
  std::map<std::string, const Document*> seen;
  for (const Document* doc : c.docs) {
    const std::string api = doc->group.empty() ? doc->version : doc->group + "/" + doc->version;
    if (const auto type = c.rules.kinds.find(api + "/" + doc->kind_name);
        type != c.rules.kinds.end())
      Walk(c, *doc, doc->root, type->second, "");
    if (doc->name.empty()) continue;
    const std::string key =
        fmt::format("{}/{}/{}/{}", doc->group, doc->kind_name, NamespaceOf(*doc), doc->name);
    const auto [first, added] = seen.emplace(key, doc);
    if (!added)
      c.Say("LINT-003", *doc, At(doc->root, "metadata.name"),
            fmt::format("{} is also in {}:{}; the later one overwrites it", doc->Title(),
                        first->second->file, first->second->root.at.line));
  }
}

}  // namespace muster::lint
