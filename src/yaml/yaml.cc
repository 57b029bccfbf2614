#include "yaml/yaml.h"

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/strings.h"

namespace muster {

namespace {

YamlMark MarkOf(const YAML::Mark& mark) {
  return mark.is_null() ? YamlMark{} : YamlMark{mark.line + 1, mark.column + 1};
}

std::string Where(std::string_view file, YamlMark at) {
  return at.line == 0 ? std::string(file) : fmt::format("{}:{}:{}", file, at.line, at.column);
}

// Why the text is not taken.
struct Refused {
  YamlMark at;
  std::string what;
};

size_t CountNodes(const YamlNode& node) {
  size_t n = 1;
  for (const YamlNode& item : node.items) n += CountNodes(item);
  for (const YamlEntry& entry : node.entries) n += CountNodes(entry.value);
  return n;
}

int DepthOf(const YamlNode& node) {
  int deepest = 0;
  for (const YamlNode& item : node.items) deepest = std::max(deepest, DepthOf(item));
  for (const YamlEntry& entry : node.entries) deepest = std::max(deepest, DepthOf(entry.value));
  return deepest + 1;
}

// Builds the tree out of the library's events. After the first refusal it lets all further ones
// pass by.
class Builder : public YAML::EventHandler {
 public:
  YamlNode root;
  std::optional<Refused> refused;
  std::optional<std::pair<size_t, YamlMark>> last_quoted;  // where in the text
  YAML::Mark start;                                        // of the document

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (refused) return;
    YamlNode node;
    node.at = MarkOf(mark);
    Take(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (refused) return;
    const YamlMark at = MarkOf(mark);
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) return Refuse(at, "an alias may not stand inside its anchor");
    if (static_cast<int>(open_.size()) + DepthOf(it->second) > kYamlMaxDepth)
      return Refuse(at, TooDeep());
    if (!Count(CountNodes(it->second), at)) return;
    YamlNode copy = it->second;
    copy.at = at;
    Place(std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (refused) return;
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.at = MarkOf(mark);
    if (!CheckTag(tag, node.at)) return;
    node.text = value;
    node.quoted = tag == "!";
    if (node.quoted) last_quoted = {static_cast<size_t>(mark.pos), node.at};
    if (!node.quoted && (value == "~" || value == "null")) node.kind = YamlNode::Kind::kNull;
    Take(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMapping, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    YamlNode node;
    YAML::anchor_t anchor;
    std::optional<YamlNode> key;   // a mapping that waits for its value
    std::vector<YamlNode> merges;  // values of `<<`
    std::unordered_set<std::string> keys;
  };

  static std::string TooDeep() {
    return fmt::format("nested deeper than {} levels", kYamlMaxDepth);
  }

  void Refuse(YamlMark at, std::string what) {
    if (!refused) refused = Refused{at, std::move(what)};
  }

  bool CheckTag(const std::string& tag, YamlMark at) {
    if (tag.empty() || tag == "?" || tag == "!") return true;
    Refuse(at, fmt::format("tag {} is not supported, quote the value to make it a text",
                           Shorten(Printable(tag), 60)));
    return false;
  }

  bool Count(size_t more, YamlMark at) {
    nodes_ += more;
    if (nodes_ <= kYamlMaxNodes) return true;
    Refuse(at, fmt::format("more than {} values, aliases filled in", kYamlMaxNodes));
    return false;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (refused) return;
    const YamlMark at = MarkOf(mark);
    if (!CheckTag(tag, at)) return;
    if (static_cast<int>(open_.size()) >= kYamlMaxDepth) return Refuse(at, TooDeep());
    OpenNode open;
    open.node.kind = kind;
    open.node.at = at;
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }

  void Close() {
    if (refused) return;
    OpenNode done = std::move(open_.back());
    open_.pop_back();
    Merge(done);
    if (refused) return;
    Take(std::move(done.node), done.anchor);
  }

  void Take(YamlNode node, YAML::anchor_t anchor) {
    if (!Count(1, node.at)) return;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    Place(std::move(node));
  }

  void Place(YamlNode node) {
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != YamlNode::Kind::kScalar)
        return Refuse(node.at, "a key must be a plain text");
      parent.key = std::move(node);
    } else {
      AddEntry(parent, std::move(*parent.key), std::move(node));
      parent.key.reset();
    }
  }

  void AddEntry(OpenNode& parent, YamlNode key, YamlNode value) {
    if (!parent.keys.insert(key.text).second) {
      std::string first;
      if (const auto it = std::find_if(parent.node.entries.begin(), parent.node.entries.end(),
                                       [&](const YamlEntry& e) { return e.key == key.text; });
          it != parent.node.entries.end()) {
        first = fmt::format(", first on line {}", it->at.line);
      }
      return Refuse(key.at, fmt::format("key {} stands twice in one mapping{}",
                                        Shorten(Printable(key.text), 60), first));
    }
    if (key.text == "<<" && !key.quoted) {
      parent.merges.push_back(std::move(value));
    } else {
      parent.node.entries.push_back({std::move(key.text), key.at, std::move(value)});
    }
  }

