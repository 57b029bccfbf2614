#include "plan/templates.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

TemplateValues ValuesFor(const Subject& on, const std::string& identity,
                         const std::map<std::string, std::string>& inputs) {
  TemplateValues values = inputs;
  values["node"] = std::string(on.Host());
  if (const size_t at = on.id.find("/gpu"); on.kind == SubjectKind::kGpu && at != std::string::npos)
    values["gpu"] = on.id.substr(at + 4);
  if (!identity.empty()) values["uuid"] = identity.substr(0, identity.find(' '));
  return values;
}

Result<std::string> FillTemplate(std::string_view text, const TemplateValues& values) {
  std::string filled;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '{') {
      filled += text[++i];
      continue;
    }
    if (text[i] != '{') {
      filled += text[i];
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == std::string_view::npos)
      return Fail(Code::kInvalid, fmt::format("\"{}\": a brace is not closed", Printable(text)));
    const std::string name(text.substr(i + 1, end - i - 1));
    const auto value = values.find(name);
    if (value == values.end())
      return Fail(Code::kInvalid, fmt::format("\"{}\": {} is not known here", Printable(text),
                                              Printable("{" + name + "}")));
    filled += value->second;
    i = end;
  }
  return filled;
}

}  // namespace muster
