// The transport over libcurl: HTTP/2 over TLS where the server offers it, HTTP/1.1 else. Short
// calls share a few connections with many streams each; watches have one of their own, so that a
// burst of events does not stand in the way of a binding.
#pragma once

#include <memory>
#include <string>

#include "kube/transport.h"

namespace muster::kube {

struct CurlOptions {
  std::string server;  // "https://127.0.0.1:6443"
  TlsIdentity tls = {};
  std::string proxy = {};  // a URL; empty: the usual variables, and none for loopback
  int connections = 2;     // for short calls
  // Streams at once on one of them; an API server allows 100 (its default, and client-go's).
  int streams = 100;
  bool compress = false;  // ask for gzip (not for watches): pays over a network, costs server CPU
  std::string user_agent = "muster";
};

// One thread at a time. Nothing is read from the environment but the usual proxy variables, which
// do not count for loopback. libcurl sends a request once more when a kept connection turns out to
// be closed before any byte of an answer came; a create may then answer 409 to its own first try.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const CurlOptions& options);
  ~CurlTransport() override;
  uint64_t Start(Exchange exchange, ExchangeEvents events) override;
  void Cancel(uint64_t id) override;
  void Poll(Duration timeout) override;
  void UseTls(const TlsIdentity& tls) override;
  // Exchanges that have not ended, with those that wait for a stream.
  size_t open() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace muster::kube
