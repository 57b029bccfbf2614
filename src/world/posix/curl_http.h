// HTTP and HTTPS with libcurl. Connections stay open between requests, so that a load generator
// measures the server and not the handshake.
#pragma once

#include <memory>
#include <string>

#include "world/http.h"

namespace muster {

// Whose certificates are believed besides the system's rule. A controller with a certificate that
// nobody signed is an exception that a site states with its reason, for a client of its own: the
// reason is what switches it on.
struct TlsTrust {
  std::string ca_file = {};             // PEM; instead of the system's
  std::string unverified_because = {};  // not empty: certificates and names are not checked
};

// Safe for threads: each request takes an idle handle of its origin or makes one. Certificates are
// checked against the system's. Loopback never goes through a proxy; for other hosts the usual
// proxy variables count. Redirects are answers, not followed.
class CurlHttp final : public Http {
 public:
  explicit CurlHttp(TlsTrust trust = {});
  ~CurlHttp() override;
  Result<HttpResponse> Do(const HttpRequest& request) override;
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override;

 private:
  class Pool;
  const TlsTrust trust_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace muster
