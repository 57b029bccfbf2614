#include "backend/kubernetes/cluster_hosts.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/exporter_http.h"
#include "backend/kubernetes/probe_node.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

Error NoWay() {
  return Error{
      Code::kUnavailable,
      "a cluster's nodes are seen through its API server alone: ssh or kubernetes.probe_pods in "
      "the site file names how their own tools can be run",
      {},
      false};
}

}  // namespace

class ClusterHosts::ByLogins final : public Hosts {
 public:
  explicit ByLogins(ClusterHosts& all) : all_(all) {}
  std::vector<std::string> Names() const override { return all_.Names(); }
  Result<HostPorts> At(std::string_view host) override { return all_.At(host, false); }
  Origin origin() const override { return all_.origin(); }
  int Parallel() const override { return all_.Parallel(); }

 private:
  ClusterHosts& all_;
};

// `kubectl get --raw PATH`, answered by our own client; everything else goes to whoever reaches the
// node, or to nobody.
class ClusterHosts::Asks final : public Processes {
 public:
  Asks(kube::Client& client, std::mutex& mutex, Processes* others)
      : client_(client), mutex_(mutex), others_(others) {}

  Result<CommandResult> Run(const Command& command) override {
    const auto& words = command.argv;
    if (!IsRawGet(command)) {
      if (others_ != nullptr) return others_->Run(command);
      return Fail(NoWay());
    }
    kube::Request request;
    request.raw_path = words[3];
    request.resource.plural = words[3];
    request.timeout = command.timeout;
    // A kubelet that does not answer is a 503 of the API server; asking again for a minute, node
    // after node, would only hide it.
    request.patience = std::chrono::seconds(3);
    const std::lock_guard lock(mutex_);
    const kube::Answer answer = client_.Await(std::move(request));
    if (answer.status == 0 && answer.error) return Fail(*answer.error);
    CommandResult result;
    result.out = answer.ok() ? answer.body : "";
    result.exit_code = answer.ok() ? 0 : 1;
    if (answer.error) {
      // The words by which kubectl's readers know a refusal.
      const bool refused = answer.status == 403 || answer.status == 401;
      result.err = (refused                ? "Forbidden: "
                    : answer.status == 404 ? "NotFound: "
                                           : "") +
                   answer.error->message;
    }
    return result;
  }
  Result<std::unique_ptr<Child>> Start(const Command& command, const std::string& log) override {
    if (others_ != nullptr) return others_->Start(command, log);
    return Fail(NoWay());
  }

 private:
  kube::Client& client_;
  std::mutex& mutex_;
  Processes* others_;
};

class ClusterHosts::NoFiles final : public Files {
 public:
  Result<std::string> Read(const std::string&, uint64_t) override { return Fail(NoWay()); }
  Status WriteAtomic(const std::string&, std::string_view) override { return Fail(NoWay()); }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string&) override {
    return Fail(NoWay());
  }
  Status Truncate(const std::string&, uint64_t) override { return Fail(NoWay()); }
  Result<std::vector<FileInfo>> List(const std::string&) override { return Fail(NoWay()); }
  Result<FileInfo> Stat(const std::string&) override { return Fail(NoWay()); }
  Status MakeFolders(const std::string&) override { return Fail(NoWay()); }
  Status Remove(const std::string&) override { return Fail(NoWay()); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string&, std::string_view) override {
    return Fail(NoWay());
  }
};

class ClusterHosts::NoHttp final : public Http {
 public:
  Result<HttpResponse> Do(const HttpRequest&) override { return Fail(NoWay()); }
  Result<HttpResponse> Stream(const HttpRequest&, const OnBytes&, Duration&) override {
    return Fail(NoWay());
  }
};

ClusterHosts::ClusterHosts(const Site& site, World local, kube::Client& client,
                           std::unique_ptr<Hosts> others, bool nodes_have_a_way,
                           std::shared_ptr<void> keeps)
    : keeps_(std::move(keeps)),
      site_(site.name),
      local_(local),
      client_(client),
      others_(std::move(others)),
      nodes_have_a_way_(nodes_have_a_way),
      no_files_(std::make_unique<NoFiles>()),
      no_http_(std::make_unique<NoHttp>()),
      by_logins_(std::make_unique<ByLogins>(*this)) {
  for (const Node& node : site.cluster.nodes) names_.push_back(node.name);
}
ClusterHosts::~ClusterHosts() = default;

Hosts& ClusterHosts::by_logins() { return *by_logins_; }

