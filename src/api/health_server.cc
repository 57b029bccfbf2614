#include "api/health_server.h"

#include <thread>

#include <fmt/format.h>
#include <httplib.h>

namespace muster {

namespace {

constexpr size_t kWorkers = 2;  // a kubelet and Prometheus

class HttplibHealthServer final : public HealthServer {
 public:
  HttplibHealthServer(const SchedHealth& health, Clock& clock) : health_(health), clock_(clock) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kWorkers); };
    server_.set_keep_alive_max_count(1);  // an idle connection would hold a worker
    server_.set_read_timeout(5);
    server_.set_write_timeout(5);
    server_.set_payload_max_length(1024);
    server_.Get("/healthz", [this](const httplib::Request&, httplib::Response& response) {
      Say(response, health_.WhyNotAlive(clock_.Monotonic()));
    });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      Say(response, health_.WhyNotReady(clock_.Monotonic()));
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(health_.Metrics(), "text/plain; version=0.0.4");
    });
  }
  ~HttplibHealthServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen(const ListenAt& at) {
    port_ = at.port == 0 ? server_.bind_to_any_port(at.host)
                         : (server_.bind_to_port(at.host, at.port) ? at.port : -1);
    if (port_ <= 0)
      return Fail(Code::kConflict, fmt::format("cannot listen at {}:{}", at.host, at.port));
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // One that is told to stop before it began would not hear it.
    for (int i = 0; i < 5000 && !server_.is_running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }
  int port() const override { return port_; }

 private:
  static void Say(httplib::Response& response, const std::string& why_not) {
    response.status = why_not.empty() ? 200 : 503;
    response.set_content((why_not.empty() ? "ok" : why_not) + "\n", "text/plain");
  }

  const SchedHealth& health_;
  Clock& clock_;
  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace

Result<std::unique_ptr<HealthServer>> MakeHealthServer(const SchedHealth& health, Clock& clock,
                                                       const ListenAt& at) {
  auto server = std::make_unique<HttplibHealthServer>(health, clock);
  TRY_VOID(server->Listen(at));
  return std::unique_ptr<HealthServer>(std::move(server));
}

}  // namespace muster
