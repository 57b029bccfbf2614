// Run by the build: writes YAML files as trees (yaml/tree_text.h) into a source file. Usage:
// muster_embed_trees OUT ROOT FUNCTION FILE...; names are relative to ROOT, sorted as given.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "yaml/tree_text.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: muster_embed_trees OUT ROOT FUNCTION FILE...\n");
    return 2;
  }
  constexpr std::string_view kEnd = ")muster_tree\"";
  std::string code = fmt::format(
      "// Generated from {}; edit the files there.\n#include \"catalogue/embedded.h\"\n\n"
      "namespace muster {{\nnamespace {{\nconst EmbeddedFile kTrees[] = {{\n",
      argv[2]);
  for (int i = 4; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string name = std::filesystem::relative(argv[i], argv[2]).string();
    const auto tree = muster::ParseYaml(text, name);
    const std::string written = tree.ok() ? muster::WriteTree(*tree) : "";
    if (!file || !tree.ok() || written.find(kEnd) != std::string::npos) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(),
                   tree.ok() ? "cannot be embedded" : tree.error().message.c_str());
      return 1;
    }
    code += fmt::format("    {{\"{}\", R\"muster_tree({}{}}},\n", name, written, kEnd);
  }
  code += fmt::format(
      "}};\n}}  // namespace\n\nstd::span<const EmbeddedFile> {}() {{ return kTrees; }}\n\n"
      "}}  // namespace muster\n",
      argv[3]);
  std::ofstream out(argv[1], std::ios::binary);
  out << code;
  out.close();
  return out ? 0 : 1;
}
