#include "app/init.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/observe.h"
#include "app/probe_table.h"
#include "app/site_file.h"
#include "app/site_state.h"
#include "backend/host/host_site.h"
#include "backend/lab/state/lab_state.h"
#include "base/strings.h"
#include "probes/facility/signoff.h"

namespace muster {

namespace {

Status RefuseExisting(Files& files, const std::string& out, bool force) {
  if (!force && files.Stat(out).ok())
    return Fail(Code::kConflict, fmt::format("{} is already there; --force overwrites it", out));
  return {};
}

// The text is read back before a byte is written: nobody is left with a file that no command takes.
Status WriteSite(Files& files, const std::string& out, const std::string& text) {
  if (auto site = ParseSite(text, out); !site.ok())
    return Fail(Error(site.error()).Context("this site file would not be read back; not written"));
  TRY_VOID(files.MakeFolders(PathsOf(out).folder));
  return files.WriteAtomic(out, text);
}

// The lab's own sign-off, by a key of the lab: gate 1 can be rehearsed, and the signer's name says
// what it is.
Status SignRehearsal(World& world, const SitePaths& paths, const Site& site,
                     const std::string& lab_folder) {
  facility::Signoff signoff;
  for (const Budget& budget : site.budgets)
    signoff.budgets.push_back({budget.name, budget.limit, budget.used});
  for (const Pdu& pdu : site.pdus)
    signoff.pdus.push_back({pdu.name, true, "rehearsal", pdu.redfish_url});
  signoff.signed_by = "rehearsal (nobody signed; the lab plays it)";
  signoff.reason = "made with the lab";
  signoff.signed_at = world.clock.Now();
  signoff.expires = signoff.signed_at + std::chrono::hours(24 * 365);
  TRY(const SigningKey key, SiteKey(world, paths));
  TRY(const std::string document, facility::WriteSignoff(signoff, key));
  TRY_VOID(world.files.MakeFolders(lab_folder + "/facility"));
  return world.files.WriteAtomic(lab_folder + "/facility/signoff.json", document);
}

const Value* Latest(const Observations& seen, std::string_view fact,
                    const Subject* subject = nullptr) {
  const Value* value = nullptr;
  for (const Observation& o : seen) {
    if (o.fact == fact && o.value() != nullptr && (subject == nullptr || o.subject == *subject))
      value = o.value();
  }
  return value;
}

std::string TextOf(const Value* value) {
  return value == nullptr || !std::holds_alternative<std::string>(*value)
             ? ""
             : std::get<std::string>(*value);
}

// What a look at one host found, as the node that the site should expect.
Node Found(Node node, const Observations& seen, std::vector<std::string>& notes,
           std::string& driver) {
  if (const Value* count = Latest(seen, "gpu.count")) {
    const int64_t gpus = std::get<int64_t>(*count);
    std::set<int> domains;
    for (int i = 0; i < gpus; ++i) {
      Gpu gpu;
      gpu.index = i;
      const Subject subject = GpuSubject(node.name, i);
      gpu.model = TextOf(Latest(seen, "gpu.model", &subject));
      if (const Value* numa = Latest(seen, "gpu.numa", &subject))
        gpu.numa = static_cast<int>(std::get<int64_t>(*numa));
      domains.insert(gpu.numa);
      node.gpus.push_back(std::move(gpu));
    }
    node.numa_domains = std::max(1, static_cast<int>(domains.size()));
  } else {
    node.family = GpuFamily::kNone;
    notes.push_back(
        fmt::format("{}: no GPU was seen (nvidia-smi gave nothing); check by hand", node.name));
  }
  std::set<std::string> devices;
  double rate = 0;
  for (const Observation& o : seen) {
    if (o.subject.kind != SubjectKind::kHca) continue;
    devices.insert(o.subject.id.substr(o.subject.id.find('/') + 1));
    if (o.fact == "hca.rate" && o.value() != nullptr)
      rate = std::max(rate, std::get<double>(*o.value()));
  }
  for (const std::string& device : devices)
    node.nics.push_back({device, static_cast<int>(node.nics.size()), 0, rate, ""});
  if (const std::string version = TextOf(Latest(seen, "node.driver_version")); !version.empty()) {
    if (!driver.empty() && driver != version)
      notes.push_back(fmt::format("{} runs driver {}, others {}", node.name, version, driver));
    driver = version;
  }
  return node;
}

// "ops@gpu-01.example:22" is reached as it is and called gpu-01; what is an address alone gets a
// name by its number.
std::string NameOf(const std::string& address, size_t number) {
  std::string called =
      address.substr(address.find('@') == std::string::npos ? 0 : address.find('@') + 1);
  const bool ipv6 = StartsWith(called, "[") || std::count(called.begin(), called.end(), ':') > 1;
  called = called.substr(0, called.find_first_of(".:"));
  const bool numeric = called.find_first_not_of("0123456789") == std::string::npos;
  return ipv6 || numeric ? fmt::format("host-{}", number) : called;
}

Result<std::vector<Node>> NodesAt(const std::vector<std::string>& addresses) {
  std::vector<Node> nodes;
  for (const std::string& address : addresses) {
    Node node;
    node.name = NameOf(address, nodes.size());
    node.address = address;
    const auto same = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const Node& other) { return other.name == node.name; });
    if (same != nodes.end()) {
      return Fail(
          Code::kInvalid,
          fmt::format("--hosts: {} and {} would both be called {}; give one of them another "
                      "name in ~/.ssh/config (Host ...) and name it here by that",
                      Printable(same->address), Printable(address), Printable(node.name)));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

Status InitLab(World& world, const std::string& out, const std::string& name,
               const ClusterSpec& spec, uint64_t seed, bool force) {
  TRY_VOID(RefuseExisting(world.files, out, force));
  TemplateInput input;
  input.name = name;
  input.spec = spec;
  const std::string text = LabSiteTemplate(input);
  TRY(const Site site, ParseSite(text, out).Context("the new site file"));
  const SitePaths paths = PathsOf(out);
  const std::string folder = paths.folder + "/" + site.lab_dir;
  TRY_VOID(world.files.MakeFolders(folder));
  lab::LabState state = lab::MakeLab(spec, seed, world.clock.Now());
  state.folder = folder;
  TRY_VOID(lab::SaveLab(world.files, state));
  TRY_VOID(SignRehearsal(world, paths, site, folder));
  return WriteSite(world.files, out, text);
}

Result<std::vector<std::string>> InitHost(World& world, const std::string& out,
                                          const std::string& name,
                                          const std::vector<std::string>& addresses, bool look,
                                          bool force, Progress& progress) {
  TRY_VOID(RefuseExisting(world.files, out, force));
  TemplateInput input;
  std::vector<std::string> notes;
  Site site;
  site.kind = SiteKind::kHost;
  site.name = name.empty() ? "site" : name;
  TRY(site.cluster.nodes,
      NodesAt(addresses.empty() ? std::vector<std::string>{"localhost"} : addresses));
  input.name = site.name;
  input.nodes = look || !addresses.empty() ? site.cluster.nodes : std::vector<Node>{};
  if (look) {
    host::HostSite hosts(site, PathsOf(out).folder, world);
    input.nodes.clear();
    for (const Node& node : site.cluster.nodes) {
      std::vector<PlannedRead> reads;
      for (const char* probe :
           {"node.identity", "nvidia_smi.query", "nvidia_smi.topo", "infiniband.ibstat"}) {
        if (const Probe* found = FindProbe(probe)) reads.push_back({found, node.name, false});
      }
      const Evidence evidence = Observe(hosts, reads, {}, world.clock, progress);
      if (Latest(evidence.observations, "node.reachable") == nullptr)
        notes.push_back(fmt::format("{} did not answer: its entry is a guess", node.name));
      input.nodes.push_back(Found(node, evidence.observations, notes, input.driver_version));
    }
  }
  TRY_VOID(WriteSite(world.files, out, HostSiteTemplate(input)));
  return notes;
}

}  // namespace muster
