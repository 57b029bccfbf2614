#include "backend/lab/gang_label.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {

namespace {

std::string CommandLine(Files& files, const std::string& folder) {
  auto text = files.Read(folder + "/cmdline", 1u << 20);
  if (!text.ok()) return "?";
  std::replace(text->begin(), text->end(), '\0', ' ');
  return Shorten(Printable(Trim(*text)), 120);
}

}  // namespace

std::string ProcessMark(Files& files, std::string_view pid) {
  const auto stat = files.Read(fmt::format("/proc/{}/stat", pid), 1u << 16);
  if (!stat.ok()) return "";
  // The name stands in parentheses and may contain anything; what follows the last one is fields.
  const size_t close = stat->rfind(')');
  if (close == std::string::npos) return "";
  const auto fields = SplitBlank(std::string_view(*stat).substr(close + 1));
  if (fields.size() < 20 || fields[0] == "Z")
    return "";  // field 3 is the first here, so 22 is the twentieth
  return fmt::format("{} {}", SplitBlank(*stat).front(), fields[19]);
}

bool StillLives(Files& files, std::string_view mark) {
  const auto parts = SplitBlank(mark);
  return parts.size() == 2 && ProcessMark(files, parts[0]) == mark;
}

bool EnvironmentHas(std::string_view environ, std::string_view name, std::string_view value) {
  for (const std::string_view entry : Split(environ, '\0')) {
    const auto rest = After(entry, name);
    if (rest && StartsWith(*rest, "=") && rest->substr(1) == value) return true;
  }
  return false;
}

Result<std::vector<LiveProcess>> ProcessesOfGang(Files& files, std::string_view lab,
                                                 std::string_view gang) {
  TRY(const std::vector<FileInfo> entries, files.List("/proc"));
  std::vector<LiveProcess> found;
  for (const FileInfo& entry : entries) {
    const auto pid = ParseInt(entry.name);
    if (!pid.ok()) continue;
    const std::string folder = "/proc/" + entry.name;
    // Gone meanwhile, or another user's: not ours.
    const auto environ = files.Read(folder + "/environ", 4u << 20);
    if (!environ.ok() || !EnvironmentHas(*environ, kGangVariable, gang) ||
        !EnvironmentHas(*environ, kLabVariable, lab))
      continue;
    found.push_back({static_cast<int>(*pid), CommandLine(files, folder)});
  }
  return found;
}

}  // namespace muster::lab
