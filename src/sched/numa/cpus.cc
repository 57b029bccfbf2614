#include "sched/numa/cpus.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::numa {
namespace {

// A short list of zones or sockets in the order in which they are tried.
struct Order {
  std::array<uint8_t, kMaxZones> ids{};
  int count = 0;
  const uint8_t* begin() const { return ids.data(); }
  const uint8_t* end() const { return ids.data() + count; }
};

// Places with at least one CPU left, those with the least left first, then by id.
template <typename Left>
void AddByLeft(int from, int to, Left left, Order* order) {
  const int start = order->count;
  for (int id = from; id < to; ++id) {
    if (left(id) > 0) order->ids[order->count++] = static_cast<uint8_t>(id);
  }
  std::sort(order->ids.begin() + start, order->ids.begin() + order->count,
            [&](int a, int b) { return left(a) != left(b) ? left(a) < left(b) : a < b; });
}

class Taker {
 public:
  Taker(const Machine& machine, const CpuSet& available, int count)
      : machine_(machine),
        zones_first_(machine.socket_count >= machine.cpu_zone_count),
        left_(available),
        needed_(count) {
    Recount();
  }

  std::optional<CpuSet> Packed() {
    if (needed_ <= 0) return result_;
    if (needed_ > static_cast<int>(left_.count())) return std::nullopt;
    if (!zones_first_) TakeFullSockets();
    TakeFullZones();
    if (zones_first_) TakeFullSockets();
    TakeFullCores();
    TakeThreads();
    if (needed_ > 0) return std::nullopt;
    return result_;
  }

  void Take(const CpuSet& cpus) { Take(cpus, static_cast<int>(cpus.count())); }
  int needed() const { return needed_; }
  int ZoneLeft(int zone) const { return zone_left_[zone]; }
  CpuSet LeftIn(int zone) const { return left_ & machine_.zone_cpus[zone]; }
  const CpuSet& result() const { return result_; }
  int left() const { return static_cast<int>(left_.count()); }

  // Where zones come first a socket stands once for each of its zones with CPUs left.
  Order Sockets() const {
    Order order;
    if (zones_first_) {
      for (const int zone : Zones())
        order.ids[order.count++] = static_cast<uint8_t>(machine_.zone_socket[zone]);
    } else {
      AddByLeft(0, machine_.socket_count, [this](int s) { return socket_left_[s]; }, &order);
    }
    return order;
  }
  Order Zones() const {
    Order order;
    const auto left = [this](int zone) { return zone_left_[zone]; };
    if (zones_first_) {
      AddByLeft(0, machine_.zone_count, left, &order);
      return order;
    }
    for (const int socket : Sockets()) {
      const auto [first, last] = ZonesOf(socket);
      AddByLeft(first, last, left, &order);
    }
    return order;
  }

