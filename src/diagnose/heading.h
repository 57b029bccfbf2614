// What stands above a pasted output: a heading or a prompt, and the host that it names.
#pragma once

#include <string>
#include <string_view>

namespace muster::diagnose {

// "node001" of "== node001 ==", "root@node001:~# " and "--- node-7 ---"; "" where a line names
// none: a title, a product, a version. Pure, O(length).
std::string HeadingHost(std::string_view line);

// "root@head:~# squeue", "ann@head ~ $ sinfo" and "$ df -h": a command that somebody typed, which
// says nothing of how things are. Pure, O(length).
bool IsPrompt(std::string_view line);

}  // namespace muster::diagnose
