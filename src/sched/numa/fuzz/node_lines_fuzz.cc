// Any bytes as a cluster script: no crash, and a node that reads is described, built and asked
// without one.
#include <string_view>

#include "sched/numa/node_lines.h"
#include "sched/numa/shapes.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace muster::numa;
  const auto nodes = ReadNodeLines({reinterpret_cast<const char*>(data), size});
  if (!nodes.ok()) return 0;
  size_t asked = 0;
  for (const NodeFacts& node : *nodes) {
    auto spec = DescribeMachine(node);
    if (!spec.ok()) continue;
    const auto machine = BuildMachine(*std::move(spec));
    if (!machine.ok() || machine->devices.empty() || ++asked > 2) continue;
    (void)ValidShapes(*machine, machine->devices[0].name, {{"cpu", 1000}, {"memory", 1 << 20}})
        .ok();
  }
  return 0;
}
