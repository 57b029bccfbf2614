// The files of catalogue/ as they are inside the binary, so that one file copied to a host is
// enough (no path, no network). cmake/embed.cmake writes the definition at build time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

struct EmbeddedFile {
  std::string_view name;  // relative to catalogue/: "criteria/fabric.yaml"
  std::string_view text;
};

// All of them, sorted by name.
std::span<const EmbeddedFile> EmbeddedCatalogue();
// The text of one; nothing for a name that is not there.
std::optional<std::string_view> FindEmbedded(std::string_view name);
// SHA-256 over names and texts: which catalogue a run was judged by.
std::string EmbeddedDigest();

}  // namespace muster
