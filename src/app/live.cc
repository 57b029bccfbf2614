#include "app/live.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backend/kubernetes/sched/mirror.h"
#include "base/strings.h"
#include "kube/connection.h"
#include "sched/amount.h"

namespace muster {

namespace {
constexpr Duration kLoadWithin = std::chrono::minutes(1), kAnswerWithin = std::chrono::seconds(5);

kubesched::CoreOptions CoreFor(const LiveOptions& options) {
  kubesched::CoreOptions core;
  core.schedulers = {options.schedulers.begin(), options.schedulers.end()};
  return core;
}

// Groups of several kinds may share a name: "ml/ddp@volcano" is one of them.
std::string FullName(const LiveGang& gang) {
  return gang.name.substr(0, gang.name.find('@')) + "@" + gang.dialect;
}

// "ml/train" of "ml/train-5f0c6a2e-...", an RFC 4122 text of 36 characters; empty of other names.
std::string WithoutUid(const std::string& name) {
  constexpr size_t kUid = 36;
  if (name.size() <= kUid + 1 || name[name.size() - kUid - 1] != '-') return "";
  const std::string uid = name.substr(name.size() - kUid);
  const bool is_one = uid.find_first_not_of("0123456789abcdef-") == std::string::npos &&
                      uid[8] == '-' && uid[13] == '-' && uid[18] == '-' && uid[23] == '-';
  return is_one ? name.substr(0, name.size() - kUid - 1) : "";
}

// Of one that the engine does not know.
SchedWhy Unasked(const LiveGang& gang, const std::string& state, const std::string& otherwise) {
  SchedWhy why;
  why.state = state;
  why.ignored = gang.ignored;
  const std::string& said = gang.why.empty() ? otherwise : gang.why;
  if (!said.empty()) why.because.push_back({"PODS", said});
  return why;
}
}  // namespace

struct LiveCluster::State {
  State(kube::Client& through, const LiveOptions& options)
      : client(through),
        core(CoreFor(options)),
        mirror(
            client, core, [this](const std::string& note) { last_note = note; },
            kubesched::Mirror::Reads::kOnce) {}
  std::string last_note;
  std::vector<kubesched::Act> acts;              // what a scheduler would write now
  std::unique_ptr<kube::Connection> connection;  // where it is our own
  kube::Client& client;
  kubesched::Core core;
  kubesched::Mirror mirror;
};

LiveCluster::LiveCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
LiveCluster::~LiveCluster() = default;

Result<std::unique_ptr<LiveCluster>> LiveCluster::Load(const World& world,
                                                       const LiveOptions& options) {
  TRY(const kube::ClusterConfig config, kube::FindCluster(world.files, kube::ClusterEnvironment(),
                                                          options.kubeconfig, options.context));
  auto connection = std::make_unique<kube::Connection>(world, config);
  TRY(auto live, Load(connection->client(), options));
  live->state_->connection = std::move(connection);
  return live;
}

Result<std::unique_ptr<LiveCluster>> LiveCluster::Load(kube::Client& client,
                                                       const LiveOptions& options) {
  auto state = std::make_unique<State>(client, options);
  // Who cannot be reached is not listed for a minute.
  kube::Request first = kube::List(kube::kNodes, "", {}, 1);
  first.timeout = first.patience = kAnswerWithin;
  TRY_VOID(client.Ask(first));
  state->mirror.Start();
  const Duration until = client.clock().Monotonic() + kLoadWithin;
  while (!state->mirror.synced()) {
    client.Poll(std::chrono::milliseconds(500));
    if (state->mirror.fatal()) return Fail(*state->mirror.fatal());
    if (client.clock().Monotonic() > until)
      return Fail(Code::kTimeout, "the cluster's objects were not read within a minute" +
                                      (state->last_note.empty() ? "" : ": " + state->last_note));
  }
  state->mirror.Prepare();
  state->core.Decide(0, state->acts);
  return std::unique_ptr<LiveCluster>(new LiveCluster(std::move(state)));
}

std::vector<std::string> LiveCluster::Troubles() const {
  std::vector<std::string> troubles = state_->mirror.Unread();
  const auto& of_core = state_->core.troubles();
  troubles.insert(troubles.end(), of_core.begin(), of_core.end());
  return troubles;
}

std::vector<std::string> LiveCluster::QueueNotes() const {
  std::vector<std::string> notes;
  for (const kubesched::FieldsNote& note : state_->mirror.queue_notes())
    notes.push_back(
        fmt::format("{}/{}: {}", note.resource.Title(), note.about.Key(), note.message));
  return notes;
}

std::vector<LiveGang> LiveCluster::Gangs() const {
  std::vector<LiveGang> gangs;
  for (auto& view : state_->core.Gangs()) {
    LiveGang gang;
    gang.name = view.name, gang.dialect = std::string(ToString(view.dialect));
    gang.queue = view.queue, gang.why = view.why;
    gang.ignored = view.ignored;
    // What would be bound this moment is not bound: a scheduler has not come to it yet.
    gang.state = view.state == "running" && view.bound == 0 ? "starting" : view.state;
    gang.min = view.min, gang.pods = view.pods, gang.bound = view.bound;
    gang.priority = view.priority, gang.nodes = std::move(view.nodes);
    gangs.push_back(std::move(gang));
  }
  return gangs;
}

std::vector<LiveNode> LiveCluster::Nodes() const {
  std::map<std::string, std::vector<std::string>> on;
  for (const auto& view : state_->core.Gangs()) {
    for (const std::string& node : view.nodes) on[node].push_back(view.name);
  }
  // What a scheduler would place there now is not there yet.
  std::map<std::string, int64_t> not_yet;
  for (const kubesched::Act& act : state_->acts) {
    const auto* bind = std::get_if<kubesched::BindPod>(&act);
    const auto* pod = bind == nullptr ? nullptr : state_->core.FindPod(bind->pod.uid);
    if (pod == nullptr) continue;
    for (const auto& [resource, amount] : pod->shape) {
      if (sched::IsGpu(resource)) not_yet[bind->node] += amount;
    }
  }
  const sched::Cluster& cluster = state_->core.engine().cluster();
  std::vector<LiveNode> nodes;
  for (int i = 0; i < cluster.node_count(); ++i) {
    if (!cluster.present(i)) continue;
    LiveNode node;
    node.name = cluster.NodeName(i);
    node.place = cluster.PathOf(cluster.LeafOf(i));
    node.state = cluster.health(i) != sched::Health::kAccepted ? "suspect"
                 : cluster.cordoned(i)                         ? "cordoned or not ready"
                                                               : "ready";
    node.policy = cluster.Spec(i).topology_manager.policy;
    if (const int gpu = cluster.gpu_resource(i); gpu >= 0)
      node.gpus = cluster.Capacity(gpu, i),
      node.gpus_free = cluster.Free(gpu, i) + not_yet[node.name];
    node.gangs = on[node.name];
    nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const LiveNode& a, const LiveNode& b) { return a.name < b.name; });
  return nodes;
}

