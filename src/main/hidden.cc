#include "main/hidden.h"

#include "backend/lab/kubernetes/kubelets_main.h"
#include "backend/lab/lab_tool.h"
#include "backend/lab/nccl/rank.h"
#include "backend/lab/telemetry/exporter.h"
#include "backend/lab/work/serve.h"
#include "backend/lab/work/train_rank.h"

namespace muster {

std::optional<int> RunHidden(std::span<const std::string> words, World& world) {
  if (words.empty()) return std::nullopt;
  if (words[0] == "lab-exporter") return lab::ExporterMain({words.begin() + 1, words.end()}, world);
  if (words[0] == "lab-kubelets") return lab::KubeletsMain({words.begin() + 1, words.end()}, world);
  if (words[0] == "lab-tool") return lab::LabToolMain(words.subspan(1), world);
  if (words[0] != "lab-rank" || words.size() < 2) return std::nullopt;
  const auto args = words.subspan(2);
  if (words[1] == "all_reduce_perf") return lab::AllReduceRankMain(args, world);
  if (words[1] == "muster-train") return lab::TrainRankMain(args, world);
  if (words[1] == "serve") return lab::ServeMain(args, world);
  if (words[1] == "true") return 0;
  return std::nullopt;
}

}  // namespace muster
