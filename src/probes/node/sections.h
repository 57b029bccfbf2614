// Several short answers in one reading: each under a line "# muster: <name>". A stored reading is
// then understood without its machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::node {

// Appends a section; `said` gets an end of line where it lacks one.
void AddSection(std::string& text, std::string_view name, std::string_view said);
// The lines of a section without its heading; nothing when it is not there or the text was cut
// before the heading of the next one (a whole reading ends with the section "end").
std::optional<std::string_view> Section(std::string_view text, std::string_view name);

}  // namespace muster::node
