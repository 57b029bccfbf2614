// What a git log says of reverts: which commits were taken back, and by which commit that still
// stands. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::host {

struct GitCommit {
  std::string id, message;
};

// For `git log --format=...`: one commit a record, newest first.
inline constexpr const char* kGitLogFormat = "--format=%H%x1f%B%x1e";
// kParse where a record is not whole.
Result<std::vector<GitCommit>> ReadGitLog(std::string_view text);

// A commit's name as git prints it: 7 to 64 hexadecimal digits, never a branch or HEAD~1, which
// mean another commit tomorrow.
bool IsCommitName(std::string_view text);

// The commit of `log` that reverts `id` (by git's own words, "This reverts commit ID") and was not
// itself reverted in `log`; nothing = `id` stands.
std::optional<std::string> RevertOf(const std::vector<GitCommit>& log, std::string_view id);

}  // namespace muster::host
