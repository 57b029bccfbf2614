#include "backend/bmc/bmc_site.h"

#include "backend/bmc/ipmi.h"
#include "backend/bmc/redfish.h"
#include "base/strings.h"
#include "world/posix/curl_http.h"

namespace muster::bmc {

namespace {

std::string FromFolder(const std::string& folder, const std::string& path) {
  return path.empty() || path[0] == '/' || folder.empty() ? path : folder + "/" + path;
}

Result<SecretRef> SecretOf(const std::string& text, const std::string& folder) {
  const auto path = After(text, "file:");
  return SecretRef::Parse(path ? "file:" + FromFolder(folder, std::string(*path)) : text);
}

}  // namespace

Result<std::unique_ptr<BmcActuator>> MakeBmcActuator(const Site& site,
                                                     const std::string& site_folder, Hosts& hosts,
                                                     World world, Environment environment) {
  std::map<std::string, std::unique_ptr<Bmc>> bmcs;
  std::vector<std::shared_ptr<Http>> own;  // clients with a trust of their own
  for (const auto& [node, endpoint] : site.bmcs) {
    TRY(const SecretRef password, SecretOf(endpoint.password, site_folder));
    if (endpoint.protocol == BmcEndpoint::Protocol::kIpmi) {
      IpmiConfig config;
      config.host = endpoint.address;
      config.user = endpoint.user;
      config.port = endpoint.port;
      config.cipher_suite = endpoint.cipher_suite;
      config.password = password;
      bmcs[node] = MakeIpmi(std::move(config), world.processes, world.files, environment);
      continue;
    }
    RedfishConfig config;
    config.url = endpoint.address;
    config.user = endpoint.user;
    config.password = password;
    config.system = endpoint.system;
    TRY_VOID(CheckRedfish(config).Context("the BMC of " + node));
    Http* http = &world.http;
    if (!endpoint.ca_file.empty() || !endpoint.unverified_because.empty()) {
      own.push_back(std::make_shared<CurlHttp>(
          TlsTrust{FromFolder(site_folder, endpoint.ca_file), endpoint.unverified_because}));
      http = own.back().get();
    }
    bmcs[node] = MakeRedfish(std::move(config), *http, world.clock, world.files, environment);
  }
  return std::make_unique<BmcActuator>(std::move(bmcs), hosts, world.clock, std::move(own));
}

}  // namespace muster::bmc
