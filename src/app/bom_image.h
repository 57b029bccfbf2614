// What a container image of Muster holds, as a bill of materials: the packages that its files came
// from, read where scanners look for them.
#pragma once

#include "app/bom.h"

namespace muster {

// `root` is the image's file system; var/lib/dpkg/status.d has a file for each package. kNotFound
// where there are none, kInvalid for a file without name or version. The serial follows from the
// contents.
Result<Bom> BomOfImage(Files& files, const std::string& root, TimePoint at);

}  // namespace muster
