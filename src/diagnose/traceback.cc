#include "diagnose/traceback.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/strings.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kFile = "File \"";

bool Skipped(char c) { return c == ' ' || c == '\t' || (c >= '0' && c <= '9'); }

// What stays the same before the lines of one traceback: clocks and process numbers do not.
std::string PrefixKey(std::string_view prefix) {
  std::string key;
  for (const char c : prefix)
    if (!Skipped(c)) key += c;
  return key;
}

// Where the text of a line begins behind a prefix with this key; npos when it has another.
size_t BehindPrefix(std::string_view line, std::string_view key) {
  size_t at = 0;
  for (const char c : key) {
    while (at < line.size() && line[at] != c && Skipped(line[at])) ++at;
    if (at == line.size() || line[at] != c) return std::string_view::npos;
    ++at;
  }
  return at;
}

// "vllm/v1/engine/core.py" of ".../site-packages/vllm/v1/engine/core.py"; three folders of others.
std::string_view ModulePath(std::string_view path) {
  for (const std::string_view mark : {"site-packages/", "dist-packages/"})
    if (const size_t at = path.rfind(mark); at != std::string_view::npos)
      return path.substr(at + mark.size());
  size_t at = path.size();
  for (int folders = 0; folders < 4 && at != std::string_view::npos && at > 0; ++folders)
    at = path.rfind('/', at - 1);
  return at == std::string_view::npos || at == 0 ? path : path.substr(at + 1);
}

// "torch.OutOfMemoryError: what" at the start of `text`: the dotted name of a class.
std::optional<size_t> ExceptionName(std::string_view text) {
  size_t end = 0, last = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                               text[end] == '_' || text[end] == '.')) {
    if (text[end] == '.') last = end + 1;
    ++end;
  }
  if (end < last + 4 || std::isupper(static_cast<unsigned char>(text[last])) == 0)
    return std::nullopt;
  if (end < text.size() && text[end] != ':') return std::nullopt;
  // Python prints the module's name before a class of its own; built-in ones end in a few ways.
  static constexpr std::string_view kEnds[] = {"Error",     "Exception", "Exit",    "Interrupt",
                                               "Iteration", "Timeout",   "Failure", "Warning"};
  const std::string_view name = text.substr(last, end - last);
  const bool built_in = std::any_of(std::begin(kEnds), std::end(kEnds),
                                    [&](std::string_view tail) { return name.ends_with(tail); });
  return last > 0 || built_in ? std::optional(end) : std::nullopt;
}

bool Harmless(std::string_view prefix) {
  return Contains(prefix, "WARN") || Contains(prefix, "DEBUG");
}

}  // namespace

void Tracebacks::Frame(std::string_view line, const Place& at) {
  const size_t file = line.find(kFile);
  if (file == std::string_view::npos) return;
  const std::string_view rest = line.substr(file + kFile.size());
  const size_t quote = rest.find("\", line ");
  if (quote == std::string_view::npos || quote == 0 || quote > 400) return;
  const size_t in = rest.find(", in ", quote);
  std::string_view function =
      in == std::string_view::npos ? std::string_view() : rest.substr(in + 5);
  function = function.substr(0, function.find_first_of(" \t"));
  size_t indent = file;
  while (indent > 0 && (line[indent - 1] == ' ' || line[indent - 1] == '\t')) --indent;
  const std::string key = PrefixKey(line.substr(0, indent));
  if (!open_.contains(key) && open_.size() >= kMostOpen) return;
  Open& open = open_[key];
  if (open.frames.empty()) {
    open.at = at;
    open.harmless = caught_ || Harmless(line.substr(0, indent));
    caught_ = false;
  }
  open.indent = file - indent;
  open.last_line = at.line;
  open.text = line.substr(0, 4 * kTextBytes);
  open.frames.push_front(std::string(ModulePath(rest.substr(0, quote))) + ":" +
                         std::string(function.substr(0, 80)));
  if (open.frames.size() > kMostFrames) open.frames.pop_back();
}

void Tracebacks::Tell(const Open& open, std::string_view type, std::string_view what,
                      const Place& at, std::string_view line, FactStore& facts) {
  if (open.harmless) return;
  Fact fact{"python.raised", {}, at, Shorten(Printable(Trim(line)), kTextBytes),
            std::nullopt,    0,  1};
  fact.Set("type", type);
  fact.Set("what", Shorten(Printable(Trim(what)), kTextBytes));
  fact.Set("where", open.frames.front());
  std::string path;
  for (const std::string& frame : open.frames) path += frame + ";";
  fact.Set("path", path);
  Attach(ReadSpeaker(line), fact);
  facts.Add(std::move(fact));
}

bool Tracebacks::Line(std::string_view line, const Place& at, FactStore& facts) {
  for (auto it = open_.begin(); it != open_.end();) {
    const Open& open = it->second;
    const size_t begin = BehindPrefix(line, it->first);
    if (at.line <= open.last_line || begin == std::string_view::npos) {
      it = at.line > open.last_line + kLongestGap ? open_.erase(it) : std::next(it);
      continue;
    }
    std::string_view text = line.substr(begin);
    const size_t blanks = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(blanks);
    const auto name = blanks > open.indent ? std::nullopt : ExceptionName(text);
    if (!name) {
      ++it;
      continue;
    }
    const std::string_view what = text.substr(std::min(*name + 1, text.size()));
    Tell(open, text.substr(0, *name), what, at, line.substr(0, 4 * kTextBytes), facts);
    const bool harmless = open.harmless;
    open_.erase(it);
    return harmless;
  }
  return false;
}

void Tracebacks::End(FactStore& facts) {
  for (const auto& [key, open] : open_) Tell(open, "", "", open.at, open.text, facts);
  open_.clear();
  caught_ = false;
}

}  // namespace muster::diagnose
