#include "backend/kubernetes/exporter_http.h"

#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/core.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

constexpr std::string_view kOwnExporter = "http://localhost:9400/";
// As the GPU Operator labels it, and as the exporter's own chart does.
constexpr const char* kExporters[] = {"app=nvidia-dcgm-exporter",
                                      "app.kubernetes.io/name=dcgm-exporter"};

class ExporterHttp final : public Http {
 public:
  ExporterHttp(kube::Client& client, std::mutex& client_mutex, std::string node, Http& otherwise)
      : client_(client),
        client_mutex_(client_mutex),
        node_(std::move(node)),
        otherwise_(otherwise) {}

  Result<HttpResponse> Do(const HttpRequest& request) override {
    const auto path = After(request.url, kOwnExporter);
    if (!path || request.method != "GET") return otherwise_.Do(request);
    auto exporter = Find();
    // Whoever may not list pods may still reach the node.
    if (!exporter.ok()) {
      auto other = otherwise_.Do(request);
      if (other.ok()) return other;
      return Fail(exporter.error());
    }
    if (!*exporter) return otherwise_.Do(request);
    return Ask(**exporter, std::string(*path), request);
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    return otherwise_.Stream(request, on_bytes, sent_at);
  }

 private:
  // Its Ready pod on the node.
  Result<std::optional<kube::Pod>> Find() {
    const std::lock_guard lock(client_mutex_);
    std::optional<kube::Pod> found;
    for (const char* labels : kExporters) {
      kube::Request request = kube::List(kube::kPods, "", {labels, "spec.nodeName=" + node_});
      request.patience = std::chrono::seconds(5);
      TRY(const std::string body, client_.Ask(std::move(request)));
      const auto read = kube::ReadList(body, [&](std::string_view text) -> Status {
        TRY(kube::Pod pod, kube::DecodePod(text));
        if (pod.phase == "Running" && !found) found = std::move(pod);
        return {};
      });
      if (!read.ok()) return Fail(read.error());
      if (found) break;
    }
    return found;
  }

  Result<HttpResponse> Ask(const kube::Pod& pod, const std::string& path,
                           const HttpRequest& asked) {
    kube::Request request;
    request.raw_path = fmt::format("/api/v1/namespaces/{}/pods/{}:9400/proxy/{}", pod.meta.ns,
                                   pod.meta.name, path);
    request.resource.plural = request.raw_path;
    request.timeout = asked.timeout;
    request.patience = std::chrono::seconds(3);
    const std::lock_guard lock(client_mutex_);
    kube::Answer answer = client_.Await(std::move(request));
    if (answer.status == 0 && answer.error) return Fail(std::move(*answer.error));
    HttpResponse response;
    response.status = answer.status;
    response.body = answer.ok() ? std::move(answer.body)
                                : fmt::format("through {}: {}", pod.meta.Key(),
                                              answer.error ? answer.error->message : "");
    return response;
  }

  kube::Client& client_;
  std::mutex& client_mutex_;
  const std::string node_;
  Http& otherwise_;
};

}  // namespace

std::unique_ptr<Http> MakeExporterHttp(kube::Client& client, std::mutex& client_mutex,
                                       std::string node, Http& otherwise) {
  return std::make_unique<ExporterHttp>(client, client_mutex, std::move(node), otherwise);
}

}  // namespace muster::kubernetes
