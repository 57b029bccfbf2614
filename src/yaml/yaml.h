// The one place where YAML is read: catalogue, site files and manifests alike. Text becomes a tree
// that knows line and column; duplicate keys, tags and deep nesting are refused, `<<` merge keys
// are applied, and numbers are read here (the wrapped library keeps the first of two equal keys,
// leaves `<<` alone and reads 0100 as 64).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/unit.h"

namespace muster {

// Both from 1; 0 = the whole file.
struct YamlMark {
  int line = 0, column = 0;
  bool operator==(const YamlMark&) const = default;
};

struct YamlEntry;
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  YamlMark at;
  std::string text;                // kScalar
  bool quoted = false;             // kScalar: "12" is a text, 12 is a number
  std::vector<YamlNode> items;     // kSequence
  std::vector<YamlEntry> entries;  // kMapping, in the order of the file; merged ones last

  const YamlNode* Find(std::string_view key) const;
  bool IsNull() const { return kind == Kind::kNull; }
};
struct YamlEntry {
  std::string key;
  YamlMark at;
  YamlNode value;
};

inline constexpr int kYamlMaxDepth = 64;            // of nesting
inline constexpr size_t kYamlMaxBytes = 16u << 20;  // of text
inline constexpr size_t kYamlMaxNodes = 1u << 19;   // after aliases are filled in

// The tree of the only document in `text`; an empty text is a null node. kInvalid:
// "file:line:column: what, expected what".
Result<YamlNode> ParseYaml(std::string_view text, std::string_view file);
// All documents of `text`, in order, without the empty ones. Anchors end with their document. The
// limits above hold for the text as a whole, kYamlMaxNodes for each document.
Result<std::vector<YamlNode>> ParseYamlDocuments(std::string_view text, std::string_view file);

// What is wrong with a document, collected so that a person sees all of it at once.
struct YamlFinding {
  std::string file;
  YamlMark at;
  std::string what;
  std::string ToString() const;  // "site.yaml:3:5: unknown key nodez, did you mean nodes"
};
using YamlFindings = std::vector<YamlFinding>;
// One line a finding, in the order of the file, as one kInvalid error; fine when there are none.
Status ToStatus(const YamlFindings& findings);

// Scalars. kInvalid says what was expected; the place is added by the caller (YamlReader does).
Result<bool> YamlBool(const YamlNode& node);  // true or false
Result<int64_t> YamlInt(
    const YamlNode& node);  // decimal; 0100 is refused, since programs differ on it
Result<double> YamlReal(const YamlNode& node);       // decimal or exponent form, finite
Result<std::string> YamlText(const YamlNode& node);  // any scalar, as it is written
// "400 Gb/s", "92 %", "15s"; a bare number is a count. `unit` is what it must come to.
Result<Quantity> YamlQuantity(const YamlNode& node, std::optional<Unit> unit = std::nullopt);
Result<Duration> YamlDuration(const YamlNode& node);

// Reads one mapping strictly. Each getter marks its key as known; a problem becomes a finding and
// the getter gives a harmless value. Done() then reports every key nobody asked for. The node, the
// name and the findings must outlive the reader.
class YamlReader {
 public:
  YamlReader(const YamlNode& node, std::string_view file, YamlFindings& findings);

  // Required.
  std::string Text(std::string_view key);
  int64_t Int(std::string_view key);
  // Optional: `otherwise` when the key is absent or null.
  std::string TextOr(std::string_view key, std::string_view otherwise);
  int64_t IntOr(std::string_view key, int64_t otherwise);
  double RealOr(std::string_view key, double otherwise);
  bool BoolOr(std::string_view key, bool otherwise);
  Duration DurationOr(std::string_view key, Duration otherwise);
  std::optional<Quantity> QuantityIfAny(std::string_view key,
                                        std::optional<Unit> unit = std::nullopt);
  std::vector<std::string> TextsOr(std::string_view key, std::vector<std::string> otherwise = {});
  std::vector<int64_t> IntsOr(std::string_view key, std::vector<int64_t> otherwise = {});

  // The value under a key, for what has a shape of its own; nullptr when absent (or null).
  const YamlNode* Child(std::string_view key);
  const YamlNode* NeedChild(std::string_view key);
  // The elements of a list under a key; nothing (and a finding) when it is something else. Absent =
  // none.
  const std::vector<YamlNode>& Items(std::string_view key);

  // Any Parse function of the house (ParseSubjectKind, ParseUnit, ...) applied to a text.
  template <typename T>
  T Parsed(std::string_view key, Result<T> (*parse)(std::string_view), T otherwise) {
    const YamlNode* node = Child(key);
    if (node == nullptr) return otherwise;
    auto text = YamlText(*node);
    if (!text.ok()) return Bad(*node, key, text.error().message), otherwise;
    auto value = parse(*text);
    if (!value.ok()) return Bad(*node, key, value.error().message), otherwise;
    return std::move(*value);
  }

  // A finding about this mapping, or about a node in it.
  void Say(std::string what);
  void SayAt(const YamlNode& node, std::string what);
  // Unknown keys become findings, with the nearest known one.
  void Done();
  bool Has(std::string_view key) const { return node_.Find(key) != nullptr; }
  const YamlNode& node() const { return node_; }
  std::string_view file() const { return file_; }

 private:
  void Bad(const YamlNode& node, std::string_view key, std::string_view what);
  void Missing(std::string_view key);

  const YamlNode& node_;
  std::string_view file_;
  YamlFindings& findings_;
  std::vector<std::string> known_;
};

}  // namespace muster
