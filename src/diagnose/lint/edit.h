// Repairs as edits of a file's text, and the unified patch that `patch -p0` applies. Nothing is
// written here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yaml/yaml.h"

namespace muster {

// Replaces `length` bytes at `offset` of a file.
struct TextEdit {
  std::string file;
  size_t offset = 0, length = 0;
  std::string text;
  bool operator==(const TextEdit&) const = default;
};

// ---- making edits; an empty vector where the text cannot be changed so (flow style, aliases) ----

// The value of a plain or quoted scalar becomes `value` (already written as YAML).
std::vector<TextEdit> ReplaceScalar(std::string_view file, std::string_view text,
                                    const YamlNode& node, std::string_view value);
// A line "key: value" in a mapping, block or flow. Lines after the first of `entry` are indented
// to the mapping.
std::vector<TextEdit> InsertEntry(std::string_view file, std::string_view text,
                                  const YamlNode& mapping, std::string_view entry);
// The lines of a block entry or list item that begins at `at`.
std::vector<TextEdit> RemoveLines(std::string_view file, std::string_view text, YamlMark at);
// An item of a flow list, or of a block list of plain items.
std::vector<TextEdit> InsertItem(std::string_view file, std::string_view text, const YamlNode& list,
                                 size_t before, std::string_view item);

// ---- using them ----

// The text after all edits of that file that do not overlap an earlier one.
std::string ApplyEdits(std::string_view file, std::string_view text, std::vector<TextEdit> edits);
// "--- path\n+++ path\n@@ ..." with three lines of context; empty when nothing changes.
// O(changed region squared) where lines differ, linear elsewhere.
std::string UnifiedDiff(const std::string& path, std::string_view before, std::string_view after);

// Byte offset of a place (columns count characters); npos when the text has no such place.
size_t OffsetOf(std::string_view text, YamlMark at);

}  // namespace muster
