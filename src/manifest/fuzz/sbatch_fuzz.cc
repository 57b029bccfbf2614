// The sbatch reader on any bytes: it reads or refuses with a place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "manifest/sbatch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  muster::LooksLikeSbatch(text);
  const auto script = muster::ParseSbatch(text, "job.sh");
  if (!script.ok()) {
    if (!script.error().message.starts_with("job.sh:")) std::abort();
    return 0;
  }
  std::vector<muster::ManifestNote> notes;
  const auto read = muster::ReadSbatchJob(*script, notes);
  if (!read.ok()) {
    if (!read.error().message.starts_with("job.sh:")) std::abort();
  } else if (read->job.tasks.size() != 1 || read->job.tasks[0].count < 1) {
    std::abort();
  }
  return 0;
}
