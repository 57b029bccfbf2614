// Which devices a rank gets on its node.
#include <bit>
#include <limits>

#include "sched/cluster.h"

namespace muster::sched {

namespace {

constexpr int kWholeDevice = 1000;  // thousandths

uint64_t LowestBits(uint64_t mask, int count) {
  uint64_t taken = 0;
  for (int i = 0; i < count && mask != 0; ++i) {
    taken |= mask & (~mask + 1);
    mask &= mask - 1;
  }
  return taken;
}
int CountOf(uint64_t mask) { return std::popcount(mask); }

}  // namespace

// The fullest GPU that the share still fits on: whole ones stay whole.
int Cluster::ChooseShare(const Shape& shape, int node) const {
  const size_t n = static_cast<size_t>(node);
  int best = -1, best_free = kWholeDevice + 1;
  for (uint64_t rest = shared_[n]; rest != 0; rest &= rest - 1) {
    const int device = std::countr_zero(rest);
    const int left = MilliFree(node, device);
    if (left >= shape.gpu_milli && left < best_free) best = device, best_free = left;
  }
  if (best >= 0) return best;
  const uint64_t whole = FreeDevices(gpu_resource_[n], node);
  return whole == 0 ? -1 : std::countr_zero(whole);
}

// Devices of one zone where that is possible, of the zone with the least to spare; ids that are
// free of every kind asked first, so that a GPU and its rail's adapter go together.
void Cluster::ChooseDevices(const Shape& shape, int node, Slot& slot) const {
  const size_t n = static_cast<size_t>(node);
  uint64_t common = ~uint64_t{0};
  for (const auto& ask : shape.devices) common &= devices_[static_cast<size_t>(ask.resource)][n];
  const Zones& zones = *zones_[n];
  int zone = -1, zone_spare = std::numeric_limits<int>::max();
  for (int z = 0; z < zone_count(node); ++z) {
    int spare = 0;
    for (const auto& ask : shape.devices) {
      const auto masks = zones.find(ask.resource);
      if (masks == zones.end()) continue;
      const int here = CountOf(masks->second[static_cast<size_t>(z)] &
                               devices_[static_cast<size_t>(ask.resource)][n]);
      if (here < ask.amount) spare = std::numeric_limits<int>::max();
      if (spare != std::numeric_limits<int>::max()) spare += here - static_cast<int>(ask.amount);
    }
    if (spare < zone_spare) zone = z, zone_spare = spare;
  }
  for (size_t k = 0; k < shape.devices.size(); ++k) {
    const auto& ask = shape.devices[k];
    const uint64_t free = devices_[static_cast<size_t>(ask.resource)][n];
    uint64_t near = ~uint64_t{0};
    const auto masks = zones.find(ask.resource);
    if (zone >= 0 && masks != zones.end()) near = masks->second[static_cast<size_t>(zone)];
    const int want = static_cast<int>(ask.amount);
    uint64_t taken = 0;
    for (const uint64_t pool : {free & near & common, free & near, free & common, free})
      taken |= LowestBits(pool & ~taken, want - CountOf(taken));
    slot.devices[k] = taken;
  }
}

void Cluster::ApplyShare(int milli, int node, int device, bool take) {
  const size_t n = static_cast<size_t>(node);
  const uint64_t bit = uint64_t{1} << device;
  uint64_t& whole = devices_[static_cast<size_t>(gpu_resource_[n])][n];
  uint16_t& used = milli_used_[static_cast<size_t>(milli_begin_[n]) + static_cast<size_t>(device)];
  const bool was = used > 0;
  used = static_cast<uint16_t>(take ? used + milli : used - milli);
  const bool is = used > 0;
  if (was == is) return;
  whole = is ? whole & ~bit : whole | bit;
  shared_[n] = is ? shared_[n] | bit : shared_[n] & ~bit;
  if (kubelet_[n] >= 0) kubelets_.SetShared(kubelet_[n], resources_[gpu_resource_[n]], device, is);
}

void Cluster::Apply(const Shape& shape, const Slot& slot, bool take) {
  const size_t n = static_cast<size_t>(slot.node);
  for (const auto& ask : shape.sums)
    free_[static_cast<size_t>(ask.resource)][n] += take ? -ask.amount : ask.amount;
  for (size_t k = 0; k < shape.devices.size(); ++k) {
    uint64_t& free = devices_[static_cast<size_t>(shape.devices[k].resource)][n];
    free = take ? free & ~slot.devices[k] : free | slot.devices[k];
  }
  if (slot.milli_device >= 0) ApplyShare(shape.gpu_milli, slot.node, slot.milli_device, take);
  Changed(slot.node);
}

}  // namespace muster::sched
