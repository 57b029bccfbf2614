#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sched/numa/testing/cases.h"

namespace muster::numa {
namespace {

using Json = nlohmann::json;
using Random = std::mt19937_64;

constexpr int64_t kGiB = int64_t{1} << 30;

int Pick(Random& random, int low,
         int high) {  // both inclusive; not std's, which may differ by host
  return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}
bool Chance(Random& random, int percent) { return Pick(random, 1, 100) <= percent; }
template <typename T>
T OneOf(Random& random, std::initializer_list<T> values) {
  return values.begin()[Pick(random, 0, static_cast<int>(values.size()) - 1)];
}

struct Shape {  // of the machine, for the pods to be sized by
  int zones = 1, cpus_per_zone = 0, threads = 1;
  int64_t memory_per_zone = 0;
  std::vector<std::pair<std::string, int>> devices;
  std::vector<std::string> names;
};

Json ZonesJson(Random& random, Shape* shape, bool uneven) {
  Json zones = Json::array();
  std::vector<std::vector<int>> distance(shape->zones, std::vector<int>(shape->zones, 10));
  for (int a = 0; a < shape->zones; ++a) {
    for (int b = a + 1; b < shape->zones; ++b) {
      distance[a][b] = distance[b][a] = OneOf(random, {11, 12, 20, 21, 32});
    }
  }
  for (int zone = 0; zone < shape->zones; ++zone) {
    int cpus = shape->cpus_per_zone;
    int64_t memory = shape->memory_per_zone;
    if (uneven) {
      cpus = shape->threads * Pick(random, zone == 0 ? 1 : 0, cpus / shape->threads);
      memory = kGiB * Pick(random, 2, static_cast<int>(memory / kGiB));
    }
    zones.push_back({{"cpus", cpus},
                     {"memory", memory},
                     {"reserved_memory", kGiB * (zone == 0 ? 1 : Pick(random, 0, 1))},
                     {"distances", distance[zone]}});
  }
  return zones;
}

Json DevicesJson(Random& random, Shape* shape, bool prefers_lowest) {
  Json devices = Json::array();
  for (const char* name : {"nvidia.com/gpu", "rdma/ib", "example.com/fpga"}) {
    const bool first = shape->names.empty();
    if (!first && !Chance(random, shape->names.size() == 1 ? 45 : 15)) continue;
    const int count = first ? OneOf(random, {1, 2, 4, 8, 8, 8, 8, 16}) : Pick(random, 1, 10);
    const int kind = Pick(random, 1, 100);  // how the plugin describes where its devices are
    Json zones = Json::array();
    for (int i = 0; i < count; ++i) {
      Json of_device = Json::array();
      if (kind <= 65) {
        of_device.push_back(i * shape->zones / count);
      } else if (kind <= 85) {
        of_device.push_back(Pick(random, 0, shape->zones - 1));
      } else if (kind <= 95) {  // some in several zones, some in none
        for (int zone = 0; zone < shape->zones; ++zone) {
          if (Chance(random, 35)) of_device.push_back(zone);
        }
      }
      zones.push_back(of_device);
    }
    shape->names.push_back(name);
    shape->devices.emplace_back(name, count);
    devices.push_back({{"name", name}, {"zones", zones}, {"prefers_lowest", prefers_lowest}});
  }
  return devices;
}

Json PodJson(Random& random, const Shape& shape, const std::string& name) {
  Json pod{{"pod", name}, {"guaranteed", Chance(random, 85)}, {"containers", Json::array()}};
  const int containers = Chance(random, 75) ? 1 : Pick(random, 2, 3);
  for (int i = 0; i < containers; ++i) {
    Json devices = Json::object();
    for (const auto& [resource, count] : shape.devices) {
      if (!Chance(random, 75)) continue;
      const int most = Chance(random, 70) ? std::max(1, count / 2) : count + 1;
      devices[resource] = Chance(random, 3) ? 0 : Pick(random, 1, most);
    }
    const int cpus = shape.cpus_per_zone * shape.zones;
    std::string cpu = "500m";
    if (Chance(random, 75)) {
      int whole = Pick(random, 1, std::max(1, Chance(random, 60) ? cpus / 3 : cpus));
      if (Chance(random, 60)) whole = (whole + shape.threads - 1) / shape.threads * shape.threads;
      cpu = std::to_string(whole);
    }
    const int64_t gib = shape.memory_per_zone / kGiB;
    const int64_t most = Chance(random, 70) ? gib / 2 : gib * shape.zones;
    pod["containers"].push_back(
        {{"devices", devices},
         {"cpu", cpu},
         {"memory", kGiB * Pick(random, 1, static_cast<int>(std::max<int64_t>(1, most)))}});
  }
  return pod;
}

Json Generate(uint64_t seed, uint64_t number) {
  Random random(seed * 1000003 + number);
  Shape shape;
  const int size = Pick(random, 1, 1000);
  shape.zones = size <= 60 ? 1 : size <= 700 ? 2 : size <= 780 ? 3 : size <= 995 ? 4 : 8;
  const bool big = shape.zones == 8;  // the kubelet walks the cross product of 255 masks a list
  shape.threads = Chance(random, 50) ? 2 : 1;
  shape.cpus_per_zone = shape.threads * Pick(random, 2, 8);
  shape.memory_per_zone = kGiB * Pick(random, 4, 64);
  const bool uneven = Chance(random, 25);
  const bool prefers_lowest = Chance(random, 75);
  Json test{{"name", fmt::format("{}/{}", seed, number)},
            {"zones", ZonesJson(random, &shape, uneven)},
            {"threads_per_core", shape.threads},
            {"siblings_adjacent", Chance(random, 40)},
            {"zones_per_socket", shape.zones % 2 == 0 && Chance(random, 35) ? 2 : 1},
            {"devices", DevicesJson(random, &shape, prefers_lowest)},
            {"policy",
             OneOf<const char*>(random, {"none", "best-effort", "best-effort", "restricted",
                                         "restricted", "single-numa-node", "single-numa-node"})},
            {"scope", Chance(random, 65) ? "container" : "pod"},
            {"options", Json::object()},
            {"cpu_static", Chance(random, 60) && !(big && shape.devices.size() > 1)},
            {"cpu_options", Json::object()},
            {"reserved_cpus", Pick(random, 1, 2)},
            {"memory_static", Chance(random, 40) && !big},
            {"steps", Json::array()}};
  if (big && test["devices"].size() > 2) test["devices"].erase(2);
  if (Chance(random, 25)) test["options"]["prefer-closest-numa-nodes"] = "true";
  if (Chance(random, 30)) test["cpu_options"]["full-pcpus-only"] = "true";
  if (!big && Chance(random, 20)) test["cpu_options"]["distribute-cpus-across-numa"] = "true";
  int cpus = 0;
  for (const Json& zone : test["zones"]) cpus += zone["cpus"].get<int>();
  if (cpus < 4) test["cpu_static"] = false;

  std::vector<std::string> pods;
  const int steps = big ? 5 : Pick(random, 6, 16);
  for (int i = 0; i < steps; ++i) {
    const int what = Pick(random, 1, 100);
    if (what <= 22 && !pods.empty()) {
      const int which = Pick(random, 0, static_cast<int>(pods.size()) - 1);
      test["steps"].push_back({{"remove", pods[which]}});
      pods.erase(pods.begin() + which);
    } else if (what <= 25) {
      Json sick = Json::object();
      for (const auto& [resource, count] : shape.devices) {
        sick[resource] = Json::array();
        for (int d = 0; d < count; ++d) {
          if (Chance(random, 20)) sick[resource].push_back(d);
        }
      }
      test["steps"].push_back({{"unhealthy", sick}});
    } else {
      pods.push_back("p" + std::to_string(i));
      test["steps"].push_back(PodJson(random, shape, pods.back()));
    }
  }
  return test;
}

}  // namespace

std::string GenerateCase(uint64_t seed, uint64_t number) { return Generate(seed, number).dump(); }

}  // namespace muster::numa
