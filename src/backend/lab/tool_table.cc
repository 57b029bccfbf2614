#include "backend/lab/tool_table.h"

#include <map>

#include "backend/lab/infiniband/tools.h"
#include "backend/lab/nccl/tools.h"
#include "backend/lab/nvidia/tools.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

std::map<std::string_view, const Tool*> JoinTools() {
  std::map<std::string_view, const Tool*> table;
  for (const auto tools : {PlainTools(), SoftwareTools(), PathTools(), RepairTools(),
                           InfinibandTools(), NvidiaTools(), NcclTools()}) {
    for (const Tool& tool : tools) table.emplace(tool.program, &tool);
  }
  return table;
}

}  // namespace

const Tool* FindTool(std::string_view program) {
  static const auto table = JoinTools();
  const size_t slash = program.rfind('/');
  if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
  const auto it = table.find(program);
  return it == table.end() ? nullptr : it->second;
}

const LabFile* FindLabFile(std::string_view path) {
  const LabFile* found = nullptr;
  for (const auto files : {InfinibandFiles(), NvidiaFiles(), SoftwareFiles()}) {
    for (const LabFile& file : files) {
      // A folder is asked for without its last slash, too.
      std::string_view prefix = file.prefix;
      if (EndsWith(prefix, "/") && path == prefix.substr(0, prefix.size() - 1))
        prefix.remove_suffix(1);
      if (StartsWith(path, prefix) &&
          (found == nullptr || file.prefix.size() > found->prefix.size()))
        found = &file;
    }
  }
  return found;
}

}  // namespace muster::lab
