// HTTP and HTTPS with libcurl. Connections stay open between requests, so that a load generator
// measures the server and not the handshake.
#pragma once

#include <memory>

#include "world/http.h"

namespace muster {

// Safe for threads: each request takes an idle handle of its origin or makes one. Certificates are
// checked against the system's. Loopback never goes through a proxy; for other hosts the usual
// proxy variables count. Redirects are answers, not followed.
class CurlHttp final : public Http {
 public:
  CurlHttp();
  ~CurlHttp() override;
  Result<HttpResponse> Do(const HttpRequest& request) override;
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override;

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace muster
