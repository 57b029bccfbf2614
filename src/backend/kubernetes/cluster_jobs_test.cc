#include "backend/kubernetes/cluster_jobs.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

TEST(OptionsFromPins, TakeTheSitesWords) {
  const auto options = OptionsFromPins({{"gang_dialect", "volcano"},
                                        {"proof_namespace", "proofs"},
                                        {"proof_queue", "q"},
                                        {"proof_image", "i@sha256:0"},
                                        {"gang_patience", "5s"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->dialect, render::Dialect::kVolcano);
  EXPECT_EQ(options->ns, "proofs");
  EXPECT_EQ(options->patience, std::chrono::seconds(5));
}

TEST(OptionsFromPins, AWordThatCannotBeMeantNamesItsPin) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"gang_dialect", "sbatch"}, {"gang_dialect", "slurm"}, {"gang_patience", "5"}}) {
    const auto options = OptionsFromPins({{key, value}});
    ASSERT_FALSE(options.ok()) << value;
    EXPECT_NE(options.error().ToString().find(key), std::string::npos);
  }
}

kube::Pod PodWith(kube::Condition condition) {
  kube::Pod pod;
  pod.conditions.push_back(std::move(condition));
  return pod;
}

TEST(SchedulerWord, IsWhatWasSaidLastOfAPodThatIsNotPlaced) {
  SchedulerWord word;
  EXPECT_EQ(word.Text(), "no scheduler said a word");
  word.Hear(PodWith({"PodScheduled", "False", "Unschedulable", "0/2 nodes\x1b are free", {}}));
  EXPECT_EQ(word.Text(), "0/2 nodes\\x1b are free");
  word.Hear(PodWith({"PodScheduled", "False", "SchedulingGated", "", {}}));
  EXPECT_EQ(word.Text(), "SchedulingGated");
  word.Hear(PodWith({"PodScheduled", "True", "", "placed", {}}));
  word.Hear(PodWith({"PodScheduled", "False", "", "", {}}));
  word.Hear(PodWith({"Ready", "False", "", "not ready", {}}));
  EXPECT_EQ(word.Text(), "SchedulingGated");
}

}  // namespace
}  // namespace muster::kubernetes
