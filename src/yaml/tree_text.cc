#include "yaml/tree_text.h"

#include <charconv>

#include <fmt/format.h>

namespace muster {

namespace {

// A node: its kind, where it stands, then what it holds. A text is its length, a colon, its bytes.
constexpr char kNull = 'n', kPlain = 't', kQuoted = 'q', kSequence = 's', kMapping = 'm';

void WriteText(std::string_view text, std::string& out) {
  out += fmt::format("{}:", text.size());
  out += text;
}

void WriteMark(YamlMark at, std::string& out) { out += fmt::format("{} {} ", at.line, at.column); }

void WriteNode(const YamlNode& node, std::string& out) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      out += kNull;
      WriteMark(node.at, out);
      break;
    case YamlNode::Kind::kScalar:
      out += node.quoted ? kQuoted : kPlain;
      WriteMark(node.at, out);
      WriteText(node.text, out);
      break;
    case YamlNode::Kind::kSequence:
      out += kSequence;
      WriteMark(node.at, out);
      out += fmt::format("{} ", node.items.size());
      for (const YamlNode& item : node.items) WriteNode(item, out);
      break;
    case YamlNode::Kind::kMapping:
      out += kMapping;
      WriteMark(node.at, out);
      out += fmt::format("{} ", node.entries.size());
      for (const YamlEntry& entry : node.entries) {
        WriteMark(entry.at, out);
        WriteText(entry.key, out);
        WriteNode(entry.value, out);
      }
      break;
  }
}

class TreeReader {
 public:
  explicit TreeReader(std::string_view text) : text_(text) {}

  Result<YamlNode> Whole() {
    YamlNode node;
    if (!Node(node, 0) || at_ != text_.size())
      return Fail(Code::kCorrupt, fmt::format("byte {}: no tree of YAML", at_));
    return node;
  }

 private:
  // A number and the byte behind it.
  bool Number(size_t& value, char end) {
    const char* const begin = text_.data() + at_;
    const auto [behind, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || behind == text_.data() + text_.size() || *behind != end)
      return false;
    at_ += static_cast<size_t>(behind - begin) + 1;
    return true;
  }
  bool Mark(YamlMark& mark) {
    size_t line = 0, column = 0;
    if (!Number(line, ' ') || !Number(column, ' ')) return false;
    mark = {static_cast<int>(line), static_cast<int>(column)};
    return true;
  }
  bool Text(std::string& text) {
    size_t size = 0;
    if (!Number(size, ':') || size > text_.size() - at_) return false;
    text = text_.substr(at_, size);
    at_ += size;
    return true;
  }
  // Each child takes a byte at least: a count that is damaged allocates no more than the text.
  bool Count(size_t& count) { return Number(count, ' ') && count <= text_.size() - at_; }

  bool Node(YamlNode& node, int depth) {
    if (at_ >= text_.size() || depth > kYamlMaxDepth) return false;
    const char kind = text_[at_++];
    if (!Mark(node.at)) return false;
    size_t count = 0;
    switch (kind) {
      case kNull:
        return true;
      case kPlain:
      case kQuoted:
        node.kind = YamlNode::Kind::kScalar;
        node.quoted = kind == kQuoted;
        return Text(node.text);
      case kSequence:
        node.kind = YamlNode::Kind::kSequence;
        if (!Count(count)) return false;
        node.items.resize(count);
        for (YamlNode& item : node.items)
          if (!Node(item, depth + 1)) return false;
        return true;
      case kMapping:
        node.kind = YamlNode::Kind::kMapping;
        if (!Count(count)) return false;
        node.entries.resize(count);
        for (YamlEntry& entry : node.entries)
          if (!Mark(entry.at) || !Text(entry.key) || !Node(entry.value, depth + 1)) return false;
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string WriteTree(const YamlNode& node) {
  std::string out;
  WriteNode(node, out);
  return out;
}

Result<YamlNode> ReadTree(std::string_view text) { return TreeReader(text).Whole(); }

}  // namespace muster