 private:
  // The zones of a socket are adjacent: from the first to before the last.
  std::pair<int, int> ZonesOf(int socket) const {
    const int first = socket * machine_.spec.zones_per_socket;
    return {first, std::min(first + machine_.spec.zones_per_socket, machine_.zone_count)};
  }
  // Calls f with the cores among which the next CPUs are chosen, as zones from first to before
  // last: those of a socket where zones come first, of a zone otherwise.
  template <typename F>
  void ForEachPool(F f) const {
    if (zones_first_) {
      for (const int socket : Sockets()) f(ZonesOf(socket).first, ZonesOf(socket).second);
    } else {
      for (const int zone : Zones()) f(zone, zone + 1);
    }
  }
  void Take(const CpuSet& cpus, int counted) {
    result_ |= cpus;
    left_ &= ~result_;
    needed_ -= counted;
    Recount();
  }
  void Recount() {
    socket_left_.fill(0);
    for (int zone = 0; zone < machine_.zone_count; ++zone) {
      zone_left_[zone] = static_cast<int>((left_ & machine_.zone_cpus[zone]).count());
      socket_left_[machine_.zone_socket[zone]] += zone_left_[zone];
    }
  }
  // "Free" compares with the mean socket, and a free one is taken whole: as the kubelet does it.
  void TakeFullSockets() {
    const Order sockets = Sockets();
    CpuSet free;
    for (const int socket : sockets) {
      free.set(socket, socket_left_[socket] == machine_.cpu_count / machine_.socket_count);
    }
    for (const int socket : sockets) {
      const CpuSet& cpus = machine_.socket_cpus[socket];
      if (free.test(socket) && needed_ > 0 && needed_ >= static_cast<int>(cpus.count())) Take(cpus);
    }
  }
  void TakeFullZones() {
    for (const int zone : Zones()) {
      const int size = machine_.spec.zones[zone].cpus;
      if (zone_left_[zone] == size && needed_ > 0 && needed_ >= size)
        Take(machine_.zone_cpus[zone]);
    }
  }
  // The kubelet lists the free cores, then the free CPUs, once; what stands there twice, because
  // two zones of its socket have CPUs left, is counted twice and given once.
  void TakeFullCores() {
    const int threads = machine_.spec.threads_per_core;
    if (needed_ < threads) return;
    CpuSet taken;
    int more = needed_;
    ForEachPool([&](int first, int last) {
      for (int zone = first; zone < last; ++zone) {
        const std::vector<uint16_t>& cpus = machine_.zone_core_cpus[zone];
        for (size_t core = 0; core < cpus.size() && more >= threads; core += threads) {
          if (FreeThreads(&cpus[core]) < threads) continue;
          for (int t = 0; t < threads; ++t) taken.set(cpus[core + t]);
          more -= threads;
        }
      }
    });
    Take(taken, needed_ - more);
  }
  void TakeThreads() {
    if (needed_ <= 0) return;
    const int threads = machine_.spec.threads_per_core;
    CpuSet taken;
    int more = needed_;
    ForEachPool([&](int first, int last) {
      for (int wanted = 1; wanted <= threads && more > 0; ++wanted)  // the fullest cores first
        for (int zone = first; zone < last; ++zone) {
          const std::vector<uint16_t>& cpus = machine_.zone_core_cpus[zone];
          for (size_t core = 0; core < cpus.size() && more > 0; core += threads) {
            if (FreeThreads(&cpus[core]) != wanted) continue;
            for (int t = 0; t < threads && more > 0; ++t) {
              if (!left_.test(cpus[core + t])) continue;
              taken.set(cpus[core + t]);
              --more;
            }
          }
        }
    });
    Take(taken, needed_ - more);
  }
  int FreeThreads(const uint16_t* core) const {
    int free = 0;
    for (int t = 0; t < machine_.spec.threads_per_core; ++t) free += left_.test(core[t]);
    return free;
  }

