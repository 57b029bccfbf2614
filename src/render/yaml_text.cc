#include "render/yaml_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::render {

namespace {

using Json = nlohmann::ordered_json;

// Words that no YAML reader takes for a number, a boolean, a date or syntax.
bool IsPlain(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kMore = "0123456789-_./@";
  if (text.empty() || kLetters.find(text.front()) == std::string_view::npos) return false;
  for (const char c : text) {
    if (kLetters.find(c) == std::string_view::npos && kMore.find(c) == std::string_view::npos)
      return false;
  }
  for (const std::string_view word :
       {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}) {
    if (EqualsIgnoreCase(text, word)) return false;
  }
  return true;
}

std::string Scalar(const Json& v) {
  if (v.is_string() && IsPlain(v.get_ref<const std::string&>())) return v.get<std::string>();
  return v.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A text of several lines that a block keeps exactly: it ends with one line end, no line begins
// with a blank at the top, and nothing in it is a control character.
bool IsBlock(const Json& v) {
  if (!v.is_string()) return false;
  const std::string& text = v.get_ref<const std::string&>();
  if (text.size() < 2 || text.back() != '\n' || text[text.size() - 2] == '\n') return false;
  if (text.front() == ' ' || text.front() == '\n') return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\n' || (c >= ' ' && c < 0x7f); });
}

void AppendBlock(const std::string& text, const std::string& pad, std::string& into) {
  into += "|\n";
  for (const std::string_view line : Lines(text)) {
    if (!line.empty()) into += pad + std::string(line);
    into += '\n';
  }
}

bool IsLeaf(const Json& v) { return v.empty() || !v.is_structured(); }

// A short list of words.
bool IsFlow(const Json& v) {
  if (!v.is_array() || v.empty()) return false;
  size_t length = 0;
  for (const Json& item : v) {
    if (item.is_structured() || IsBlock(item)) return false;
    length += Scalar(item).size() + 2;
  }
  return length <= 60;
}

std::string Flow(const Json& v) {
  std::vector<std::string> words;
  for (const Json& item : v) words.push_back(Scalar(item));
  return "[" + Join(words, ", ") + "]";
}

void Append(const Json& json, const std::string& pad, bool first_in_line, std::string& text) {
  const auto value_of = [&](const Json& value, const std::string& inner) {
    if (IsBlock(value)) {
      text += " ";
      AppendBlock(value.get<std::string>(), inner, text);
    } else if (IsLeaf(value)) {
      text += " " + Scalar(value) + "\n";
    } else if (IsFlow(value)) {
      text += " " + Flow(value) + "\n";
    } else {
      text += "\n";
      Append(value, inner, false, text);
    }
  };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      text += (first_in_line ? "" : pad) + (IsPlain(key) ? key : Json(key).dump()) + ":";
      first_in_line = false;
      value_of(value, pad + "  ");
    }
    return;
  }
  for (const Json& value : json) {
    text += pad + "-";
    if (IsBlock(value)) {
      text += " ";
      AppendBlock(value.get<std::string>(), pad + "  ", text);
    } else if (IsLeaf(value) || IsFlow(value)) {
      text += " " + (IsLeaf(value) ? Scalar(value) : Flow(value)) + "\n";
    } else if (value.is_object()) {
      text += " ";
      Append(value, pad + "  ", true, text);
    } else {
      text += "\n";
      Append(value, pad + "  ", false, text);
    }
  }
}

}  // namespace

std::string ToYamlText(const Json& json) {
  if (!json.is_structured() || json.empty()) return Scalar(json) + "\n";
  std::string text;
  Append(json, "", false, text);
  return text;
}

}  // namespace muster::render
