#include "diagnose/log_level.h"

#include <algorithm>

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

}  // namespace muster::diagnose
