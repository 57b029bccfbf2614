// Gate 2's probes against the real infiniband-diags, which ask a real OpenSM over a simulated
// fabric (ibsim). run.sh sets the fabric up and breaks it; this program reads it with the
// production collectors and parsers and says whether the facts are right. Prints "PASS name" or
// "FAIL name: what". Usage: muster_opensm_e2e SCENARIO.
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/probes.h"
#include "world/posix/posix_world.h"

namespace muster {
namespace {

// A fabric settles by itself after a fault: OpenSM sweeps within a second or two, a busy machine
// takes longer.
constexpr Duration kPatience = std::chrono::seconds(20), kPause = std::chrono::milliseconds(300);

class Seen {
 public:
  void Read(const HostPorts& ports, std::string_view id) {
    for (const Probe& probe : InfinibandProbes()) {
      if (probe.id != id) continue;
      for (const Observation& o : ParseReading(probe, probe.collect(ports))) {
        const std::string value =
            o.value() != nullptr ? FormatValue(*o.value(), o.unit) : "? " + o.unobserved()->detail;
        values_[{o.subject.id, o.fact}] = value;
      }
    }
  }
  void Want(const std::string& subject, const std::string& fact, const std::string& value) {
    const auto it = values_.find({subject, fact});
    const std::string seen = it == values_.end() ? "nothing" : it->second;
    if (seen != value) Say(fmt::format("{} {}: expected {}, seen {}", subject, fact, value, seen));
  }
  void WantAbsent(const std::string& subject, const std::string& fact) {
    if (values_.contains({subject, fact})) Say(fmt::format("{} {} is still seen", subject, fact));
  }
  void WantCount(const std::string& fact, const std::string& value, size_t count) {
    size_t n = 0;
    for (const auto& [key, seen] : values_) n += key.second == fact && seen == value ? 1 : 0;
    if (n != count) Say(fmt::format("{} times {} = {}, expected {}", n, fact, value, count));
  }
  void WantEvery(const std::string& fact, const std::string& value) {
    for (const auto& [key, seen] : values_) {
      if (key.second == fact && seen != value)
        Say(fmt::format("{} {} is {}", key.first, fact, seen));
    }
  }
  void Say(std::string what) { wrong_.push_back(std::move(what)); }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  std::map<std::pair<std::string, std::string>, std::string> values_;
  std::vector<std::string> wrong_;
};

using Scenario = std::function<void(const HostPorts&, Seen&)>;

void ReadLinks(const HostPorts& ports, Seen& seen) {
  seen.Read(ports, "infiniband.iblinkinfo");
  seen.Read(ports, "infiniband.ibnetdiscover");
}

void Healthy(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Read(ports, "infiniband.sminfo");
  seen.Read(ports, "infiniband.perfquery");
  seen.Read(ports, "infiniband.ibstat");
  seen.WantCount("link.state", "Active", 32);
  seen.WantCount("link.physical_state", "LinkUp", 32);
  seen.WantCount("link.width", "4", 32);
  seen.WantCount("link.rate", "100 Gb/s", 32);
  seen.WantCount("link.present", "yes", 32);
  seen.Want("leaf00/5--spine00/1", "link.rate", "100 Gb/s");
  seen.Want("leaf03/4--node015/mlx5_0/1", "link.state", "Active");
  seen.Want("fabric", "sm.masters", "1");
  seen.Want("fabric", "sm.state", "MASTER");
  seen.WantCount("port.symbol_errors", "0", 64);
  seen.WantCount("port.link_downed", "0", 64);
  seen.Want("fabric/ibsim0", "hca.state", "Active");
}

void ErrorCounters(const HostPorts& ports, Seen& seen) {
  seen.Read(ports, "infiniband.perfquery");
  seen.Want("leaf00/5", "port.symbol_errors", "1200");
  seen.Want("leaf00/5", "port.link_downed", "3");
  seen.Want("node005/mlx5_0/1", "port.xmit_discards", "4021");
  seen.Want("leaf00/6", "port.symbol_errors", "0");
  Seen listed;
  listed.Read(ports, "infiniband.ibqueryerrors");
  listed.Want("leaf00/5", "port.symbol_errors", "1200");
  listed.Want("node005/mlx5_0/1", "port.xmit_discards", "4021");
  listed.WantAbsent("leaf00/6", "port.symbol_errors");
  for (const std::string& what : listed.wrong()) seen.Say(what);
}

void LinkDown(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Want("leaf00/7", "port.state", "Down");
  seen.Want("leaf00/7", "port.physical_state", "Polling");
  seen.Want("spine01/1", "port.state", "Down");
  seen.WantAbsent("leaf00/7--spine01/1", "link.present");
  seen.WantAbsent("leaf00/7--spine01/1", "link.state");
  seen.WantCount("link.state", "Active", 31);
  // The ports of leaf00 are no longer in a row.
  seen.Read(ports, "infiniband.perfquery");
  seen.Want("leaf00/6", "port.symbol_errors", "0");
  seen.Want("leaf00/8", "port.symbol_errors", "0");
  seen.WantCount("port.symbol_errors", "0", 62);
}

void Degraded(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Want("leaf00/6--spine00/2", "link.width", "1");
  seen.Want("leaf00/6--spine00/2", "link.rate", "25 Gb/s");
  seen.Want("leaf00/4--node003/mlx5_0/1", "link.width", "2");
  seen.Want("leaf00/4--node003/mlx5_0/1", "link.rate", "50 Gb/s");
  seen.Want("leaf01/5--spine00/3", "link.width", "4");
  seen.Want("leaf01/5--spine00/3", "link.rate", "56 Gb/s");
  seen.WantCount("link.rate", "100 Gb/s", 29);
}

void DeadHost(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Want("leaf01/2", "port.state", "Down");
  seen.WantAbsent("leaf01/2--node005/mlx5_0/1", "link.present");
  seen.WantCount("link.present", "yes", 31);
  seen.WantCount("link.state", "Active", 31);
}

void NoSubnetManager(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Read(ports, "infiniband.sminfo");
  seen.Want("fabric", "sm.masters", "0");
  seen.WantCount("link.state", "Active", 32);  // what it configured stays
}

void NeverConfigured(const HostPorts& ports, Seen& seen) {
  ReadLinks(ports, seen);
  seen.Read(ports, "infiniband.sminfo");
  seen.Read(ports, "infiniband.ibstat");
  seen.Want("fabric", "sm.masters", "0");
  seen.WantCount("link.state", "Initialize", 32);
  seen.WantCount("link.physical_state", "LinkUp", 32);
  seen.Want("fabric/ibsim0", "hca.state", "Initializing");
}

void Standby(const HostPorts& ports, Seen& seen) {
  seen.Read(ports, "infiniband.sminfo");
  seen.Want("fabric", "sm.masters", "1");
  // That the second one was asked shows in the transcript.
  for (const Probe& probe : InfinibandProbes()) {
    if (probe.id != "infiniband.sminfo") continue;
    if (!Contains(probe.collect(ports).text, "SMINFO_STANDBY")) seen.Say("no standby was asked");
  }
}

int Run(const std::string& name) {
  const std::map<std::string, Scenario> scenarios = {
      {"healthy", Healthy},    {"error_counters", ErrorCounters},
      {"link_down", LinkDown}, {"degraded", Degraded},
      {"dead_host", DeadHost}, {"no_subnet_manager", NoSubnetManager},
      {"standby", Standby},    {"never_configured", NeverConfigured}};
  const auto it = scenarios.find(name);
  if (it == scenarios.end()) {
    std::fprintf(stderr, "no scenario \"%s\"\n", name.c_str());
    return 2;
  }
  PosixWorld world;
  const HostPorts ports{"fabric", world.ports(), Origin::kRehearsed};
  const Duration begin = ports.world.clock.Monotonic();
  while (true) {
    Seen seen;
    it->second(ports, seen);
    if (seen.wrong().empty()) {
      fmt::print("PASS opensm_{}\n", name);
      return 0;
    }
    if (ports.world.clock.Monotonic() - begin > kPatience) {
      std::string what = seen.wrong()[0];
      for (size_t i = 1; i < seen.wrong().size() && i < 4; ++i) what += "; " + seen.wrong()[i];
      fmt::print("FAIL opensm_{}: {}\n", name, what);
      return 1;
    }
    ports.world.clock.SleepFor(kPause);
  }
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return argc == 2 ? muster::Run(argv[1]) : 2; }
