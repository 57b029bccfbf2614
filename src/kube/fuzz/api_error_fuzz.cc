// Any bytes as the answer of a server that refuses: an error without control characters.
#include <string>
#include <string_view>

#include "base/check.h"
#include "kube/api_error.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const muster::kube::Asked asked{"list", muster::kube::kPods, "a", "", "", "https://x", "a token"};
  for (const int status : {401, 403, 404, 409, 410, 422, 429, 500}) {
    const auto error = muster::kube::ToError(
        muster::kube::ReadApiStatus(status, bytes, bytes.substr(0, 20)), asked);
    CHECK(error.message.find('\x1b') == std::string::npos, "no escape reaches a terminal");
  }
  return 0;
}
