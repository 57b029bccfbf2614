// Any bytes as a journal: no crash, and what is read as whole is read again as the same history.
#include <string>
#include <string_view>

#include "base/check.h"
#include "journal/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto ignore = [](const muster::journal::RecordView&) {};
  const auto first = muster::journal::Scan(bytes, ignore);
  if (first.ok()) {
    CHECK(first->whole_bytes <= size, "no record lies past the end");
    const auto again =
        muster::journal::Scan(bytes.substr(0, static_cast<size_t>(first->whole_bytes)), ignore);
    CHECK(again.ok() && !again->torn && again->records == first->records &&
              again->digest == first->digest,
          "the whole part of a journal is a journal");
  }
  return 0;
}
