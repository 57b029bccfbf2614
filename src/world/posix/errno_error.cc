#include "world/posix/errno_error.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace muster {

namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermission;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EFBIG:
      return Code::kInvalid;
    case EEXIST:
    case EBUSY:
    case ETXTBSY:
    case ENOTEMPTY:
      return Code::kConflict;
    case ETIMEDOUT:
      return Code::kTimeout;
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ESTALE:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Error ErrnoError(int error, std::string_view what) {
  return Error{
      CodeOf(error), fmt::format("{}: {}", what, std::generic_category().message(error)), {}};
}

}  // namespace muster