Origin ClusterHosts::origin() const {
  const std::lock_guard lock(mutex_);
  if (origin_) return *origin_;
  kube::Request request = kube::List(kube::kNodes, "", {"muster.dev/played=true", ""}, 1);
  request.timeout = request.patience = std::chrono::seconds(3);
  const kube::Answer answer = client_.Await(std::move(request));
  if (!answer.ok()) return Origin::kLive;
  bool played = false;
  const auto read = kube::ReadList(answer.body, [&](std::string_view) -> Status {
    played = true;
    return {};
  });
  if (!read.ok()) return Origin::kLive;
  origin_ = played ? Origin::kRehearsed : Origin::kLive;
  return *origin_;
}

Http& ClusterHosts::Exporter(std::string_view node, Http& otherwise) {
  exporters_.push_back(MakeExporterHttp(client_, mutex_, std::string(node), otherwise));
  return *exporters_.back();
}

Result<HostPorts> ClusterHosts::At(std::string_view host, bool by_pods) {
  const bool node = std::find(names_.begin(), names_.end(), host) != names_.end();
  const Origin where = origin();
  if (by_pods && pods_ != nullptr) {
    const auto found = pod_nodes_.find(host == "fabric" ? std::string_view(fabric_) : host);
    if (found != pod_nodes_.end()) return PortsOf(*found->second, host, where);
  }
  if (!node && host != site_) {
    TRY(HostPorts other, others_->At(host));
    return HostPorts{other.host, other.world, where};
  }
  Processes* processes = nullptr;
  World world{local_.clock, *no_files_, local_.processes, *no_http_, local_.random};
  if (node && nodes_have_a_way_) {
    TRY(const HostPorts there, others_->At(host));
    processes = &there.world.processes;
    const std::lock_guard lock(made_);
    asks_.push_back(std::make_unique<Asks>(client_, mutex_, processes));
    return HostPorts{std::string(host),
                     World{there.world.clock, there.world.files, *asks_.back(),
                           Exporter(host, there.world.http), there.world.random},
                     where};
  }
  const std::lock_guard lock(made_);
  asks_.push_back(std::make_unique<Asks>(client_, mutex_, processes));
  Http& http = node ? Exporter(host, world.http) : world.http;
  return HostPorts{std::string(host),
                   World{world.clock, world.files, *asks_.back(), http, world.random}, where};
}

// A node's ports by probe pods.
struct ClusterHosts::PodNode {
  PodNode(ClusterHosts& all, const std::string& name)
      : api(all.client_, all.mutex_, nullptr),
        node(*all.pods_, api, name, all.local_.clock),
        http(MakeExporterHttp(all.client_, all.mutex_, name, node.http())) {}
  Asks api;
  ProbeNode node;
  std::unique_ptr<Http> http;
};

HostPorts ClusterHosts::PortsOf(PodNode& node, std::string_view host, Origin origin) {
  return HostPorts{std::string(host),
                   World{local_.clock, node.node.files(), node.node, *node.http, local_.random},
                   origin};
}

void ClusterHosts::UseProbePods(ProbePodsOptions options, const std::string& fabric) {
  pods_ = std::make_unique<ProbePods>(client_, mutex_, local_.files, std::move(options));
  fabric_ = fabric;
  for (const std::string& name : names_)
    pod_nodes_.emplace(name, std::make_unique<PodNode>(*this, name));
}

// What one answer leads to (an adapter's name, then its counters) is found by asking again with
// what is known by then.
void ClusterHosts::Foresee(std::span<const Foreseen> reads) {
  constexpr int kRounds = 4;
  if (pods_ == nullptr) return;
  for (int round = 0; round < kRounds; ++round) {
    for (auto& [name, node] : pod_nodes_) node->node.Note(true);
    for (const Foreseen& one : reads) {
      const auto found = pod_nodes_.find(one.host == "fabric" ? fabric_ : one.host);
      if (found != pod_nodes_.end()) one.read(PortsOf(*found->second, one.host, Origin::kLive));
    }
    std::map<std::string, std::vector<Command>> asked;
    bool clock = false;
    for (auto& [name, node] : pod_nodes_) {
      node->node.Note(false);
      if (auto commands = node->node.TakeNoted(); !commands.empty())
        asked[name] = std::move(commands);
      clock = clock || (round == 0 && node->node.asks_the_time());
    }
    if (asked.empty()) return;
    for (auto& [name, answers] : pods_->Run(asked, clock))
      pod_nodes_.at(name)->node.Learn(asked.at(name), std::move(answers));
  }
}

Status ClusterHosts::Forget() {
  if (pods_ == nullptr) return {};
  for (auto& [name, node] : pod_nodes_) node->node.Forget();
  return pods_->Remove();
}

}  // namespace muster::kubernetes
