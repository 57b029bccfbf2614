// A cluster as hosts to look at: the API server answers under the site's name and under every
// node's, as if kubectl were there; the nodes' own tools answer where somebody knows another way to
// them, or by probe pods, and are unreachable, with the reason, where neither is.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/hosts.h"
#include "backend/kubernetes/probe_pods.h"
#include "kube/client.h"
#include "model/site.h"

namespace muster::kubernetes {

class ClusterHosts final : public Hosts {
 public:
  // `client` and `local` are borrowed. `others` has "facility", "fabric" and "monitor" always, and
  // the nodes where `nodes_have_a_way`. `keeps` lives as long as this object (the client's owner).
  ClusterHosts(const Site& site, World local, kube::Client& client, std::unique_ptr<Hosts> others,
               bool nodes_have_a_way, std::shared_ptr<void> keeps = {});
  ~ClusterHosts() override;

  std::vector<std::string> Names() const override { return names_; }
  Result<HostPorts> At(std::string_view host) override { return At(host, true); }
  // Rehearsed as soon as one node says that nobody but a lab's player keeps it. A server that does
  // not answer leaves it live: nothing then passes anyway.
  Origin origin() const override;
  int Parallel() const override {
    return nodes_have_a_way_ || pods_ != nullptr ? others_->Parallel() : 1;
  }
  void Foresee(std::span<const Foreseen> reads) override;
  Status Forget() override;

  // From now on nodes that have no other way are asked by probe pods. `fabric` is the node on which
  // fabric tools run.
  void UseProbePods(ProbePodsOptions options, const std::string& fabric);
  // The same hosts, without probe pods: those look, and nothing acts through them.
  Hosts& by_logins();

 private:
  class Asks;
  class NoFiles;
  class NoHttp;
  class ByLogins;
  struct PodNode;

  Result<HostPorts> At(std::string_view host, bool by_pods);
  Http& Exporter(std::string_view node, Http& otherwise);
  HostPorts PortsOf(PodNode& node, std::string_view host, Origin origin);

  const std::shared_ptr<void> keeps_;
  const std::string site_;
  std::vector<std::string> names_;
  World local_;
  kube::Client& client_;
  mutable std::mutex mutex_;  // one client, many threads that look
  mutable std::optional<Origin> origin_;
  std::unique_ptr<Hosts> others_;
  const bool nodes_have_a_way_;
  std::unique_ptr<NoFiles> no_files_;
  std::unique_ptr<NoHttp> no_http_;
  std::mutex made_;
  std::vector<std::unique_ptr<Asks>> asks_;
  std::vector<std::unique_ptr<Http>> exporters_;
  std::unique_ptr<ByLogins> by_logins_;
  std::string fabric_;
  std::unique_ptr<ProbePods> pods_;
  std::map<std::string, std::unique_ptr<PodNode>, std::less<>> pod_nodes_;
};

}  // namespace muster::kubernetes
