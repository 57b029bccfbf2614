#include "diagnose/healing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

using ::testing::HasSubstr;

// The causes that are findings, with the texts that show them.
std::string Findings(const std::string& text) {
  std::string all;
  for (const Finding& f : testing::DiagnoseText(text).findings) {
    if (f.cause->kind == CauseKind::kQuestion) continue;
    all += f.cause->id + ":";
    for (const EvidenceLine& line : f.evidence) all += fmt::format(" {}", line.at.line);
    all += "\n";
  }
  return all;
}

std::string Row(const char* type, const char* reason, const char* object, const char* says) {
  return fmt::format("9m   {}   {}   {}   {}\n", type, reason, object, says);
}
const char* const kNoMount = "MountVolume.SetUp failed for volume \"ckpt\" : mount failed";
const char* const kHead = "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n";

TEST(AComplaint, IsHealedByTheStartOfItsOwnPod) {
  EXPECT_EQ(Findings(kHead + Row("Warning", "FailedMount", "pod/train-0", kNoMount) +
                     Row("Normal", "Started", "pod/train-0", "Started container main")),
            "");
}

TEST(AComplaint, StandsWhenAnotherPodStarts) {
  EXPECT_EQ(Findings(kHead + Row("Warning", "FailedMount", "pod/train-0", kNoMount) +
                     Row("Normal", "Started", "pod/train-1", "Started container main")),
            "container.mount: 2\n");
}

TEST(AComplaint, OfSeveralPodsIsToldOfThoseThatDidNotHeal) {
  const std::string both = kHead + Row("Warning", "FailedMount", "pod/train-0", kNoMount) +
                           Row("Warning", "FailedMount", "pod/train-1", kNoMount);
  EXPECT_EQ(Findings(both), "container.mount: 2 3\n");
  EXPECT_EQ(Findings(both + Row("Normal", "Started", "pod/train-0", "Started container main")),
            "container.mount: 3\n");
  EXPECT_EQ(Findings(both + Row("Normal", "Started", "pod/train-1", "Started container main") +
                     Row("Normal", "Started", "pod/train-0", "Started container main")),
            "");
}

TEST(AComplaint, ThatComesAgainIsNotHealedByWhatWasBefore) {
  EXPECT_EQ(Findings(kHead + Row("Warning", "FailedMount", "pod/train-0", kNoMount) +
                     Row("Normal", "Started", "pod/train-0", "Started container main") +
                     Row("Warning", "FailedMount", "pod/train-0", kNoMount)),
            "container.mount: 2\n");
}

TEST(AComplaint, ThatNamesNoPodIsHealedOnlyWhereThereIsOne) {
  const std::string waits =
      "  Warning  FailedScheduling  9m  default-scheduler  0/4 nodes are available: 4 Insufficient "
      "nvidia.com/gpu.\n";
  const auto placed = [](const char* pod) {
    return fmt::format(
        "  Normal  Scheduled  2m  default-scheduler  Successfully assigned ml/{} to gpu-2\n", pod);
  };
  EXPECT_EQ(Findings(waits + placed("train-1")), "");
  EXPECT_EQ(Findings(waits + placed("train-1") + placed("train-2")), "scheduler.no_gpu_free: 1\n");
}

TEST(AComplaint, OfADescribedPodIsThatPods) {
  const auto described = [](const char* pod, const char* event) {
    return fmt::format("Name:         {}\nNamespace:    ml\nEvents:\n  {}\n\n", pod, event);
  };
  const std::string bad =
                        "Warning  FailedMount  4m  kubelet  MountVolume.SetUp failed for volume "
                        "\"ckpt\" : mount failed",
                    good = "Normal   Started      1m  kubelet  Started container main";
  EXPECT_EQ(Findings(described("train-0", bad.c_str()) + described("train-1", good.c_str())),
            "container.mount: 4\n");
  EXPECT_EQ(Findings(described("train-0", (bad + "\n  " + good).c_str()) +
                     described("train-1", good.c_str())),
            "");
}

TEST(AComplaint, OfAServerOfFilesIsHealedByThatServerOnThatHost) {
  const auto says = [](const char* host, const char* what) {
    return fmt::format("Mar 10 03:10:11 {} kernel: nfs: server {}\n", host, what);
  };
  const char* const lost = "nas01 not responding, still trying";
  EXPECT_EQ(Findings(says("n1", lost) + says("n1", "nas01 OK")), "");
  EXPECT_THAT(Findings(says("n1", lost) + says("n1", "nas02 OK")), HasSubstr("storage.stale: 1"));
  EXPECT_THAT(Findings(says("n1", lost) + says("n2", "nas01 OK")), HasSubstr("storage.stale: 1"));
}

TEST(AComplaint, OfAGangIsHealedByItsPods) {
  const std::string waits =
      kHead + Row("Warning", "Unschedulable", "podgroup/train", "tasks in gang unschedulable");
  const auto placed = [](const char* pod) {
    return Row("Normal", "Scheduled", (std::string("pod/") + pod).c_str(),
               (std::string("Successfully assigned ml/") + pod + " to gpu-2").c_str());
  };
  EXPECT_THAT(Findings(waits + placed("eval-0")), HasSubstr("scheduler.gang_pending: 2"));
  EXPECT_EQ(Findings(waits + placed("train-worker-0")), "");
}

// Among thousands of pods each is told by its own name, and what is beyond the bound heals nobody.
TEST(AComplaint, IsFoundAmongThousandsOfPods) {
  std::string text = kHead;
  const auto pod = [](size_t i) { return fmt::format("pod/train-{}", i); };
  const size_t pods = FactStore::kPerId + 500;
  for (size_t i = 0; i < pods; ++i) text += Row("Warning", "FailedMount", pod(i).c_str(), kNoMount);
  for (size_t i = 0; i < pods; ++i)
    if (i != 77) text += Row("Normal", "Started", pod(i).c_str(), "Started container main");
  EXPECT_THAT(Findings(text), HasSubstr("container.mount: 79"));
}

}  // namespace
}  // namespace muster::diagnose
