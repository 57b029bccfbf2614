// Which DNS names stand for which addresses: headless Services and the pods behind them, as the
// endpoint controller and CoreDNS make records of them. Told of each change, it adds to and takes
// from a DnsZone; the zone knows of delays.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "backend/lab/kubernetes/dns.h"
#include "kube/core.h"

namespace muster::lab {

// A Service as far as names go.
struct NamedService {
  kube::Meta meta;
  bool headless = false;  // clusterIP: None
  bool publish_not_ready = false;
  kube::Labels selector;  // empty: selects nothing, its endpoints are made by hand
};
Result<NamedService> DecodeNamedService(std::string_view json);

// "worker-0" of a pod whose spec.hostname says so, else its name: what its `hostname` prints.
std::string HostnameOf(const kube::Pod& pod);
// With the subdomain, in full: what a kubelet writes into the pod's /etc/hosts. The host name alone
// where the pod has no subdomain.
std::string FullHostnameOf(const kube::Pod& pod);

// O(services of the namespace) for a change of a pod, O(pods of the namespace) for one of a
// Service.
class PodNamesOfCluster {
 public:
  explicit PodNamesOfCluster(DnsZone& zone) : zone_(zone) {}  // borrowed

  void SetService(const NamedService& service, Duration now);
  void RemoveService(const std::string& key, Duration now);
  void SetPod(const kube::Pod& pod, Duration now);
  void RemovePod(const std::string& uid, Duration now);

 private:
  struct Named {
    std::string ns, hostname, subdomain;
    kube::Labels labels;
    uint32_t address = 0;
    bool ready = false;
    std::set<std::string> names;  // in the zone now
  };
  std::set<std::string> NamesFor(const Named& pod) const;
  void Publish(Named& pod, Duration now);

  DnsZone& zone_;
  std::map<std::string, std::map<std::string, NamedService>> services_;  // namespace, name
  std::map<std::string, Named> pods_;                                    // by uid
  std::map<std::string, std::set<std::string>> pods_of_;                 // namespace -> uids
};

}  // namespace muster::lab
