// The socket under dns.h: UDP on loopback, one thread, at a port of the kernel's choice or a named
// one. Nothing outside this machine reaches it.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "backend/lab/kubernetes/dns.h"
#include "base/result.h"
#include "world/clock.h"

namespace muster::lab {

class DnsServer {
 public:
  // Borrowed: both. `address` is a loopback address ("127.0.0.1"); port 0 = any. kUnavailable when
  // it cannot be bound.
  static Result<std::unique_ptr<DnsServer>> Start(DnsZone& zone, Clock& clock,
                                                  const std::string& address, int port);
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  int port() const { return port_; }
  uint64_t answered() const { return answered_; }

 private:
  DnsServer(DnsZone& zone, Clock& clock, int socket, int wake_read, int wake_write, int port);
  void Loop();

  DnsZone& zone_;
  Clock& clock_;
  const int socket_, wake_read_, wake_write_, port_;
  std::atomic<uint64_t> answered_ = 0;
  std::thread thread_;
};

}  // namespace muster::lab
