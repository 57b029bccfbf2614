// The shell script that takes back a commit: done in a worktree of its own, so that a conflict or a
// crash leaves the site's tree as it was; the branch then only moves forward.
#pragma once

#include <string>

#include "backend/host/act_scripts.h"

namespace muster::host {

struct Revert {
  std::string tree;      // the site's working tree
  std::string worktree;  // a folder that is nobody's else's
  std::string branch, head, commit;
  std::string remote;  // "" = not pushed
  std::string note;    // into the message: by which run it was ordered
};
// Exits 0 when it stands. Otherwise one line says why, and nothing was changed; after 4 the remote
// has it and this tree does not.
Words RevertWords(const Revert& revert);

}  // namespace muster::host
