#include "backend/host/git_history.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::host {

namespace {

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

bool IsCommitName(std::string_view text) {
  return text.size() >= 7 && text.size() <= 64 && IsHex(text);
}

Result<std::vector<GitCommit>> ReadGitLog(std::string_view text) {
  std::vector<GitCommit> log;
  text = Trim(text);
  while (!text.empty()) {
    const size_t end = text.find('\x1e'), middle = text.find('\x1f');
    if (end == std::string_view::npos || middle > end || !IsCommitName(text.substr(0, middle)))
      return Fail(Code::kParse,
                  fmt::format("git log was cut off at \"{}\"", Shorten(Printable(text), 60)));
    log.push_back({std::string(text.substr(0, middle)),
                   std::string(text.substr(middle + 1, end - middle - 1))});
    text = Trim(text.substr(end + 1));
  }
  return log;
}

std::optional<std::string> RevertOf(const std::vector<GitCommit>& log, std::string_view id) {
  const std::string words = fmt::format("This reverts commit {}", id);
  // Newest first: what reverts a commit stands before it, so only a shorter log is asked again.
  for (size_t i = 0; i < log.size(); ++i) {
    if (!Contains(log[i].message, words)) continue;
    const std::vector<GitCommit> newer(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(i));
    if (!RevertOf(newer, log[i].id)) return log[i].id;
  }
  return std::nullopt;
}

}  // namespace muster::host
