#include "app/observe.h"

#include <atomic>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::HasSubstr;
using testing::LabSite;
using testing::TestMachine;

// Hosts of which every command, file and page fails in one way, or which are not there at all.
class FailingHosts final : public Hosts {
 public:
  explicit FailingHosts(Code code) : machine_(std::make_unique<TestMachine>()) {
    const Error error{code, "no route to host", {}, true};
    machine_->processes.Otherwise(
        [error](const Command&) -> Result<CommandResult> { return Fail(Error(error)); });
    for (const char* path :
         {"/proc/modules", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease"})
      machine_->files.Forbid(path, error);
  }
  FailingHosts() = default;
  std::vector<std::string> Names() const override { return {"n1"}; }
  Result<HostPorts> At(std::string_view host) override {
    if (machine_ == nullptr) return Fail(Code::kUnavailable, "its address does not resolve");
    return HostPorts{std::string(host), machine_->world(), Origin::kLive};
  }
  Origin origin() const override { return Origin::kLive; }
  int Parallel() const override { return 3; }

 private:
  std::unique_ptr<TestMachine> machine_;
};

std::vector<PlannedRead> ReadsOnNode(bool twice = false) {
  std::vector<PlannedRead> reads;
  for (const ProbeUse& use : ProbeUses()) {
    if (use.place == ProbePlace::kEachNode && use.gate == 3)
      reads.push_back({FindProbe(use.probe), "n1", twice});
  }
  return reads;
}

std::vector<UnknownReason> ReasonsOf(const Observations& seen) {
  std::vector<UnknownReason> reasons;
  for (const Observation& o : seen) {
    EXPECT_NE(o.unobserved(), nullptr) << o.fact;
    if (o.unobserved() != nullptr) reasons.push_back(o.unobserved()->reason);
  }
  return reasons;
}

TEST(Observe, HostThatDoesNotAnswerIsUnreachableInEveryObservation) {
  TestMachine here;
  SilentProgress progress;
  FailingHosts refusing(Code::kUnavailable), absent;
  for (Hosts* hosts : {static_cast<Hosts*>(&refusing), static_cast<Hosts*>(&absent)}) {
    const Evidence evidence = Observe(*hosts, ReadsOnNode(), {}, here.clock, progress);
    ASSERT_FALSE(evidence.observations.empty());
    EXPECT_THAT(ReasonsOf(evidence.observations), Each(Eq(UnknownReason::kUnreachable)));
  }
}

TEST(Observe, RefusedHostIsNotPermittedInEveryObservation) {
  TestMachine here;
  SilentProgress progress;
  FailingHosts hosts(Code::kPermission);
  EXPECT_THAT(ReasonsOf(Observe(hosts, ReadsOnNode(), {}, here.clock, progress).observations),
              Each(Eq(UnknownReason::kNotPermitted)));
}

TEST(Observe, StoredReadingSaysTheSameWhenItIsUnderstoodAgain) {
  TestMachine here;
  SilentProgress progress;
  FailingHosts hosts(Code::kUnavailable);
  const Evidence evidence = Observe(hosts, ReadsOnNode(), {}, here.clock, progress);
  Observations again;
  for (const Reading& reading : evidence.readings) {
    const auto seen = Understand(reading);
    ASSERT_TRUE(seen.has_value());
    again.insert(again.end(), seen->begin(), seen->end());
  }
  ASSERT_EQ(again.size(), evidence.observations.size());
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].fact, evidence.observations[i].fact);
    EXPECT_EQ(again[i].seen, evidence.observations[i].seen);
  }
}

TEST(Observe, UnknownProbeIsNotUnderstood) {
  Reading reading;
  reading.probe = "measure.localise";
  EXPECT_FALSE(Understand(reading).has_value());
}

TEST(Observe, CountersAreReadAtBothEndsOfTheWindow) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  const std::vector<PlannedRead> reads = {{FindProbe("infiniband.perfquery"), "fabric", true},
                                          {FindProbe("infiniband.sminfo"), "fabric", false}};
  SilentProgress progress;
  const TimePoint began = lab.clock.Now();
  const Evidence evidence =
      Observe(*context->hosts, reads, {true, std::chrono::seconds(30)}, lab.clock, progress);
  ASSERT_EQ(evidence.readings.size(), 3u);
  EXPECT_EQ(evidence.readings[0].probe, "infiniband.perfquery");
  EXPECT_EQ(evidence.readings[2].probe, "infiniband.perfquery");
  EXPECT_GE(lab.clock.Now() - began, std::chrono::seconds(30));
  EXPECT_GE(evidence.readings[2].at - evidence.readings[0].at, std::chrono::seconds(30));
}

TEST(Observe, NothingIsWaitedForWhereNothingIsReadTwice) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  SilentProgress progress;
  const std::vector<PlannedRead> reads = {{FindProbe("infiniband.sminfo"), "fabric", false}};
  (void)Observe(*context->hosts, reads, {true, std::chrono::hours(1)}, lab.clock, progress);
  EXPECT_LT(lab.clock.slept(), std::chrono::hours(1));
}

TEST(Observe, TextsAreLetGoWhereTheyAreNotKept) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  SilentProgress progress;
  const auto reads = PlanReads(context->site(), 3, std::vector<std::string>{"node000", "node001"});
  const Evidence kept = Observe(*context->hosts, reads, {true, {}}, lab.clock, progress);
  const Evidence lean = Observe(*context->hosts, reads, {false, {}}, lab.clock, progress);
  EXPECT_EQ(kept.readings.size(), reads.size());
  EXPECT_TRUE(lean.readings.empty());
  EXPECT_EQ(lean.observations.size(), kept.observations.size());
  for (size_t i = 0; i < reads.size(); ++i) {
    EXPECT_EQ(kept.readings[i].host, reads[i].host) << "the order is that of the plan";
    EXPECT_EQ(kept.readings[i].probe, reads[i].probe->id);
  }
}

TEST(ForEachParallel, EveryIndexIsDoneOnceWhateverTheThreads) {
  for (const int threads : {-1, 0, 1, 2, 50}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{17}}) {
      std::vector<std::atomic<int>> done(count);
      ForEachParallel(count, threads, [&](size_t i) { ++done[i]; });
      for (const auto& times : done) EXPECT_EQ(times.load(), 1);
    }
  }
}

}  // namespace
}  // namespace muster
