#include "backend/host/host_site.h"

#include <fmt/format.h>

#include "backend/host/monitor_http.h"
#include "backend/host/rooted_files.h"
#include "base/strings.h"
#include "model/fabric_host.h"

namespace muster::host {

namespace {

bool IsLoopback(std::string_view address) {
  return EqualsIgnoreCase(address, "localhost") || address == "127.0.0.1" || address == "::1";
}

std::string_view ShortName(std::string_view host) { return host.substr(0, host.find('.')); }

bool IsThisMachine(const Site& site, const Node& node, std::string_view own_name) {
  if (!node.address.empty()) return IsLoopback(node.address);
  if (IsLoopback(node.name)) return true;
  if (!own_name.empty() && EqualsIgnoreCase(ShortName(node.name), ShortName(own_name))) return true;
  return site.cluster.nodes.size() == 1 && site.ssh.empty();
}

// A path in the site file is meant from where that file lies.
std::map<std::string, std::string> SshOptions(const Site& site, const std::string& site_folder) {
  std::map<std::string, std::string> options = site.ssh;
  for (const char* key : {"config", "identity_file"}) {
    const auto found = options.find(key);
    if (found == options.end() || found->second.empty() || site_folder.empty()) continue;
    if (found->second[0] != '/' && found->second[0] != '~')
      found->second = site_folder + "/" + found->second;
  }
  return options;
}

}  // namespace

HostSite::HostSite(const Site& site, std::string site_folder, World local, HostSiteOptions options)
    : local_(local),
      facility_files_(MakeRootedFiles(local.files, site_folder)),
      monitor_http_(MakeMonitorHttp(site.endpoints, local.http)),
      folder_(local, std::move(options.runtime_parent)) {
  const std::string own_name(Trim(local.files.Read("/proc/sys/kernel/hostname").value_or("")));
  const std::map<std::string, std::string> ssh = SshOptions(site, site_folder);
  const auto add = [&](const Node& node) {
    std::unique_ptr<SshHost> host;
    if (!IsThisMachine(site, node, own_name)) {
      SshTarget target;
      target.destination = node.address.empty() ? node.name : node.address;
      target.options = ssh;
      host = std::make_unique<SshHost>(node.name, std::move(target), local, folder_);
    }
    hosts_.emplace(node.name, std::move(host));
  };
  for (const Node& node : site.cluster.nodes) {
    names_.push_back(node.name);
    add(node);
  }
  fabric_ = FabricHost(site);
  // Fabric tools may run where no GPU is: on the host of the subnet manager.
  if (!fabric_.empty() && !hosts_.contains(fabric_)) {
    Node node;
    node.name = fabric_;
    add(node);
  }
}

HostSite::~HostSite() = default;

Result<HostPorts> HostSite::At(std::string_view host) {
  HostPorts ports{std::string(host), local_, Origin::kLive};
  if (host == "monitor") {
    return HostPorts{std::string(host),
                     {local_.clock, local_.files, local_.processes, *monitor_http_, local_.random},
                     Origin::kLive};
  }
  if (host == "facility") {
    return HostPorts{std::string(host),
                     {local_.clock, *facility_files_, local_.processes, local_.http, local_.random},
                     Origin::kLive};
  }
  const auto found = hosts_.find(host == "fabric" ? std::string_view(fabric_) : host);
  if (found == hosts_.end()) {
    if (host == "fabric") return ports;  // a site without nodes
    return Fail(Code::kNotFound, fmt::format("the site has no host {}", host));
  }
  if (found->second == nullptr) return ports;
  return HostPorts{std::string(host), found->second->ports(), Origin::kLive};
}

SshHost* HostSite::Ssh(std::string_view node) {
  const auto found = hosts_.find(node);
  return found == hosts_.end() ? nullptr : found->second.get();
}

}  // namespace muster::host
