// What an errno means as a Code, in one place, so that "missing" and "not permitted" are told apart
// everywhere alike.
#pragma once

#include <string_view>

#include "base/result.h"

namespace muster {

// "<what>: <strerror>": ENOENT and ENOTDIR are kNotFound, EACCES, EPERM and EROFS kPermission, a
// full disk and I/O errors kUnavailable, everything that the name itself causes kInvalid.
Error ErrnoError(int error, std::string_view what);

}  // namespace muster
