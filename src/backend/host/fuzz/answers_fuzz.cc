// Whatever a host prints as its hold, its record of an act or its tools' answers: no crash, a hold
// that is read is written the same again, and garbage never shows that an act has happened.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "backend/host/host_acts.h"
#include "backend/host/host_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  using namespace muster::host;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto hold = ReadHostHold(text); hold.ok()) {
    const auto again = ReadHostHold(WriteHostHold(*hold));
    if (!again.ok()) std::abort();
  }
  static_cast<void>(ReadActRecord(text).ok());
  Node node;
  node.name = "n";
  node.gpus = {Gpu{}};
  for (const ActKind kind : HostActs()) {
    const Action action{kind, NodeSubject("n"), {{"unit", text}, {"mode", "1"}, {"layout", text}}};
    static_cast<void>(CheckHostAct(action, {}).has_value());
    const auto said = Understand(action, node, {{0, text, ""}, {0, text, ""}});
    if (!said.ok()) continue;
    const ProbeResult probe = Compare(action, {{"boot_id", "a"}}, *said, "", {});
    if (probe.happened != Happened::kUnknown) std::abort();
  }
  return 0;
}
