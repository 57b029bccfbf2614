// "ADDRESS:PORT", as a person names where a server shall listen.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

struct ListenAt {
  std::string host;
  int port = 0;  // 0: any free one
  bool loopback() const { return host == "127.0.0.1" || host == "::1" || host == "localhost"; }
};
// "127.0.0.1:9094", "[::1]:9094", "localhost:0". kInvalid otherwise.
Result<ListenAt> ParseListenAt(const std::string& listen);

}  // namespace muster
