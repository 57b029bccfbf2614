#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

std::string Shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return fmt::format("\"{}\"", Shorten(Printable(node.text), 60));
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMapping:
      return "a mapping";
  }
  return "nothing";
}

tl::unexpected<Error> Expected(std::string_view what, const YamlNode& node) {
  return Fail(Code::kInvalid, fmt::format("expected {}, found {}", what, Shown(node)));
}

bool IsPlain(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar && !node.quoted; }

// 0100 is 100 for some programs and 64 for others; 1_000 and 0x40 are numbers for some only.
bool LeadingZero(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

}  // namespace

Result<bool> YamlBool(const YamlNode& node) {
  if (IsPlain(node) && node.text == "true") return true;
  if (IsPlain(node) && node.text == "false") return false;
  return Expected("true or false", node);
}

Result<int64_t> YamlInt(const YamlNode& node) {
  if (!IsPlain(node)) return Expected("a whole number", node);
  if (LeadingZero(node.text)) return Expected("a whole number without a leading zero", node);
  auto value = ParseInt(node.text);
  if (!value.ok()) return Expected("a whole number", node);
  return value;
}

Result<double> YamlReal(const YamlNode& node) {
  if (!IsPlain(node)) return Expected("a number", node);
  if (LeadingZero(node.text)) return Expected("a number without a leading zero", node);
  auto value = ParseDouble(node.text);
  if (!value.ok()) return Expected("a number", node);
  return value;
}

Result<std::string> YamlText(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar) return Expected("a text", node);
  return node.text;
}

Result<Quantity> YamlQuantity(const YamlNode& node, std::optional<Unit> unit) {
  if (node.kind != YamlNode::Kind::kScalar) return Expected("a number with its unit", node);
  if (LeadingZero(node.text)) return Expected("a number without a leading zero", node);
  TRY(const Quantity quantity, ParseQuantity(node.text));
  if (unit && quantity.unit != *unit) {
    return Expected(*unit == Unit::kCount ? std::string("a bare number")
                                          : fmt::format("a number in {}", ToString(*unit)),
                    node);
  }
  return quantity;
}

Result<Duration> YamlDuration(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar) return Expected("a time span such as 30s or 5m", node);
  return ParseDuration(node.text);
}

YamlReader::YamlReader(const YamlNode& node, std::string_view file, YamlFindings& findings)
    : node_(node), file_(file), findings_(findings) {
  if (node.kind != YamlNode::Kind::kMapping)
    Say(fmt::format("expected a mapping, found {}", Shown(node)));
}

void YamlReader::Say(std::string what) { SayAt(node_, std::move(what)); }
void YamlReader::SayAt(const YamlNode& node, std::string what) {
  findings_.push_back({std::string(file_), node.at, std::move(what)});
}
void YamlReader::Bad(const YamlNode& node, std::string_view key, std::string_view what) {
  SayAt(node, fmt::format("{}: {}", key, what));
}
void YamlReader::Missing(std::string_view key) {
  if (node_.kind == YamlNode::Kind::kMapping) Say(fmt::format("key {} is missing", key));
}

const YamlNode* YamlReader::Child(std::string_view key) {
  known_.emplace_back(key);
  const YamlNode* child = node_.Find(key);
  return child == nullptr || child->IsNull() ? nullptr : child;
}

const YamlNode* YamlReader::NeedChild(std::string_view key) {
  const YamlNode* child = Child(key);
  if (child == nullptr) Missing(key);
  return child;
}

const std::vector<YamlNode>& YamlReader::Items(std::string_view key) {
  static const std::vector<YamlNode> kNone;
  const YamlNode* child = Child(key);
  if (child == nullptr) return kNone;
  if (child->kind != YamlNode::Kind::kSequence) {
    Bad(*child, key, fmt::format("expected a list, found {}", Shown(*child)));
    return kNone;
  }
  return child->items;
}

std::string YamlReader::Text(std::string_view key) {
  const YamlNode* child = NeedChild(key);
  if (child == nullptr) return {};
  auto value = YamlText(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), std::string();
  if (value->empty()) Bad(*child, key, "expected a text, found an empty one");
  return std::move(*value);
}

int64_t YamlReader::Int(std::string_view key) {
  const YamlNode* child = NeedChild(key);
  if (child == nullptr) return 0;
  const auto value = YamlInt(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), 0;
  return *value;
}

std::string YamlReader::TextOr(std::string_view key, std::string_view otherwise) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return std::string(otherwise);
  auto value = YamlText(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), std::string(otherwise);
  return std::move(*value);
}

int64_t YamlReader::IntOr(std::string_view key, int64_t otherwise) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return otherwise;
  const auto value = YamlInt(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), otherwise;
  return *value;
}

double YamlReader::RealOr(std::string_view key, double otherwise) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return otherwise;
  const auto value = YamlReal(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), otherwise;
  return *value;
}

bool YamlReader::BoolOr(std::string_view key, bool otherwise) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return otherwise;
  const auto value = YamlBool(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), otherwise;
  return *value;
}

Duration YamlReader::DurationOr(std::string_view key, Duration otherwise) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return otherwise;
  const auto value = YamlDuration(*child);
  if (!value.ok()) return Bad(*child, key, value.error().message), otherwise;
  return *value;
}

std::optional<Quantity> YamlReader::QuantityIfAny(std::string_view key, std::optional<Unit> unit) {
  const YamlNode* child = Child(key);
  if (child == nullptr) return std::nullopt;
  const auto value = YamlQuantity(*child, unit);
  if (!value.ok()) return Bad(*child, key, value.error().message), std::nullopt;
  return *value;
}

std::vector<std::string> YamlReader::TextsOr(std::string_view key,
                                             std::vector<std::string> otherwise) {
  if (!Has(key)) return known_.emplace_back(key), otherwise;
  std::vector<std::string> texts;
  for (const YamlNode& item : Items(key)) {
    auto text = YamlText(item);
    if (!text.ok()) {
      Bad(item, key, text.error().message);
    } else {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

std::vector<int64_t> YamlReader::IntsOr(std::string_view key, std::vector<int64_t> otherwise) {
  if (!Has(key)) return known_.emplace_back(key), otherwise;
  std::vector<int64_t> values;
  for (const YamlNode& item : Items(key)) {
    const auto value = YamlInt(item);
    if (!value.ok()) {
      Bad(item, key, value.error().message);
    } else {
      values.push_back(*value);
    }
  }
  return values;
}

void YamlReader::Done() {
  for (const YamlEntry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    std::string what = fmt::format("unknown key {}", Shorten(Printable(entry.key), 60));
    if (const auto near = Nearest(entry.key, known_)) {
      what += fmt::format(", did you mean {}", *near);
    } else {
      what += fmt::format(", expected one of {}", Join(known_, ", "));
    }
    findings_.push_back({std::string(file_), entry.at, std::move(what)});
  }
}

}  // namespace muster
