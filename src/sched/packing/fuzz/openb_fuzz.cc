// Any bytes: a list or a clear error, and what was read can be packed.
#include "sched/packing/openb.h"
#include "sched/packing/packer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::packing;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('\0');
  const auto nodes = ParseOpenbNodes(text.substr(0, cut));
  if (!nodes.ok() || cut == std::string_view::npos || nodes->nodes.size() > 64) return 0;
  const auto pods = ParseOpenbPods(text.substr(cut + 1), nodes->models);
  if (!pods.ok() || pods->size() > 64) return 0;
  Packer packer(nodes->nodes, nodes->models.size(), Policy::kMuster, {}, 1);
  for (const Demand& pod : *pods) packer.Place(pod);
  return 0;
}