  // https://yaml.org/type/merge.html: own keys win, then the earlier of several mappings.
  void Merge(OpenNode& into) {
    const auto take_all = [&](YamlNode& from) {
      if (from.kind != YamlNode::Kind::kMapping)
        return Refuse(from.at, "<< wants a mapping or a list of mappings");
      for (YamlEntry& entry : from.entries) {
        if (into.keys.insert(entry.key).second) into.node.entries.push_back(std::move(entry));
      }
    };
    for (YamlNode& merge : into.merges) {
      if (merge.kind == YamlNode::Kind::kSequence) {
        for (YamlNode& one : merge.items) take_all(one);
      } else {
        take_all(merge);
      }
    }
  }

  std::vector<OpenNode> open_;
  std::unordered_map<YAML::anchor_t, YamlNode> anchors_;
  size_t nodes_ = 0;
};

// The library sees the end of a stream in a byte of its own (0x04) and stops there without a word,
// guesses encodings from the first bytes, and mends what is no UTF-8: all refused before it looks.
std::optional<Refused> BadBytes(std::string_view text) {
  int line = 1, column = 1;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text.substr(i, 4));
    const bool control = (c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7F;
    if (control || length == 0)
      return Refused{{line, column},
                     fmt::format("byte 0x{:02x} does not belong in a text file", c)};
    column = c == '\n' ? 1 : column + static_cast<int>(length);
    line += c == '\n' ? 1 : 0;
    i += length;
  }
  return std::nullopt;
}

// Whether the quote that opens at or behind `at` (anchors may stand before it) is closed. The
// library takes a quote that is still open at the end of the text, when the text ends in a line
// end.
bool QuoteIsClosed(std::string_view text, size_t at) {
  at = text.find_first_of("'\"", at);
  if (at == std::string_view::npos) return true;
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return true;
      ++i;  // '' stands for one
    }
  }
  return false;
}

// Reads from the text in place.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // only read from: no put area is set
    setg(begin, begin, begin + text.size());
  }
};

tl::unexpected<Error> NotTaken(std::string_view file, const Refused& refused) {
  return Fail(Code::kInvalid, fmt::format("{}: {}", Where(file, refused.at), refused.what));
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

namespace {

// The documents of a text; where only one may be, a second is refused.
Result<std::vector<YamlNode>> ReadDocuments(std::string_view text, std::string_view file,
                                            bool several) {
  if (text.size() > kYamlMaxBytes) {
    return NotTaken(file,
                    {{}, fmt::format("{} bytes, at most {} are read", text.size(), kYamlMaxBytes)});
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // some editors begin so
  if (const auto bad = BadBytes(text)) return NotTaken(file, *bad);
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    std::vector<YamlNode> documents;
    std::optional<std::pair<size_t, YamlMark>> last_quoted;
    int last_start = -1;
    for (size_t n = 0;; ++n) {
      Builder builder;
      if (!parser.HandleNextDocument(builder)) break;
      // At a comma outside of any list the library makes empty documents for ever.
      if (builder.start.pos == last_start)
        return NotTaken(file, {MarkOf(builder.start),
                               "this separates nothing: no list or mapping is open here"});
      last_start = builder.start.pos;
      if (!several && n > 0) {
        return NotTaken(file,
                        {builder.root.at, "a second document begins here, expected one a file"});
      }
      if (builder.refused) return NotTaken(file, *builder.refused);
      if (builder.last_quoted) last_quoted = builder.last_quoted;
      if (!several || !builder.root.IsNull()) documents.push_back(std::move(builder.root));
    }
    if (last_quoted && !QuoteIsClosed(text, last_quoted->first))
      return NotTaken(file, {last_quoted->second, "a quote is opened here and never closed"});
    return documents;
  } catch (const YAML::Exception& e) {
    return NotTaken(file, {MarkOf(e.mark), e.msg});
  } catch (const std::exception& e) {
    return NotTaken(file, {{}, fmt::format("not readable as YAML ({})", e.what())});
  }
}

}  // namespace

Result<YamlNode> ParseYaml(std::string_view text, std::string_view file) {
  TRY(std::vector<YamlNode> documents, ReadDocuments(text, file, false));
  if (documents.empty()) return YamlNode{};
  return std::move(documents.front());
}

Result<std::vector<YamlNode>> ParseYamlDocuments(std::string_view text, std::string_view file) {
  return ReadDocuments(text, file, true);
}

std::string YamlFinding::ToString() const { return fmt::format("{}: {}", Where(file, at), what); }

Status ToStatus(const YamlFindings& findings) {
  if (findings.empty()) return {};
  std::vector<const YamlFinding*> sorted;
  for (const YamlFinding& finding : findings) sorted.push_back(&finding);
  std::stable_sort(sorted.begin(), sorted.end(), [](const YamlFinding* a, const YamlFinding* b) {
    return std::tie(a->file, a->at.line, a->at.column) <
           std::tie(b->file, b->at.line, b->at.column);
  });
  std::vector<std::string> lines;
  for (const YamlFinding* finding : sorted) lines.push_back(finding->ToString());
  return Fail(Code::kInvalid, Join(lines, "\n"));
}

}  // namespace muster
