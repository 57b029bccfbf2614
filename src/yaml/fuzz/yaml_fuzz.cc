// The YAML loader on any bytes: it reads or refuses, within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "yaml/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = muster::ParseYaml(text, "fuzz");
  if (!parsed.ok() && !parsed.error().message.starts_with("fuzz")) std::abort();
  const auto documents = muster::ParseYamlDocuments(text, "fuzz");
  if (parsed.ok() && !documents.ok()) std::abort();
  if (parsed.ok()) {
    muster::YamlFindings findings;
    muster::YamlReader reader(*parsed, "fuzz", findings);
    reader.Text("a");
    reader.IntOr("b", 0);
    reader.QuantityIfAny("c");
    reader.DurationOr("d", {});
    reader.TextsOr("e");
    reader.Done();
  }
  return 0;
}
