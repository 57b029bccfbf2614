// A cluster as hosts to look at: the API server answers under the site's name and under every
// node's, as if kubectl were there; the nodes' own tools answer where somebody knows another way to
// them, and are unreachable, with the reason, where nobody does.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/hosts.h"
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
  Result<HostPorts> At(std::string_view host) override;
  // Rehearsed as soon as one node says that nobody but a lab's player keeps it. A server that does
  // not answer leaves it live: nothing then passes anyway.
  Origin origin() const override;
  int Parallel() const override { return nodes_have_a_way_ ? others_->Parallel() : 1; }

 private:
  class Asks;
  class NoFiles;
  class NoHttp;

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
};

}  // namespace muster::kubernetes
