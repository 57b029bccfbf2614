// Muster's packing policy. A node is worth what demands like those seen so far would still use of
// it if they came one after another, as they fit, until none does; a pod goes where that worth
// falls least. So a share goes to the device whose rest is hardest to use otherwise, a pod with
// many CPUs to a node with CPUs to spare, and a node with eight idle GPUs is broken last. Pure
// values; scoring allocates nothing. docs/design/packing.md has the reasons and the figures.
#pragma once

#include <vector>

#include "sched/packing/mix.h"
#include "sched/packing/residual.h"

namespace muster::packing {

// One set for all clusters and pod lists.
struct WorthConstants {
  double share_end = 0.05;  // against the frequencies that fit: no further share comes to a device
  double whole_end = 0.01;  // the same, for what comes to idle GPUs
  double pressure =
      0.1;             // price of a GPU of a model that is asked for twice as much as the average
  double slots = 0.1;  // what room for a demand of several GPUs adds, by its part of all demand
  double scarce_boost = 15;  // and how much more where the cluster has little of such room left
  double scarce_slots = 5;   // what is little
};

class Worth {
 public:
  // Tables for the mix on these nodes (their present state; `capacity` counts all GPUs of each
  // model). O(models x CPU steps x (100 x share classes + GPUs x classes) + nodes x classes of
  // several GPUs).
  Worth(const Mix& mix, const std::vector<Residual>& nodes, const std::vector<double>& capacity,
        const WorthConstants& constants = {});

  // Thousandths of a GPU that would still be used.
  double Of(const Residual& node) const;
  // The change of worth when a demand that fits is taken, less the price of its GPUs.
  Choice Score(const Residual& node, const Demand& demand) const;

 private:
  static constexpr int kCpuSteps = 130;
  static constexpr int kRests = 101;  // hundredths of a device
  struct Table {                      // of one GPU model
    std::vector<float> share;         // [rest][cpu]: what shares would still use of one device
    std::vector<float> idle;          // [idle GPUs][cpu]
    double price = 0;                 // of a whole GPU
  };
  struct Slot {  // a class that asks for several GPUs
    Demand demand;
    double weight = 0;
  };
  struct Arrival {
    int units = 0, cpu = 0;  // hundredths of a device or GPUs; CPU steps
    double frequency = 0;
  };

  void FillTable(Table& table, const std::vector<Arrival>& shares,
                 const std::vector<Arrival>& wholes) const;
  void WeighSlots(const Mix& mix, const std::vector<Residual>& nodes);
  int Step(int64_t cpu_milli) const;

  WorthConstants constants_;
  int64_t step_milli_ = 1000;
  int most_gpus_ = 0;
  std::vector<Table> tables_;
  std::vector<Slot> slots_;
};

}  // namespace muster::packing
