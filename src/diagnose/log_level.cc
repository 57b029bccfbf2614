#include "diagnose/log_level.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kForm = "0000 00:00:";  // a digit for each 0

bool HasForm(std::string_view text) {
  return text.size() >= kForm.size() &&
         std::equal(kForm.begin(), kForm.end(), text.begin(), [](char form, char c) {
           return form == '0' ? c >= '0' && c <= '9' : c == form;
         });
}

}  // namespace

bool HeaderSaysError(std::string_view line) {
  for (size_t at = line.find_first_of("EF"); at != std::string_view::npos;
       at = line.find_first_of("EF", at + 1))
    if ((at == 0 || line[at - 1] == ' ' || line[at - 1] == '[') && HasForm(line.substr(at + 1)))
      return true;
  return false;
}

bool CallsItselfDebug(std::string_view line) {
  constexpr std::array<std::string_view, 2> kLevels = {"debug", "trace"};
  constexpr std::array<std::string_view, 4> kKeys = {"level=", "level=\"", "\"level\":\"",
                                                     "\"level\": \""};
  for (const std::string_view key : kKeys)
    for (const std::string_view level : kLevels)
      if (const size_t at = line.find(key);
          at != std::string_view::npos &&
          EqualsIgnoreCase(line.substr(at + key.size(), level.size()), level))
        return true;
  constexpr size_t kHeader = 4;  // date, time, level, and one more
  size_t words = 0;
  for (std::string_view word : SplitBlank(line)) {
    if (++words > kHeader) break;
    if (word.starts_with('[')) word.remove_prefix(1);
    while (word.ends_with(']') || word.ends_with(':')) word.remove_suffix(1);
    // In capitals: "debug" is a word like others.
    if (word == "DEBUG" || word == "TRACE") return true;
  }
  return false;
}

}  // namespace muster::diagnose
