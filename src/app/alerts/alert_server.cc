#include "app/alerts/alert_server.h"

#include <fmt/format.h>

#include "app/listen.h"
#include "base/strings.h"

namespace muster {

Result<AlertServerOptions> ParseListen(const std::string& listen, const std::string& token) {
  TRY(ListenAt at, ParseListenAt(listen));
  AlertServerOptions options;
  options.port = at.port;
  options.token = token;
  const bool loopback = at.loopback();
  options.host = std::move(at.host);
  if (!loopback && token.empty())
    return Fail(
        Code::kInvalid,
        fmt::format("--listen {}: beside loopback it needs --token-file: whoever reaches it "
                    "could start repairs",
                    Printable(listen)));
  return options;
}

}  // namespace muster
