// The client against a real API server, one scenario a call: driver KUBECONFIG SCENARIO ARGS.
// Prints facts as "name value" lines; run.sh holds them to what must be. Not a test binary: it
// wants a server that is started, killed and compacted around it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/connection.h"
#include "kube/core.h"
#include "kube/lease.h"
#include "kube/reflector.h"
#include "world/posix/posix_world.h"

namespace muster::kube {
namespace {

constexpr const char* kNs = "e2e";
constexpr int kPolls = 4000;

void Fact(const std::string& name, const std::string& value) {
  fmt::print("{} {}\n", name, value);
  std::fflush(stdout);
}
void Fact(const std::string& name, uint64_t value) { Fact(name, std::to_string(value)); }

std::string ConfigMap(const std::string& name, const std::string& value) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"{}"}},"data":{{"v":"{}"}}}})",
      name, kNs, value);
}

std::string PodBody(const std::string& name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","labels":{{"app":"x"}}}},"spec":{{"schedulerName":"none",)"
      R"("terminationGracePeriodSeconds":0,"containers":[{{"name":"c","image":"i"}}]}}}})",
      name);
}

template <typename Done>
bool Until(Client& client, Done done) {
  for (int i = 0; i < kPolls && !done(); ++i) client.Poll(std::chrono::milliseconds(50));
  return done();
}

// Runs all of them at once and waits; returns how many succeeded, the first error as a fact.
size_t RunAll(Client& client, const std::vector<Request>& requests) {
  size_t ended = 0, good = 0;
  bool said = false;
  for (const Request& request : requests) {
    client.Start(request, [&](const Answer& answer) {
      ++ended;
      if (answer.ok()) ++good;
      if (!answer.ok() && !said) {
        said = true;
        Fact("first_error", answer.error->ToString());
      }
    });
  }
  Until(client, [&] { return ended == requests.size(); });
  return good;
}

// Every change held to the rule of exact events.
struct Mirror {
  std::map<std::string, std::pair<std::string, std::string>> known;
  int added = 0, updated = 0, deleted = 0, wrong = 0;
  void On(const Change<Object>& change) {
    const Meta& meta = (change.after != nullptr ? change.after : change.before)->meta;
    const auto found = known.find(meta.Key());
    if (change.kind == ChangeKind::kAdded) {
      ++added;
      wrong += found != known.end();
    } else {
      ++(change.kind == ChangeKind::kUpdated ? updated : deleted);
      wrong += found == known.end() || found->second.first != change.before->meta.uid ||
               found->second.second != change.before->meta.resource_version;
    }
    if (change.kind == ChangeKind::kDeleted) {
      known.erase(meta.Key());
    } else {
      known[meta.Key()] = {meta.uid, meta.resource_version};
    }
  }
};

struct Following {
  Mirror mirror;
  Reflector<Object> reflector;
  Following(Client& client, ListMode mode)
      : reflector(
            client,
            [mode] {
              Followed followed;
              followed.resource = kConfigMaps;
              followed.ns = kNs;
              followed.mode = mode;
              return followed;
            }(),
            DecodeObject, [this](const Change<Object>& change) { mirror.On(change); },
            [](const Error& error, bool) { Fact("trouble", error.ToString()); }) {
    reflector.Start();
  }
  // Names and versions by a fresh list, against what the events added up to.
  bool SameAs(Client& client) {
    std::map<std::string, std::pair<std::string, std::string>> listed;
    const auto body = client.Ask(List(kConfigMaps, kNs));
    if (!body.ok()) return false;
    const auto page = ReadList(*body, [&](std::string_view json) -> Status {
      TRY(const Object object, DecodeObject(json));
      listed[object.meta.Key()] = {object.meta.uid, object.meta.resource_version};
      return {};
    });
    return page.ok() && Until(client, [&] { return mirror.known == listed; });
  }
  void Facts(const std::string& prefix) {
    Fact(prefix + ".added", static_cast<uint64_t>(mirror.added));
    Fact(prefix + ".updated", static_cast<uint64_t>(mirror.updated));
    Fact(prefix + ".deleted", static_cast<uint64_t>(mirror.deleted));
    Fact(prefix + ".wrong", static_cast<uint64_t>(mirror.wrong));
    Fact(prefix + ".lists", reflector.stats().lists);
    Fact(prefix + ".resumed", reflector.stats().resumed);
    Fact(prefix + ".expired", reflector.stats().expired);
  }
};

