#include "app/alerts/alert_server.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

Result<AlertServerOptions> ParseListen(const std::string& listen, const std::string& token) {
  const size_t colon = listen.rfind(':');
  AlertServerOptions options;
  const auto port = colon == std::string::npos ? Result<int64_t>(Fail(Code::kInvalid, ""))
                                               : ParseInt(listen.substr(colon + 1));
  if (!port.ok() || *port < 0 || *port > 65535 || colon == 0)
    return Fail(Code::kInvalid, fmt::format("--listen {}: expected ADDRESS:PORT such as "
                                            "127.0.0.1:9094",
                                            Printable(listen)));
  options.host = listen.substr(0, colon);
  if (StartsWith(options.host, "[") && EndsWith(options.host, "]"))
    options.host = options.host.substr(1, options.host.size() - 2);
  options.port = static_cast<int>(*port);
  options.token = token;
  const bool loopback =
      options.host == "127.0.0.1" || options.host == "::1" || options.host == "localhost";
  if (!loopback && token.empty())
    return Fail(
        Code::kInvalid,
        fmt::format("--listen {}: beside loopback it needs --token-file: whoever reaches it "
                    "could start repairs",
                    Printable(listen)));
  return options;
}

}  // namespace muster
