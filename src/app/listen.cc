#include "app/listen.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

Result<ListenAt> ParseListenAt(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  const auto port = colon == std::string::npos ? Result<int64_t>(Fail(Code::kInvalid, ""))
                                               : ParseInt(listen.substr(colon + 1));
  if (!port.ok() || *port < 0 || *port > 65535 || colon == 0)
    return Fail(Code::kInvalid, fmt::format("--listen {}: expected ADDRESS:PORT such as "
                                            "127.0.0.1:9094",
                                            Printable(listen)));
  ListenAt at{listen.substr(0, colon), static_cast<int>(*port)};
  if (StartsWith(at.host, "[") && EndsWith(at.host, "]"))
    at.host = at.host.substr(1, at.host.size() - 2);
  return at;
}

}  // namespace muster