std::vector<Request> Creates(int from, int to) {
  std::vector<Request> requests;
  for (int i = from; i < to; ++i) {
    requests.push_back(Create(kConfigMaps, kNs, ConfigMap("c" + std::to_string(i), "1")));
  }
  return requests;
}

// Thousands of objects: followed from an empty start by pages, and once more as a streamed list.
void Follow(Client& client, int count) {
  Following pages(client, ListMode::kPages);
  Until(client, [&] { return pages.reflector.synced(); });
  const int before = pages.mirror.added;
  Fact("created", RunAll(client, Creates(0, count)));
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (i % 3 == 0) requests.push_back(Delete(kConfigMaps, kNs, name));
    if (i % 3 == 1) requests.push_back(MergePatch(kConfigMaps, kNs, name, R"({"data":{"v":"2"}})"));
  }
  Fact("changed", RunAll(client, requests));
  Fact("follow.same", pages.SameAs(client) ? "yes" : "no");
  pages.mirror.added -= before;
  pages.Facts("follow");
  Following stream(client, ListMode::kStream);
  Until(client, [&] { return stream.reflector.synced(); });
  Fact("stream.same", stream.SameAs(client) ? "yes" : "no");
  stream.Facts("stream");
}

// The server is killed and started again by `command` while we follow.
void Restart(Client& client, Processes& processes, const std::vector<std::string>& command) {
  Following following(client, ListMode::kPages);
  Until(client, [&] { return following.reflector.synced(); });
  Fact("before", RunAll(client, Creates(100000, 100050)));
  Command run;
  run.argv = command;
  run.timeout = std::chrono::minutes(4);
  const auto ran = processes.Run(run);
  Fact("restarted", ran.ok() && ran->exit_code == 0 ? "yes" : "no");
  // The first creates may meet a server that only just came back.
  Until(client, [&] { return client.Ask(List(kConfigMaps, kNs, {}, 1)).ok(); });
  Fact("after", RunAll(client, Creates(100050, 100100)));
  Fact("restart.same", following.SameAs(client) ? "yes" : "no");
  following.Facts("restart");
}

// What happened while nobody watched, and etcd forgot: a real 410.
void Compaction(Client& client, Processes& processes, const std::vector<std::string>& command) {
  Following following(client, ListMode::kPages);
  Until(client, [&] { return following.reflector.synced(); });
  following.reflector.Stop();
  following.mirror.added = 0;
  RunAll(client, Creates(200000, 200010));
  RunAll(client, {Delete(kConfigMaps, kNs, "c1"),
                  MergePatch(kConfigMaps, kNs, "c2", R"({"data":{"v":"3"}})"),
                  Delete(kConfigMaps, kNs, "c4")});
  RunAll(client, {Create(kConfigMaps, kNs, ConfigMap("c4", "again"))});
  Command run;
  run.argv = command;
  run.timeout = std::chrono::minutes(4);
  const auto ran = processes.Run(run);
  Fact("compacted", ran.ok() && ran->exit_code == 0 ? "yes" : "no");
  following.reflector.Start();
  Until(client, [&] { return following.reflector.stats().lists == 2; });
  Fact("compaction.same", following.SameAs(client) ? "yes" : "no");
  following.Facts("compaction");
}

void ApplyConflict(Client& client) {
  Request theirs = Apply(kConfigMaps, kNs, "shared", ConfigMap("shared", "theirs"));
  theirs.query = {{"fieldManager", "helm"}};
  Fact("apply.first", client.Ask(theirs).ok() ? "ok" : "failed");
  const auto ours = client.Ask(Apply(kConfigMaps, kNs, "shared", ConfigMap("shared", "ours")));
  Fact("apply.conflict", ours.ok() ? "none" : ours.error().ToString());
  const auto forced =
      client.Ask(Apply(kConfigMaps, kNs, "shared", ConfigMap("shared", "ours"), true));
  Fact("apply.forced", forced.ok() ? ValueAt(*forced, "/data/v").value_or("") : "failed");
}

void Optimistic(Client& client) {
  const auto made = client.Ask(Create(kConfigMaps, kNs, ConfigMap("opt", "1")));
  const std::string version = ValueAt(*made, "/metadata/resourceVersion").value_or("");
  const auto body = [&](const char* value) {
    return fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"data":{{"v":"{}"}}}})", version,
                       value);
  };
  Fact("optimistic.first",
       client.Ask(MergePatch(kConfigMaps, kNs, "opt", body("2"))).ok() ? "ok" : "failed");
  const Answer second = client.Await(MergePatch(kConfigMaps, kNs, "opt", body("3")));
  Fact("optimistic.second", second.status);
  Fact("optimistic.says", second.ok() ? "nothing" : second.error->ToString());
  const Answer old = client.Await(Delete(kConfigMaps, kNs, "opt", {"", version}));
  Fact("optimistic.delete", old.status);
}