std::vector<LiveQueue> LiveCluster::Queues() const {
  const sched::Queues& queues = state_->core.engine().queues();
  std::vector<LiveQueue> all;
  const auto gangs = Gangs();
  for (int q = 0; q < queues.size(); ++q) {
    LiveQueue queue;
    queue.name = queues.Name(q);
    if (queue.name.empty()) continue;  // of pods that are not ours
    if (queues.Parent(q) >= 0) queue.parent = queues.Name(queues.Parent(q));
    for (int item = 0; item < queues.item_count(); ++item) {
      const auto& [flavor, resource] = queues.Item(item);
      const int64_t nominal = queues.Nominal(q, item), used = queues.Usage(q, item);
      if (nominal == 0 && used == 0) continue;
      queue.items.push_back({flavor, resource, nominal, used, queues.Available(q, item)});
    }
    for (const LiveGang& gang : gangs) {
      if (gang.queue != queue.name) continue;
      ++(gang.bound > 0 ? queue.running : queue.waiting);
    }
    all.push_back(std::move(queue));
  }
  return all;
}

Result<SchedWhy> LiveCluster::Why(const std::string& job) {
  std::vector<LiveGang> found;
  for (LiveGang& gang : Gangs()) {
    const std::string plain = gang.name.substr(0, gang.name.find('@')), full = FullName(gang);
    if (plain == job || full == job || plain.ends_with("/" + job) || full.ends_with("/" + job))
      found.push_back(std::move(gang));
  }
  if (found.empty()) {
    // Volcano's controller names a job's group JOB-UID.
    for (LiveGang& gang : Gangs()) {
      const std::string job_name = WithoutUid(gang.name.substr(0, gang.name.find('@')));
      if (job_name == job || job_name.ends_with("/" + job)) found.push_back(std::move(gang));
    }
  }
  if (found.empty())
    return Fail(Code::kNotFound,
                fmt::format("no pod of a gang {} is there (`muster get gangs` lists them)",
                            Printable(job)));
  if (found.size() > 1) {
    std::string names;
    for (const LiveGang& gang : found) names += (names.empty() ? "" : ", ") + FullName(gang);
    return Fail(Code::kInvalid, fmt::format("{} gangs are called {}: say which, of {}",
                                            found.size(), Printable(job), Printable(names)));
  }
  const LiveGang& gang = found[0];
  if (gang.state == "gathering") return Unasked(gang, "pending", "its pods are not there yet");
  auto why = AskWhyOf(state_->core.engine(), gang.name);
  // One that runs where the engine has no room for it is not in the engine, or has ended there.
  const bool unknown = why.ok() ? why->state == "finished" : why.error().code == Code::kNotFound;
  if (unknown) return Unasked(gang, gang.state, "");
  if (why.ok()) why->ignored = gang.ignored;
  return why;
}

Result<LiveDrain> LiveCluster::Drain(const std::string& node) const {
  LiveDrain drain;
  drain.node = node;
  for (const LiveGang& gang : Gangs()) {
    if (std::find(gang.nodes.begin(), gang.nodes.end(), node) != gang.nodes.end())
      drain.there.push_back(gang.name);
  }
  sched::Engine fork = state_->core.engine().Fork();
  std::set<std::string> placed;
  std::vector<sched::Decision> decisions;
  TRY_VOID(fork.Take({fork.now(), sched::NodeChange{node, sched::NodeVerb::kFail}}, decisions));
  fork.Settle(decisions);
  for (const sched::Decision& decision : decisions) {
    if (const auto* bind = std::get_if<sched::BindDecision>(&decision.body)) {
      placed.insert(bind->job);
      if (std::find(drain.there.begin(), drain.there.end(), bind->job) != drain.there.end())
        drain.moved.push_back(
            fmt::format("{} {} {} -> {}", bind->job, bind->task, bind->rank, bind->node));
    } else if (const auto* evict = std::get_if<sched::EvictDecision>(&decision.body)) {
      drain.evicted.push_back(evict->job);
    }
  }
  // A gang that loses a node is evicted, and those that find another place do not wait.
  std::erase_if(drain.evicted, [&](const std::string& gang) { return placed.contains(gang); });
  return drain;
}

}  // namespace muster
