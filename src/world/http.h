// The HTTP client port (libcurl in the real world). Streaming responses are handed over as they
// arrive, stamped at read().
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster {

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds(10);
  size_t max_body = 64u << 20;
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  Duration took{};
};

class Http {
 public:
  virtual ~Http() = default;
  // Any status is a response; an Error means no whole answer came (kUnavailable, kTimeout, kParse).
  virtual Result<HttpResponse> Do(const HttpRequest& request) = 0;
  // Calls on_bytes(bytes, monotonic time) for each piece of the body; false from it ends the
  // transfer. `body` stays empty. `sent_at` gets the moment the request's first byte went out on
  // the open connection.
  using OnBytes = std::function<bool(std::string_view bytes, Duration at)>;
  virtual Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                      Duration& sent_at) = 0;
};

}  // namespace muster
