#include "backend/host/monitor_http.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::host {

namespace {

class MonitorHttp final : public Http {
 public:
  MonitorHttp(const std::map<std::string, Endpoint>& endpoints, Http& http) : http_(http) {
    const std::pair<const char*, const char*> kNames[] = {
        {"http://prometheus", "prometheus"},
        {"http://alertmanager", "alertmanager"},
        {"http://monitor/synthetic", "synthetic"}};
    for (const auto& [head, key] : kNames) {
      const auto found = endpoints.find(key);
      std::string url = found == endpoints.end() ? "" : found->second.url;
      while (EndsWith(url, "/")) url.pop_back();
      roads_.push_back({head, key, std::move(url)});
    }
  }

  Result<HttpResponse> Do(const HttpRequest& request) override {
    TRY(const HttpRequest real, Mapped(request));
    return http_.Do(real);
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    TRY(const HttpRequest real, Mapped(request));
    return http_.Stream(real, on_bytes, sent_at);
  }

 private:
  struct Road {
    std::string head, key, url;
  };

  Result<HttpRequest> Mapped(const HttpRequest& request) const {
    HttpRequest real = request;
    for (const Road& road : roads_) {
      const auto rest = After(request.url, road.head);
      if (!rest || (!rest->empty() && rest->front() != '/' && rest->front() != '?')) continue;
      if (road.url.empty())
        return Fail(Code::kUnavailable,
                    fmt::format("the site file names no telemetry.{}", road.key));
      real.url = road.url + std::string(*rest);
      return real;
    }
    return real;
  }

  Http& http_;
  std::vector<Road> roads_;
};

}  // namespace

std::unique_ptr<Http> MakeMonitorHttp(const std::map<std::string, Endpoint>& endpoints,
                                      Http& http) {
  return std::make_unique<MonitorHttp>(endpoints, http);
}

}  // namespace muster::host
