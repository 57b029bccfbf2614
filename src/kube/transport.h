// The port to one API server: many exchanges at once over a few connections, driven by the caller.
// There is no thread behind it. libcurl implements it for the real world (kube/curl_transport.h);
// kube/testing has one that is an API server in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::kube {

struct Exchange {
  std::string method = "GET";
  std::string path;                                 // with the query; the server is known
  std::map<std::string, std::string> headers = {};  // Authorization too
  std::string body = {};
  Duration timeout = std::chrono::seconds(30);  // of the whole; zero = none
  bool long_lived = false;                      // a watch: kept off the connections of short calls
};

struct ResponseHead {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
};

// What happens to an exchange, in this order: head once, body any number of times, end once. With
// an Error (kUnavailable, kTimeout, kPermission for a certificate, kParse) the answer is not whole.
// Called from Poll() alone; they may start and cancel exchanges.
struct ExchangeEvents {
  std::function<void(const ResponseHead&)> head;
  std::function<void(std::string_view)> body;
  std::function<void(Status)> end;
};

// How the server is known and how we are known to it, besides a token. PEM texts, not paths.
struct TlsIdentity {
  std::string ca_pem;  // empty: the system's
  std::string cert_pem, key_pem;
  std::string server_name;  // empty: the URL's host
  bool skip_verify = false;
  bool operator==(const TlsIdentity&) const = default;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // The id is never 0 and never used again.
  virtual uint64_t Start(Exchange exchange, ExchangeEvents events) = 0;
  // No event comes after it; unknown ids are fine.
  virtual void Cancel(uint64_t id) = 0;
  // Waits until something happened or the time is over, and calls the events.
  virtual void Poll(Duration timeout) = 0;
  // New connections use this identity (a rotated client certificate).
  virtual void UseTls(const TlsIdentity& tls) = 0;
};

}  // namespace muster::kube
