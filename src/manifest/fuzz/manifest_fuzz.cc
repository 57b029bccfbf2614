// The manifest reader on any bytes: it reads or refuses, and what it read becomes gangs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "manifest/gangs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = muster::ParseManifestFile(
      std::string(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!file.ok()) {
    if (!file.error().message.starts_with("fuzz.yaml")) std::abort();
    return 0;
  }
  const muster::Gangs gangs = muster::ReadGangs({&*file, 1});
  for (const muster::ReadJob& read : gangs.jobs) {
    for (const muster::TaskGroup& group : read.job.tasks) {
      if (group.min > group.count || group.count < 0) std::abort();
      for (const auto& [name, amount] : group.shape) {
        if (amount < 0) std::abort();
      }
    }
  }
  for (const muster::Document& doc : file->documents) {
    if (const auto w = muster::WorkloadOf(doc); w && w->PodCount() < 0) std::abort();
  }
  return 0;
}
