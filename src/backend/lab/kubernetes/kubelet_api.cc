#include "backend/lab/kubernetes/kubelet_api.h"

#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "kube/connection.h"
#include "kube/core.h"

namespace muster::lab {

namespace {

Status MakeCertificate(World& world, const std::string& folder) {
  if (world.files.Stat(folder + "/kubelet.crt").ok()) return {};
  Command command;
  command.argv = {"openssl",  "req",
                  "-x509",    "-newkey",
                  "rsa:2048", "-nodes",
                  "-days",    "3650",
                  "-subj",    "/CN=muster-lab-kubelet",
                  "-keyout",  folder + "/kubelet.key",
                  "-out",     folder + "/kubelet.crt"};
  TRY(const CommandResult ran, world.processes.Run(command));
  if (ran.exit_code != 0) return Fail(Code::kInternal, "openssl: " + Printable(ran.err));
  return {};
}

int64_t NumberOf(const httplib::Request& request, const char* key, int64_t otherwise) {
  if (!request.has_param(key)) return otherwise;
  return ParseInt(request.get_param_value(key)).value_or(otherwise);
}

std::string ConfigzOf(const PlayedNodeSpec& node) {
  return nlohmann::json{{"kubeletconfig",
                         {{"kind", "KubeletConfiguration"},
                          {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                          {"topologyManagerPolicy", node.topology_policy},
                          {"topologyManagerScope", node.topology_scope},
                          {"cpuManagerPolicy", node.cpu_manager}}}}
      .dump();
}

class HttpsKubeletApi final : public KubeletApi {
 public:
  HttpsKubeletApi(World& world, const kube::ClusterConfig& config, std::string folder,
                  std::string configz)
      : world_(world),
        folder_(std::move(folder)),
        configz_(std::move(configz)),
        connection_(world, config),
        server_((folder_ + "/pki/kubelet.crt").c_str(), (folder_ + "/pki/kubelet.key").c_str()) {
    server_.Get(R"(/containerLogs/([^/]+)/([^/]+)/([^/]+))",
                [this](const httplib::Request& request, httplib::Response& response) {
                  Log(request, response);
                });
    server_.Get("/configz", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(configz_, "application/json");
    });
    server_.set_keep_alive_max_count(1);
    server_.set_read_timeout(5);
  }
  ~HttpsKubeletApi() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen() {
    if (!server_.is_valid()) return Fail(Code::kInternal, "the kubelet's certificate is not taken");
    port_ = server_.bind_to_any_port("127.0.0.1");
    if (port_ <= 0) return Fail(Code::kUnavailable, "no port of 127.0.0.1 is free");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return {};
  }

  int port() const override { return port_; }

  Status Announce(kube::Client& client, const std::string& node) override {
    const nlohmann::json patch = {
        {"status", {{"daemonEndpoints", {{"kubeletEndpoint", {{"Port", port_}}}}}}}};
    TRY_VOID(client.Ask(kube::MergePatch(kube::kNodes, "", node, patch.dump(), "status")));
    return {};
  }

 private:
  void Log(const httplib::Request& request, httplib::Response& response) {
    const std::string ns = request.matches[1], name = request.matches[2];
    std::string uid;
    {
      const std::lock_guard lock(mutex_);
      const auto body = connection_.client().Ask(kube::Get(kube::kPods, ns, name));
      const auto pod = body.ok() ? kube::DecodePod(*body) : Fail(body.error());
      if (pod.ok()) uid = pod->meta.uid;
    }
    const auto text = uid.empty() ? Result<std::string>(Fail(Code::kNotFound, "no such pod"))
                                  : world_.files.Read(folder_ + "/pods/" + uid + ".log");
    if (!text.ok()) {
      response.status = 404;
      response.set_content(fmt::format("container of pod {} has no log here\n", name),
                           "text/plain");
      return;
    }
    response.set_content(
        LogPart(*text, NumberOf(request, "tailLines", -1), NumberOf(request, "limitBytes", 0)),
        "text/plain");
  }

  World& world_;
  const std::string folder_, configz_;
  std::mutex mutex_;  // of the connection
  kube::Connection connection_;
  httplib::SSLServer server_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace

Result<std::unique_ptr<KubeletApi>> KubeletApi::Start(World& world,
                                                      const kube::ClusterConfig& config,
                                                      const std::string& folder,
                                                      const PlayedNodeSpec& like) {
  TRY_VOID(MakeCertificate(world, folder + "/pki"));
  auto api = std::make_unique<HttpsKubeletApi>(world, config, folder, ConfigzOf(like));
  TRY_VOID(api->Listen());
  return std::unique_ptr<KubeletApi>(std::move(api));
}

std::string LogPart(const std::string& text, int64_t tail, int64_t limit) {
  size_t from = 0;
  if (tail >= 0) {
    from = text.size();
    for (size_t end = text.size() - (EndsWith(text, "\n") ? 1 : 0); tail > 0; --tail) {
      const size_t at = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
      from = at == std::string::npos ? 0 : at + 1;
      if (at == std::string::npos) break;
      end = at;
    }
  }
  return text.substr(from, limit > 0 ? static_cast<size_t>(limit) : std::string::npos);
}

}  // namespace muster::lab
