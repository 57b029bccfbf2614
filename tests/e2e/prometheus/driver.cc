// Gate 5's probes and its alert proof against the real Prometheus and the real Alertmanager of this
// machine, over labs of two nodes. Prints one line a case: "PASS name", "FAIL name: what", "SKIP
// name: why".
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "backend/lab/infiniband/tools.h"
#include "backend/lab/state/truth.h"
#include "backend/lab/telemetry/exporter.h"
#include "backend/lab/telemetry/monitor.h"
#include "base/strings.h"
#include "probes/prometheus/alert_proof.h"
#include "probes/prometheus/probes.h"
#include "world/posix/posix_world.h"

namespace muster {
namespace {

using lab::LabState;
using Seen = std::map<std::pair<std::string, std::string>,
                      std::string>;  // (subject, fact) -> value, "?" when unobserved

std::string Own() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<size_t>(size > 0 ? size : 0)};
}

class E2e {
 public:
  explicit E2e(std::string folder) : folder_(std::move(folder)) {}

  // Saves what the real servers answer about a lab with one silent exporter, and a proof's
  // transcript: the captures of the tests.
  int Capture(const std::string& into) {
    LabState state = Lab("captured");
    Must(lab::Inject(state, "exporter_silent", "node001", world_.clock.Now()), "injecting");
    Must(lab::SaveLab(world_.files, state), "saving the lab");
    auto monitor = lab::MakeMonitor(state, world_, Own());
    const HostPorts ports = Ports(*monitor);
    const auto save = [&](const std::string& name, const std::string& text) {
      Must(world_.files.WriteAtomic(into + "/" + name, text), "saving " + name);
    };
    const auto get = [&](const std::string& name, const std::string& url) {
      save(name, ReadUrl(ports, "capture", {.url = url}).text);
    };
    const Reading proof = prometheus::RunAlertProof(ports, prometheus::AlertProofOptions::ForLab());
    save("alert-proof.json", proof.text);
    Must(monitor->Do({.method = "POST", .url = "http://monitor/synthetic?value=1"}).ok()
             ? Status()
             : Fail(Code::kUnavailable, "raise"),
         "raising");
    world_.clock.SleepFor(std::chrono::seconds(4));
    save("query-series.json", prometheus::CollectSeries(ports).text);
    save("targets.json", prometheus::CollectTargets(ports).text);
    save("alerts.json", prometheus::CollectAlerts(ports).text);
    save("alertmanager-alerts.json", prometheus::CollectAlertmanager(ports).text);
    get("rules.json", "http://prometheus/api/v1/rules?type=alert");
    get("alertmanagers.json", "http://prometheus/api/v1/alertmanagers");
    get("query-matrix.json",
        "http://prometheus/api/v1/query?query=muster_synthetic_condition%5B3s%5D");
    get("query-scalar.json", "http://prometheus/api/v1/query?query=1%2F0");
    get("query-bad.json", "http://prometheus/api/v1/query?query=up%28");
    get("query-empty.json", "http://prometheus/api/v1/query?query=nothing_of_this_name");
    return 0;
  }

  int Run() {
    AllSeriesAreSeen();
    BrokenRouteIsFound();
    SlowScrapeIsFound();
    return failures_ == 0 ? 0 : 1;
  }

 private:
  LabState Lab(const std::string& name) {
    LabState state =
        lab::MakeLab(*ParseClusterSpec("nodes=2,gpus=4,numa=2,rails=4,leaves=2,spines=2,rate=400"),
                     7, world_.clock.Now() - std::chrono::hours(1));
    state.folder = folder_ + "/" + name;
    Must(world_.files.MakeFolders(state.folder), "making " + state.folder);
    Must(lab::SaveLab(world_.files, state), "saving the lab");
    return state;
  }

  HostPorts Ports(Http& http) {
    return {"monitor",
            {world_.clock, world_.files, world_.processes, http, world_.random},
            Origin::kRehearsed};
  }

  Seen Look(Http& http) {
    Seen seen;
    const HostPorts ports = Ports(http);
    for (const Probe& probe : PrometheusProbes().first(2))
      Keep(ParseReading(probe, probe.collect(ports)), seen);
    return seen;
  }

  static void Keep(const Observations& observations, Seen& seen) {
    for (const Observation& o : observations) {
      const bool* answer = o.value() == nullptr ? nullptr : std::get_if<bool>(o.value());
      seen[{o.subject.id, o.fact}] = o.value() == nullptr ? "?"
                                     : answer != nullptr  ? (*answer ? "true" : "false")
                                                          : FormatValue(*o.value(), Unit::kNone);
    }
  }

