#include "diagnose/heading.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

// "H100", "HBM3", "SXM5", "v1.30": products and versions have letters and digits too.
bool NamesNoHost(std::string_view word) {
  static constexpr std::string_view kProducts[] = {
      "hbm", "sxm", "nvidia", "tesla", "cuda", "nccl", "ubuntu", "mi2", "mi3", "pcie", "ddr"};
  const std::string lower = ToLower(word);
  if (std::any_of(std::begin(kProducts), std::end(kProducts),
                  [&](std::string_view p) { return lower.starts_with(p); }))
    return true;
  const size_t digit = lower.find_first_of("0123456789");
  const size_t letters = std::min(digit, lower.size());
  // "h100", "a100", "gb200", "rtx4090", "v1.30"
  static constexpr std::string_view kModels[] = {"h", "a", "b", "gb", "gh", "l", "v", "t", "rtx"};
  return std::find(std::begin(kModels), std::end(kModels), lower.substr(0, letters)) !=
         std::end(kModels);
}

}  // namespace

std::string HeadingHost(std::string_view line) {
  if (const size_t at = line.find('@'); at != std::string_view::npos && at < 24 &&
                                        line.find_first_of("#$") != std::string_view::npos) {
    const std::string_view rest = line.substr(at + 1);
    const std::string_view host = rest.substr(0, rest.find_first_of(":~ [](#$/"));
    const bool name = std::all_of(host.begin(), host.end(), IsNameChar);
    return host == "localhost" || !name ? "" : std::string(host);
  }
  if (line.size() > 80 || line.size() < 4) return "";
  const char c = line[0];
  if ((c != '=' && c != '-' && c != '#') || line[1] != c) return "";
  std::string found;
  size_t words = 0;
  for (const std::string_view word : SplitBlank(line)) {
    if (word.find_first_not_of("=-#") == std::string_view::npos) continue;
    if (++words > 3 || NamesNoHost(word)) return "";  // a title, not a name
    const bool digit =
        std::any_of(word.begin(), word.end(), [](char d) { return d >= '0' && d <= '9'; });
    const bool name = std::all_of(word.begin(), word.end(), IsNameChar);
    if (digit && name && std::isalpha(static_cast<unsigned char>(word[0]))) found = word;
  }
  return found;
}

bool IsPrompt(std::string_view line) {
  if (line.starts_with("$ ")) return true;
  // Root's prompt is also how comments begin: only a pipe into a filter tells.
  if (line.starts_with("# "))
    return Contains(line, "| grep ") || Contains(line, "| egrep ") || Contains(line, "| tail") ||
           Contains(line, "| head") || Contains(line, "| less");
  constexpr size_t kLongest = 60;
  const size_t end = std::min(line.find("$ "), line.find("# "));
  if (end == std::string_view::npos || end > kLongest) return false;
  const std::string_view head = line.substr(0, end);
  return head.find('@') != std::string_view::npos && std::count(head.begin(), head.end(), ' ') <= 2;
}

}  // namespace muster::diagnose