  const Machine& machine_;
  const bool
      zones_first_;  // a socket holds one zone with CPUs at most, or none: as the kubelet asks
  CpuSet left_, result_;
  int needed_;
  std::array<int, kMaxZones> zone_left_{}, socket_left_{};
};

// The standard deviation of what zones have left, rounded to thousandths as the kubelet does.
double Imbalance(const Order& zones, const std::array<int, kMaxZones>& left) {
  double sum = 0, squares = 0;
  for (const int zone : zones) sum += left[zone];
  const double mean = std::round(sum / zones.count * 1000) / 1000;
  for (const int zone : zones) squares += (left[zone] - mean) * (left[zone] - mean);
  return std::round(std::sqrt(squares / zones.count) * 1000) / 1000;
}

// Calls f(chosen) for every choice of k of `from`, in order; stops when f returns false.
template <typename F>
void Choose(const Order& from, int k, F f) {
  if (k < 1 || k > from.count) return;
  std::array<int, kMaxZones> at{};
  for (int i = 0; i < k; ++i) at[i] = i;
  while (true) {
    Order chosen;
    for (int i = 0; i < k; ++i) chosen.ids[chosen.count++] = from.ids[at[i]];
    if (!f(chosen)) return;
    int i = k - 1;
    while (i >= 0 && at[i] == from.count - k + i) --i;
    if (i < 0) return;
    ++at[i];
    for (int j = i + 1; j < k; ++j) at[j] = at[j - 1] + 1;
  }
}

// How evenly `count` CPUs can be spread over the zones of `combo`; infinity where they cannot.
struct Spread {
  double balance = std::numeric_limits<double>::max();
  Order remainder;
};
std::optional<Spread> TrySpread(const Taker& taker, const Order& zones, const Order& combo,
                                int count, int group) {
  int cpus = 0, groups = 0;
  for (const int zone : combo) {
    cpus += taker.ZoneLeft(zone);
    groups += taker.ZoneLeft(zone) / group;
  }
  if (cpus < count || groups * group < count) return std::nullopt;
  const int each = count / combo.count / group * group;
  std::array<int, kMaxZones> left{};
  for (const int zone : zones) left[zone] = taker.ZoneLeft(zone);
  for (const int zone : combo) {
    if (left[zone] < each) return std::nullopt;
    left[zone] -= each;
  }
  const int rest = count - each * combo.count;
  Spread best;
  if (rest == 0) {
    best.balance = Imbalance(zones, left);
    return best;
  }
  Order candidates;
  for (const int zone : combo) {
    if (left[zone] >= group) candidates.ids[candidates.count++] = static_cast<uint8_t>(zone);
  }
  for (int k = candidates.count; k >= 1; --k) {
    Choose(candidates, k, [&](const Order& subset) {
      auto after = left;
      int sum = 0, more = rest;
      for (const int zone : subset) sum += after[zone];
      if (sum < more) return true;
      while (more > 0) {
        const int before = more;
        for (const int zone : subset) {
          if (more == 0) break;
          if (after[zone] < group) continue;
          after[zone] -= group;
          more -= group;
        }
        if (more == before) return true;
      }
      if (const double balance = Imbalance(zones, after); balance < best.balance) {
        best = {balance, subset};
      }
      return true;
    });
  }
  return best;
}

std::optional<CpuSet> TakeDistributed(const Machine& machine, const CpuSet& available, int count) {
  const int group = machine.spec.full_pcpus_only ? machine.spec.threads_per_core : 1;
  Taker taker(machine, available, count);
  if (count <= 0) return CpuSet{};
  if (count % group != 0) return taker.Packed();
  if (count > taker.left()) return std::nullopt;
  const Order zones = taker.Zones();
  const int groups_per_zone = ((machine.cpu_count - 1) / group) / machine.cpu_zone_count + 1;
  const int groups_needed = (count - 1) / group + 1;
  const int least = (groups_needed - 1) / groups_per_zone + 1;
  const int most = std::min(groups_needed, zones.count);
  for (int k = least; k <= most; ++k) {
    Spread best;
    Order best_combo;
    Choose(zones, k, [&](const Order& combo) {
      if (best.balance == 0) return false;
      const auto spread = TrySpread(taker, zones, combo, count, group);
      if (spread && spread->balance < best.balance) {
        best = *spread;
        best_combo = combo;
      }
      return true;
    });
    if (best_combo.count == 0) continue;
    int each = count / best_combo.count / group * group;
    for (const int zone : best_combo) each = std::min(each, taker.ZoneLeft(zone) / group * group);
    for (const int zone : best_combo) {
      taker.Take(Taker(machine, taker.LeftIn(zone), each).Packed().value_or(CpuSet{}));
    }
    int rest = count - each * best_combo.count;
    while (rest > 0) {
      const int before = rest;
      for (const int zone : best.remainder) {
        if (rest == 0) break;
        if (taker.ZoneLeft(zone) < group) continue;
        taker.Take(Taker(machine, taker.LeftIn(zone), group).Packed().value_or(CpuSet{}));
        rest -= group;
      }
      if (rest == before) break;
    }
    if (taker.needed() != 0) return std::nullopt;
    return taker.result();
  }
  return Taker(machine, available, count).Packed();
}

}  // namespace

std::optional<CpuSet> TakeCpus(const Machine& machine, const CpuSet& available, int count) {
  if (machine.spec.distribute_across_numa) return TakeDistributed(machine, available, count);
  return Taker(machine, available, count).Packed();
}

}  // namespace muster::numa