  void AllSeriesAreSeen() {
    LabState state = Lab("healthy");
    auto monitor = lab::MakeMonitor(state, world_, Own());
    const Duration begun = world_.clock.Monotonic();
    const Seen seen = Look(*monitor);
    fmt::print("# first answer after {}\n", FormatDuration(world_.clock.Monotonic() - begun));
    bool all = true;
    for (const Node& node : state.cluster.nodes) {
      for (const Gpu& gpu : node.gpus)
        all = all && At(seen, GpuSubject(node.name, gpu.index).id, "telemetry.series") == "1";
      all = all && At(seen, node.name, "telemetry.target_up") == "true";
    }
    Report("every_gpu_has_one_series", all, Text(seen));

    Seen modelled = Look(*lab::MakeModelledMonitor(state, world_.clock));
    Report("the_model_answers_as_the_real_one", SeriesOf(seen) == SeriesOf(modelled),
           Text(modelled));

    AlertArrivesAndResolves(*monitor, "synthetic_alert_arrives_and_resolves");
    SilentExporterIsFound(state, *monitor);
    const std::string url = "http://prometheus/-/ready";
    const bool was_ready = monitor->Do({.url = url}).ok();
    monitor.reset();
    Report("nothing_is_left_behind", was_ready && NothingLeft(state.folder),
           "files are left in " + state.folder);
  }

  void AlertArrivesAndResolves(Http& monitor, const std::string& name) {
    Seen seen;
    const auto proof =
        prometheus::ProveAlert(Ports(monitor), prometheus::AlertProofOptions::ForLab());
    if (proof.ok()) Keep(*proof, seen);
    for (const Observation& o : proof.value_or(Observations()))
      fmt::print("# {} {}\n", o.fact, o.excerpt);
    Report(name,
           At(seen, "site", "alert.fired") == "true" &&
               At(seen, "site", "alert.delivered") == "true" &&
               At(seen, "site", "alert.resolved") == "true",
           Text(seen));
  }

  void SilentExporterIsFound(LabState& state, Http& monitor) {
    Must(lab::Inject(state, "exporter_silent", "node001", world_.clock.Now()), "injecting");
    Must(lab::SaveLab(world_.files, state), "saving the lab");
    Seen seen;
    // A scrape must see it; Prometheus then takes the series back at once.
    for (int look = 0; look < 50; ++look) {
      seen = Look(monitor);
      if (At(seen, "node001", "telemetry.target_up") == "false") break;
      world_.clock.SleepFor(std::chrono::milliseconds(200));
    }
    Report("silent_exporter_is_found",
           At(seen, "node001", "telemetry.target_up") == "false" &&
               At(seen, "node001/gpu0", "telemetry.series").empty() &&
               At(seen, "node000", "telemetry.target_up") == "true" &&
               At(seen, "node000/gpu0", "telemetry.series") == "1",
           Text(seen));
  }

  void BrokenRouteIsFound() {
    LabState state = Lab("broken-route");
    Must(lab::Inject(state, "alert_route_broken", "", world_.clock.Now()), "injecting");
    auto monitor = lab::MakeMonitor(state, world_, Own());
    const auto proof =
        prometheus::ProveAlert(Ports(*monitor), prometheus::AlertProofOptions::ForLab());
    Seen seen;
    std::string why;
    if (proof.ok()) Keep(*proof, seen);
    for (const Observation& o : proof.value_or(Observations())) why += o.excerpt + "; ";
    Report("broken_alert_route_is_found",
           At(seen, "site", "alert.fired") == "true" &&
               At(seen, "site", "alert.delivered") == "false" &&
               Contains(why, "the route is broken"),
           Text(seen) + why);
  }

  void SlowScrapeIsFound() {
    LabState state = Lab("slow-scrape");
    Must(lab::Inject(state, "scrape_too_slow", "node001", world_.clock.Now()), "injecting");
    auto monitor = lab::MakeMonitor(state, world_, Own());
    const Seen seen = Look(*monitor);
    Report("slow_scrape_is_found",
           At(seen, "node001", "telemetry.scrape_interval") == "60" &&
               At(seen, "node000", "telemetry.scrape_interval") == "1",
           Text(seen));
  }

  bool NothingLeft(const std::string& folder) {
    const auto entries = world_.files.List(folder);
    if (!entries.ok()) return false;
    for (const FileInfo& entry : *entries) {
      if (StartsWith(entry.name, "telemetry-")) return false;
    }
    return true;
  }

