// Judges a gang's logs as gate 7 does: driver FOLDER NODES RANKS_PER_NODE reads FOLDER/rankN.log
// and prints one line a fact: "fact subject value", or "fact subject unknown reason".
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "measure/training/training.h"
#include "world/posix/posix_world.h"

int main(int argc, char** argv) {
  using namespace muster;
  if (argc != 4) {
    std::fputs("usage: driver FOLDER NODES RANKS_PER_NODE\n", stderr);
    return 2;
  }
  PosixWorld machine;
  World world = machine.ports();
  training::TrainingRun run;
  run.gang = "torchrun";
  for (int n = 0; n < std::atoi(argv[2]); ++n) run.nodes.push_back(fmt::format("node{}", n));
  run.ranks_per_node = std::atoi(argv[3]);
  for (int r = 0; r < run.ranks(); ++r) {
    const auto text = world.files.Read(fmt::format("{}/rank{}.log", argv[1], r));
    if (!text.ok()) continue;
    run.reports.push_back(training::ParseRankLog(
        r, run.nodes[static_cast<size_t>(r / run.ranks_per_node)], 0, *text));
  }
  Reading reading;
  reading.probe = "measure.training";
  const auto checkpoint = training::CheckCheckpoint(world.files, run.reports, run.ranks());
  for (const Observation& o : training::ObserveTraining(run, checkpoint, reading)) {
    if (const Value* value = o.value(); value != nullptr) {
      fmt::print("{} {} {}\n", o.fact, o.subject.id, FormatValue(*value, o.unit));
    } else {
      fmt::print("{} {} unknown {}\n", o.fact, o.subject.id, o.unobserved()->detail);
    }
  }
  return 0;
}
