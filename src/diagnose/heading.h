// The host that a heading or a prompt above a pasted output names.
#pragma once

#include <string>
#include <string_view>

namespace muster::diagnose {

// "node001" of "== node001 ==", "root@node001:~# " and "--- node-7 ---"; "" where a line names
// none: a title, a product, a version. Pure, O(length).
std::string HeadingHost(std::string_view line);

}  // namespace muster::diagnose
