// A server on loopback that says exactly the bytes a test gives it, and hangs up when told: what no
// decent HTTP library would do.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace muster::kube::testing {

class RawServer {
 public:
  // One accepted connection.
  class Peer {
   public:
    explicit Peer(int fd) : fd_(fd) {}
    // The next request, head and body; empty when the other side is gone.
    std::string Request();
    void Send(const std::string& bytes);
    void Respond(int status, const std::string& body, const std::string& headers = {});
    // Blocks until the other side hangs up (a bounded time).
    void WaitForHangUp();

   private:
    int fd_;
    std::string buffer_;
  };
  // Runs in a thread of its own for each connection, which closes when it returns.
  explicit RawServer(std::function<void(Peer&)> serve);
  ~RawServer();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  std::function<void(Peer&)> serve_;
  int listen_ = -1, port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace muster::kube::testing
