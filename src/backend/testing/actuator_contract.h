// What every actuator keeps to, whatever it acts on: led through by a test of each backend.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "backend/actuator.h"

namespace muster::testing {

struct ContractStage {
  Actuator& actuator;
  std::string node, other_node;  // both at work, nobody's
  TimePoint now;
};

inline Order ContractOrder(const ContractStage& stage, ActKind kind, const std::string& node,
                           const std::string& run, uint64_t fence) {
  Order order;
  order.action = {kind, NodeSubject(node), {}};
  order.run = run;
  order.step = std::string(ToString(kind));
  order.token = run + "/" + node + "/" + order.step;
  order.fence = fence;
  order.lease = {"muster", run, "contract", true, "", stage.now, stage.now + std::chrono::hours(1),
                 fence};
  order.intended_at = stage.now;
  order.timeout = std::chrono::minutes(1);
  return order;
}

// A cordon is a lease, there in one request, and only its own run takes it back.
inline void KeepsTheLease(const ContractStage& stage) {
  Actuator& a = stage.actuator;
  Order cordon = ContractOrder(stage, ActKind::kCordon, stage.node, "run-a", 10);
  cordon.before = a.Before(cordon.action).value();
  EXPECT_EQ(a.Probe(cordon).happened, Happened::kNo);
  ASSERT_EQ(a.Do(cordon).did, Did::kAccepted);
  EXPECT_EQ(a.Probe(cordon).happened, Happened::kYes);
  const Hold hold = a.ReadHold(stage.node).value();
  EXPECT_FALSE(hold.schedulable);
  ASSERT_TRUE(hold.lease.has_value());
  EXPECT_EQ(*hold.lease, cordon.lease);
  // The same order once more changes nothing; another run's is refused.
  EXPECT_EQ(a.Do(cordon).did, Did::kAccepted);
  EXPECT_EQ(a.ReadHold(stage.node).value().lease, hold.lease);
  EXPECT_EQ(a.Do(ContractOrder(stage, ActKind::kCordon, stage.node, "run-b", 11)).did,
            Did::kRefused);
  EXPECT_EQ(a.Do(ContractOrder(stage, ActKind::kReturn, stage.node, "run-b", 12)).did,
            Did::kRefused);
  // An engine that slept is shut out.
  EXPECT_EQ(a.Do(ContractOrder(stage, ActKind::kDrain, stage.node, "run-a", 9)).did, Did::kRefused);
  bool listed = false;
  const Actuator::Fleet fleet = a.ReadFleet().value();
  for (const auto& held : fleet.nodes)
    listed = listed || (held.node == stage.node && held.hold.lease == hold.lease);
  EXPECT_TRUE(listed);
  const Order back = ContractOrder(stage, ActKind::kReturn, stage.node, "run-a", 12);
  EXPECT_EQ(a.Probe(back).happened, Happened::kNo);
  ASSERT_EQ(a.Do(back).did, Did::kAccepted);
  EXPECT_EQ(a.Probe(back).happened, Happened::kYes);
  EXPECT_TRUE(a.ReadHold(stage.node).value().schedulable);
  EXPECT_FALSE(a.ReadHold(stage.node).value().lease.has_value());
}

// The probe tells before from after, and the fingerprint of another act does not make it say yes.
inline void ProbesWhatItDid(const ContractStage& stage, ActKind kind,
                            const std::map<std::string, std::string>& params,
                            const std::function<void()>& wait) {
  Actuator& a = stage.actuator;
  Order order = ContractOrder(stage, kind, stage.other_node, "run-c", 20);
  order.action.params = params;
  order.lease = {};
  const auto before = a.Before(order.action);
  ASSERT_TRUE(before.ok()) << before.error().ToString();
  order.before = *before;
  EXPECT_EQ(a.Probe(order).happened, Happened::kNo) << ToString(kind);
  ASSERT_EQ(a.Do(order).did, Did::kAccepted) << ToString(kind);
  wait();
  EXPECT_EQ(a.Probe(order).happened, Happened::kYes) << ToString(kind);
  EXPECT_FALSE(a.Render(order.action).empty());
}

}  // namespace muster::testing
