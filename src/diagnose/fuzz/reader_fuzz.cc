// Any bytes, in two pieces, as a file: recogniser, sections, documents, dumps and ranking.
#include <cstddef>
#include <cstdint>

#include "diagnose/decode.h"
#include "diagnose/diagnosis.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::diagnose;
  const Knowledge& knowledge = *LoadKnowledge().value();
  static Reader reader(knowledge);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Decoder decoder;
  reader.Begin("fuzz");
  for (const auto piece : {bytes.substr(0, size / 2), bytes.substr(size / 2)})
    if (const auto text = decoder.Decode(piece)) reader.Feed(*text);
  reader.End();
  (void)Judge(knowledge, reader.Take());
  return 0;
}
