// A tree of YAML as text that is read back at once: what the build writes of data that travels in
// the binary, since reading half a megabyte of YAML anew takes longer than most logs. Marks stay,
// so a mistake is still named with its line and column.
#pragma once

#include <string>
#include <string_view>

#include "yaml/yaml.h"

namespace muster {

std::string WriteTree(const YamlNode& node);
// kCorrupt: not what WriteTree wrote, with the byte at which that shows.
Result<YamlNode> ReadTree(std::string_view text);

}  // namespace muster
