// Reads a site file: YAML in, a Site out, or every problem at once with line and column. Nothing is
// started by reading.
#pragma once

#include <string>
#include <string_view>

#include "model/site.h"
#include "world/files.h"

namespace muster {

struct LoadedSite {
  Site site;
  std::string path;
  std::string text;    // as read
  std::string sha256;  // of the text
};

// kInvalid with one "file:line:column: what, expected what" a line: unknown and duplicate keys,
// wrong units, unknown hosts, overlapping names, placeholders (NODE_A, <...>, CHANGE_ME) and
// floating tags (:latest, an image or chart without a digest or version).
Result<LoadedSite> ReadSiteFile(Files& files, const std::string& path);
Result<Site> ParseSite(std::string_view text, const std::string& path);

}  // namespace muster
