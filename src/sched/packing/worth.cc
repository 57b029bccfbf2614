#include "sched/packing/worth.h"

#include <algorithm>

namespace muster::packing {

namespace {

double Accessible(const Demand& demand, const std::vector<double>& capacity) {
  double sum = 0;
  for (size_t model = 0; model < capacity.size(); ++model)
    if (demand.Allows(static_cast<int>(model))) sum += capacity[model];
  return sum;
}

}  // namespace

Worth::Worth(const Mix& mix, const std::vector<Residual>& nodes,
             const std::vector<double>& capacity, const WorthConstants& constants)
    : constants_(constants), tables_(capacity.size()) {
  int64_t most_cpu = 0;
  for (const Residual& node : nodes) {
    most_cpu = std::max(most_cpu, node.cpu_milli);
    most_gpus_ = std::max(most_gpus_, node.gpus);
  }
  step_milli_ = std::max<int64_t>(1000, most_cpu / (kCpuSteps - 2) + 1);
  double all = 0, asked = 0;
  for (const double of_model : capacity) all += of_model;
  for (const DemandClass& c : mix.classes())
    asked += c.count * static_cast<double>(c.demand.gpu_total());

  for (size_t model = 0; model < tables_.size(); ++model) {
    std::vector<Arrival> shares, wholes;
    double pressure = 0;
    for (const DemandClass& c : mix.classes()) {
      const Demand& demand = c.demand;
      if (demand.gpus == 0 || !demand.Allows(static_cast<int>(model))) continue;
      // Demands that only few nodes may take come to these the more often.
      const double crowding = all / std::max(1.0, Accessible(demand, capacity));
      pressure += c.count * static_cast<double>(demand.gpu_total()) * crowding;
      const auto cpu = static_cast<int>((demand.cpu_milli + step_milli_ - 1) / step_milli_);
      const double frequency = c.count / mix.total() * crowding;
      if (demand.IsShare()) {
        shares.push_back({(demand.gpu_milli + 9) / 10, cpu, frequency});
      } else {
        wholes.push_back({demand.gpus, cpu, frequency});
      }
    }
    tables_[model].price = asked > 0 ? constants_.pressure * pressure / asked * kWholeGpu : 0;
    FillTable(tables_[model], shares, wholes);
  }
  WeighSlots(mix, nodes);
}

// Both recursions condition on a demand that fits: with frequency f it is taken and the rest goes
// on, with `*_end` nothing comes any more.
void Worth::FillTable(Table& table, const std::vector<Arrival>& shares,
                      const std::vector<Arrival>& wholes) const {
  table.share.assign(static_cast<size_t>(kRests) * kCpuSteps, 0);
  table.idle.assign((static_cast<size_t>(most_gpus_) + 1) * kCpuSteps, 0);
  const auto share = [&](int rest, int cpu) -> float& {
    return table.share[static_cast<size_t>(rest) * kCpuSteps + static_cast<size_t>(cpu)];
  };
  const auto idle = [&](int gpus, int cpu) -> float& {
    return table.idle[static_cast<size_t>(gpus) * kCpuSteps + static_cast<size_t>(cpu)];
  };
  for (int cpu = 0; cpu < kCpuSteps; ++cpu) {
    for (int rest = 1; rest < kRests; ++rest) {
      double used = 0, weight = 0;
      for (const Arrival& a : shares) {
        if (a.units > rest || a.cpu > cpu) continue;
        used += a.frequency * (a.units * 10.0 + share(rest - a.units, cpu - a.cpu));
        weight += a.frequency;
      }
      if (weight > 0) share(rest, cpu) = static_cast<float>(used / (weight + constants_.share_end));
    }
    for (int gpus = 1; gpus <= most_gpus_; ++gpus) {
      double used = 0, weight = 0;
      for (const Arrival& a : shares) {
        if (a.cpu > cpu) continue;
        used += a.frequency * (a.units * 10.0 + share(kRests - 1 - a.units, cpu - a.cpu) +
                               idle(gpus - 1, cpu - a.cpu));
        weight += a.frequency;
      }
      for (const Arrival& a : wholes) {
        if (a.units > gpus || a.cpu > cpu) continue;
        used += a.frequency * (1.0 * a.units * kWholeGpu + idle(gpus - a.units, cpu - a.cpu));
        weight += a.frequency;
      }
      if (weight > 0) idle(gpus, cpu) = static_cast<float>(used / (weight + constants_.whole_end));
    }
  }
}

void Worth::WeighSlots(const Mix& mix, const std::vector<Residual>& nodes) {
  double asked = 0;
  for (const DemandClass& c : mix.classes())
    asked += c.count * static_cast<double>(c.demand.gpu_total());
  for (const DemandClass& c : mix.classes()) {
    if (c.demand.gpus < 2) continue;
    double room = 0;
    for (const Residual& node : nodes) {
      if (!c.demand.Allows(node.model)) continue;
      const int64_t by_cpu = node.cpu_milli / std::max<int64_t>(1, c.demand.cpu_milli);
      room += static_cast<double>(std::min<int64_t>(IdleGpus(node) / c.demand.gpus, by_cpu));
    }
    const double scarce = constants_.scarce_slots / (constants_.scarce_slots + room);
    const double part = c.count * static_cast<double>(c.demand.gpu_total()) / asked;
    slots_.push_back({c.demand, constants_.slots * part * (1 + constants_.scarce_boost * scarce)});
  }
}

int Worth::Step(int64_t cpu_milli) const {
  return static_cast<int>(std::min<int64_t>(kCpuSteps - 1, cpu_milli / step_milli_));
}

double Worth::Of(const Residual& node) const {
  const Table& table = tables_[static_cast<size_t>(node.model)];
  const int cpu = Step(node.cpu_milli), next = std::min(kCpuSteps - 1, cpu + 1);
  double worth = 0;
  int idle = 0;
  for (int i = 0; i < node.gpus; ++i) {
    if (node.gpu_left[i] == kWholeGpu) {
      ++idle;
    } else {
      worth += table.share[static_cast<size_t>(node.gpu_left[i] / 10) * kCpuSteps +
                           static_cast<size_t>(cpu)];
    }
  }
  if (idle == 0) return worth;
  for (const Slot& slot : slots_) {
    if (slot.demand.gpus > idle || !slot.demand.Allows(node.model)) continue;
    const int64_t by_cpu = node.cpu_milli / std::max<int64_t>(1, slot.demand.cpu_milli);
    worth += slot.weight * static_cast<double>(slot.demand.gpu_total() *
                                               std::min<int64_t>(idle / slot.demand.gpus, by_cpu));
  }
  const double part = std::min(1.0, static_cast<double>(node.cpu_milli - cpu * step_milli_) /
                                        static_cast<double>(step_milli_));
  const auto row = static_cast<size_t>(idle) * kCpuSteps;
  return worth + table.idle[row + static_cast<size_t>(cpu)] * (1 - part) +
         table.idle[row + static_cast<size_t>(next)] * part;
}

Choice Worth::Score(const Residual& node, const Demand& demand) const {
  const double before = Of(node);
  const double price = tables_[static_cast<size_t>(node.model)].price;
  if (!demand.IsShare()) {
    Residual after = node;
    Take(after, demand, -1);
    return {Of(after) - before - price * demand.gpus, -1};
  }
  Choice best;
  for (int i = 0; i < node.gpus; ++i) {
    if (node.gpu_left[i] < demand.gpu_milli) continue;
    bool seen = false;  // devices with equal rests are alike
    for (int j = 0; j < i && !seen; ++j) seen = node.gpu_left[j] == node.gpu_left[i];
    if (seen) continue;
    Residual after = node;
    Take(after, demand, i);
    // Only a device that was idle costs its model's price.
    const double score = Of(after) - before - (node.gpu_left[i] == kWholeGpu ? price : 0);
    if (best.gpu < 0 || score > best.score) best = {score, i};
  }
  return best;
}

}  // namespace muster::packing