  static std::string At(const Seen& seen, const std::string& subject, const std::string& fact) {
    const auto found = seen.find({subject, fact});
    return found == seen.end() ? "" : found->second;
  }
  static Seen SeriesOf(const Seen& seen) {
    Seen series;
    for (const auto& [key, value] : seen) {
      if (key.second == "telemetry.series" || key.second == "telemetry.target_up")
        series[key] = value;
    }
    return series;
  }
  static std::string Text(const Seen& seen) {
    std::string text;
    for (const auto& [key, value] : seen)
      text += fmt::format("{} {}={}; ", key.first, key.second, value);
    return text;
  }

  void Must(const Status& status, const std::string& what) {
    if (status.ok()) return;
    fmt::print("FAIL set-up: {}: {}\n", what, status.error().ToString());
    std::exit(1);
  }
  void Report(const std::string& name, bool good, const std::string& otherwise) {
    if (good) {
      fmt::print("PASS {}\n", name);
    } else {
      ++failures_;
      fmt::print("FAIL {}: {}\n", name, otherwise);
    }
    std::fflush(stdout);
  }

  PosixWorld real_;
  World world_ = real_.ports();
  std::string folder_;
  int failures_ = 0;
};

// Starts a monitor and stays, so that run.sh can kill us and look what is left.
int HoldLab(const std::string& folder) {
  PosixWorld real;
  World world = real.ports();
  LabState state = lab::MakeLab(ClusterSpec{}, 7, world.clock.Now());
  state.folder = folder;
  if (!lab::SaveLab(world.files, state).ok()) return 1;
  auto monitor = lab::MakeMonitor(state, world, Own());
  if (!monitor->Prepare().ok()) return 1;
  fmt::print("held\n");
  std::fflush(stdout);
  world.clock.SleepFor(std::chrono::minutes(1));
  return 0;
}

// What a machine without the packages says: every request is answered with their names.
int Absent(const std::string& folder) {
  PosixWorld real;
  World world = real.ports();
  LabState state = lab::MakeLab(ClusterSpec{}, 7, world.clock.Now());
  state.folder = folder;
  const auto answer =
      lab::MakeMonitor(state, world, Own())->Do({.url = "http://prometheus/-/ready"});
  const bool good = !answer.ok() && answer.error().code == Code::kNotFound &&
                    Contains(answer.error().message, "apt-get install");
  fmt::print("{} absent_packages_are_named{}\n", good ? "PASS" : "FAIL",
             good ? "" : ": another answer");
  return good ? 0 : 1;
}

// Writes a node's /sys/class/infiniband under FOLDER and says on stdout which samples node-exporter
// must make of it.
int Sysfs(const std::string& folder) {
  PosixWorld real;
  World world = real.ports();
  LabState state = lab::MakeLab(ClusterSpec{}, 7, world.clock.Now() - std::chrono::hours(1));
  const Node& node = state.cluster.nodes[0];
  const TimePoint now = world.clock.Now();
  const Status status = lab::WriteInfinibandSysfs(state, node, world.files, folder, now);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.error().ToString());
    return 1;
  }
  for (const Nic& nic : node.nics) {
    const auto link = lab::LinkOf(state, {node.name + "/" + nic.device, 1});
    if (!link) continue;
    const lab::LinkTruth truth = lab::LinkNow(state, *link, now);
    const bool at_a = state.cluster.links[*link].a.device == node.name + "/" + nic.device;
    const lab::PortCounters& counters = at_a ? truth.a : truth.b;
    fmt::print("node_infiniband_link_downed_total{{device=\"{}\",port=\"1\"}} {}\n", nic.device,
               counters.link_downed);
    fmt::print("node_infiniband_state_id{{device=\"{}\",port=\"1\"}} 4\n", nic.device);
  }
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == "lab-exporter") {
    muster::PosixWorld real;
    muster::World world = real.ports();
    return muster::lab::ExporterMain({args.begin() + 1, args.end()}, world);
  }
  if (args.size() == 2 && args[0] == "absent") return muster::Absent(args[1]);
  if (args.size() == 2 && args[0] == "sysfs") return muster::Sysfs(args[1]);
  if (args.size() == 2 && args[0] == "hold") return muster::HoldLab(args[1]);
  if (args.size() == 2 && args[0] == "run") return muster::E2e(args[1]).Run();
  if (args.size() == 3 && args[0] == "capture") return muster::E2e(args[1]).Capture(args[2]);
  std::fputs("usage: muster_prometheus_e2e run|absent|sysfs|hold FOLDER, or capture FOLDER INTO\n",
             stderr);
  return 2;
}
