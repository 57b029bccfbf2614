#include "diagnose/beside.h"

#include <algorithm>

#include "base/strings.h"
#include "diagnose/last_line.h"
#include "diagnose/words/words.h"

namespace muster::diagnose {

void Beside::Begin() {
  for (NearLine& line : before_) line.text.clear();
  open_.clear();
}

void Beside::Unread(std::string_view line, const Place& at) {
  std::erase_if(open_, [&](const Place& sign) { return at.line > sign.line + kAfter; });
  const std::string_view kept = line.substr(0, kTextBytes);
  for (const Place& sign : open_)
    if (sign.line != at.line) near_[sign].push_back({at, std::string(kept)});
  NearLine& slot = before_[next_++ % kBefore];
  slot.at = at;
  slot.text.assign(kept);
}

void Beside::Sign(const Place& at) {
  if (near_.size() >= kMostSigns || near_.contains(at)) return;
  std::vector<NearLine>& lines = near_[at];
  for (size_t i = 0; i < kBefore; ++i) {
    const NearLine& line = before_[(next_ + i) % kBefore];
    if (!line.text.empty() && line.at.line + kBefore >= at.line) lines.push_back(line);
  }
  open_.push_back(at);
}

const std::vector<NearLine>& Beside::Of(const Place& sign) const {
  static const std::vector<NearLine> kNone;
  const auto at = near_.find(sign);
  return at == near_.end() ? kNone : at->second;
}

namespace {

// With these words programs give a reason or say what they want.
constexpr std::string_view kReasons[] = {
    "because",    "caused by", "cause:",   "due to",   "reason",     "hint",     "make sure",
    "please",     " must ",    "should ",  "required", "requires",   "expected", "instead",
    "did you",    "try ",      "not set",  "only ",    "is not",     "are not",  "was not",
    "were not",   "does not",  "doesn't",  "did not",  "no longer",  "need",     "without",
    "different",  "compare",   "at least", "at most",  "limit",      " found",   "current",
    "available:", "no usable", "likely",   "means",    "indicates",  "blocked",  "ignored",
    "disabled",   "check ",    "too ",     "already",  "not enough", "got "};

constexpr size_t kFewWords = 6;

// A rule between two parts of an output.
bool Ruled(std::string_view text) {
  return Contains(text, "-----") || Contains(text, "=====") || Contains(text, "*****");
}

}  // namespace

int Tells(std::string_view text) {
  if (Ruled(text) || Contains(text, "Traceback (most recent call last)")) return 0;
  const std::string lower = ToLower(text);
  const auto reasons = std::count_if(std::begin(kReasons), std::end(kReasons),
                                     [&](std::string_view word) { return Contains(lower, word); });
  const int says =
      (words::Complains(text) ? 2 : 0) + static_cast<int>(std::min<ptrdiff_t>(reasons, 3));
  return says > 0 && SplitBlank(text).size() >= kFewWords ? says + 1 : says;
}

namespace {

// "Timed out task names:", also in a cell of a drawn table; "built for driver 450.51 or later,
// but".
constexpr int kNext = 9;
bool GoesOn(std::string_view text) {
  while (!text.empty() && (text.back() == '|' || text.back() == ' ')) text.remove_suffix(1);
  for (const std::string_view open : {":", " but", " and", " because", " than", " since"})
    if (text.ends_with(open)) return true;
  return false;
}

size_t Apart(size_t a, size_t b) { return a > b ? a - b : b - a; }

}  // namespace

std::vector<NearLine> MostTelling(const std::vector<NearLine>& lines, const NearLine& sign,
                                  size_t most) {
  struct Scored {
    const NearLine* line;
    int tells;
  };
  std::vector<Scored> scored;
  const bool goes_on = GoesOn(sign.text);
  for (const NearLine& line : lines) {
    const auto again = [&](const NearLine& other) { return SameButDigits(other.text, line.text); };
    if (again(sign) || std::any_of(lines.data(), &line, again)) continue;
    const bool next = line.at.line > sign.at.line && line.at.line <= sign.at.line + most;
    const int tells = goes_on && next && !Trim(line.text).empty() ? kNext : Tells(line.text);
    if (tells > 0) scored.push_back({&line, tells});
  }
  std::stable_sort(scored.begin(), scored.end(), [&](const Scored& a, const Scored& b) {
    if (a.tells != b.tells) return a.tells > b.tells;
    return Apart(a.line->at.line, sign.at.line) < Apart(b.line->at.line, sign.at.line);
  });
  if (scored.size() > most) scored.resize(most);
  std::vector<NearLine> telling;
  for (const Scored& s : scored) telling.push_back(*s.line);
  std::stable_sort(telling.begin(), telling.end(),
                   [](const NearLine& a, const NearLine& b) { return a.at < b.at; });
  return telling;
}

}  // namespace muster::diagnose
