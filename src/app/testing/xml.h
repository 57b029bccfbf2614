// Whether a text is well-formed XML, as far as tests of our own output need it: one tree, every tag
// closed, attributes quoted and never twice, no bare < or &, no control characters.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::testing {

namespace xml {

inline bool NameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == ':' ||
         c == '.';
}
inline std::string_view Name(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && NameChar(text[n])) ++n;
  return text.substr(0, n);
}
// Text between tags, or the value of an attribute.
inline std::string TextProblem(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 && c != '\n' && c != '\t') return "a control character";
    if (c == '<') return "a bare <";
    if (c != '&') continue;
    const size_t end = text.find(';', i);
    if (end == std::string_view::npos || end - i > 8) return "a bare &";
    const std::string_view entity = text.substr(i + 1, end - i - 1);
    if (!entity.starts_with("#") && entity != "amp" && entity != "lt" && entity != "gt" &&
        entity != "quot" && entity != "apos")
      return "the entity " + std::string(entity);
  }
  return "";
}
inline std::string AttributesProblem(std::string_view text) {
  std::set<std::string_view> seen;
  while (true) {
    const size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string_view::npos) return "";
    text.remove_prefix(begin);
    const std::string_view name = Name(text);
    if (name.empty()) return "no attribute where one should be: " + std::string(text.substr(0, 20));
    if (!seen.insert(name).second) return "the attribute " + std::string(name) + " twice";
    text.remove_prefix(name.size());
    if (!text.starts_with("=\"")) return "an attribute without quotes: " + std::string(name);
    const size_t end = text.find('"', 2);
    if (end == std::string_view::npos) return "an open attribute: " + std::string(name);
    if (std::string problem = TextProblem(text.substr(2, end - 2)); !problem.empty())
      return problem;
    text.remove_prefix(end + 1);
  }
}

}  // namespace xml

// What is wrong with the text; empty when nothing is. The empty text is fine.
inline std::string XmlProblem(std::string_view text) {
  std::vector<std::string_view> open;
  while (!text.empty()) {
    const size_t tag = text.find('<');
    if (std::string problem = xml::TextProblem(text.substr(0, tag)); !problem.empty())
      return problem;
    if (tag == std::string_view::npos) break;
    const size_t end = text.find('>', tag);
    if (end == std::string_view::npos) return "an open tag";
    std::string_view inside = text.substr(tag + 1, end - tag - 1);
    text.remove_prefix(end + 1);
    if (inside.starts_with("?") || inside.starts_with("!")) continue;
    if (inside.starts_with("/")) {
      if (open.empty() || open.back() != inside.substr(1))
        return "</" + std::string(inside.substr(1)) + "> closes nothing";
      open.pop_back();
      continue;
    }
    const bool closed = inside.ends_with("/");
    if (closed) inside.remove_suffix(1);
    const std::string_view name = xml::Name(inside);
    if (name.empty()) return "a tag without a name";
    if (std::string problem = xml::AttributesProblem(inside.substr(name.size())); !problem.empty())
      return problem + " in <" + std::string(name) + ">";
    if (!closed) open.push_back(name);
  }
  return open.empty() ? "" : "<" + std::string(open.back()) + "> is never closed";
}

}  // namespace muster::testing