void Binding(Client& client) {
  client.Ask(Create(kNodes, "", R"({"metadata":{"name":"node-a"}})")).ok();
  const auto pod = client.Ask(Create(kPods, kNs, PodBody("bind-me")));
  const std::string uid = pod.ok() ? ValueAt(*pod, "/metadata/uid").value_or("") : "";
  Fact("bind.wrong_uid",
       client.Await(Bind(kNs, "bind-me", "00000000-0000-0000-0000-000000000000", "node-a")).status);
  Fact("bind.first", client.Await(Bind(kNs, "bind-me", uid, "node-a")).status);
  const Answer second = client.Await(Bind(kNs, "bind-me", uid, "node-b"));
  Fact("bind.second", second.status);
  Fact("bind.says", second.ok() ? "nothing" : second.error->ToString());
  const Answer status = client.Await(StrategicPatch(
      kPods, kNs, "bind-me",
      R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
      "status"));
  Fact("status.patch", status.status);
  const auto read = client.Ask(Get(kPods, kNs, "bind-me"));
  const auto decoded = read.ok() ? DecodePod(*read) : Fail(read.error());
  Fact("status.phase", decoded.ok() ? decoded->phase : "unreadable");
  Fact("bind.node", decoded.ok() ? decoded->node_name : "unreadable");
  const Answer evicted = client.Await(Evict(kNs, "bind-me"));
  Fact("evict.status", evicted.status);
  Fact("evict.says", evicted.ok() ? "nothing" : evicted.error->ToString());
}

void Missing(Client& client) {
  const auto says = [&](const char* name, const Request& request) {
    const auto body = client.Ask(request);
    Fact(name, body.ok() ? "nothing" : body.error().ToString());
  };
  says("missing.crd", List({"scheduling.volcano.sh", "v1beta1", "queues", "Queue", false}, ""));
  says("missing.version", List({"batch", "v9", "jobs", "Job"}, kNs));
  says("missing.kind", List({"batch", "v1", "dreams", "Dream"}, kNs));
  says("missing.object", Get(kPods, kNs, "nobody"));
  says("missing.rights", List(kPods, kNs));
}

void HoldLease(Client& client, const std::string& identity, int64_t hold_ms) {
  LeaseOptions options;
  options.ns = kNs;
  options.name = "leader";
  options.identity = identity;
  options.duration = std::chrono::seconds(4);
  options.renew_deadline = std::chrono::seconds(3);
  options.retry = std::chrono::milliseconds(500);
  bool led = false, released = false;
  LeaderElector elector(client, options, [&](bool leading) {
    Fact(leading ? "leading" : "not_leading",
         fmt::format("{} {} term", identity, FormatTime(client.clock().Now())));
    led = led || leading;
  });
  elector.Start();
  Until(client, [&] { return led; });
  Fact("term", static_cast<uint64_t>(elector.term()));
  const Duration until = client.clock().Monotonic() + std::chrono::milliseconds(hold_ms);
  while (client.clock().Monotonic() < until) client.Poll(std::chrono::milliseconds(100));
  elector.Release([&] { released = true; });
  Until(client, [&] { return released; });
  Fact("released", identity);
}

int Main(int argc, char** argv) {
  if (argc < 3) return 2;
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = ReadKubeconfig(world.files, {argv[1]});
  if (!config.ok()) {
    Fact("error", config.error().ToString());
    return 2;
  }
  Connection connection(world, *config);
  Client& client = connection.client();
  const std::string scenario = argv[2];
  const std::vector<std::string> rest(argv + 3, argv + argc);
  const auto number = [&](size_t i) { return i < rest.size() ? ParseInt(rest[i]).value_or(0) : 0; };
  if (scenario == "follow") Follow(client, static_cast<int>(number(0)));
  if (scenario == "restart") Restart(client, world.processes, rest);
  if (scenario == "compaction") Compaction(client, world.processes, rest);
  if (scenario == "apply") ApplyConflict(client);
  if (scenario == "optimistic") Optimistic(client);
  if (scenario == "binding") Binding(client);
  if (scenario == "missing") Missing(client);
  if (scenario == "lease") HoldLease(client, rest.at(0), number(1));
  return 0;
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) { return muster::kube::Main(argc, argv); }
