// What every actuator says of an act stays true where one of its calls breaks: led through by the
// tests of the backends that have ports to break.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "backend/actuator.h"
#include "world/testing/faulty.h"

namespace muster::testing {

// The order as it is given: with what the actuator saw before.
inline Order Prepared(Actuator& actuator, Order order) {
  const auto before = actuator.Before(order.action);
  EXPECT_TRUE(before.ok()) << before.error().ToString();
  if (before.ok()) order.before = *before;
  return order;
}

// What an act said, what its probe said, and whether it is so.
struct Told {
  DidResult did;
  ProbeResult probe;
  bool so = false;
};

// The act with its Nth call broken, for every N (at most `most`) and each way to break.
inline void NeverInventsASuccess(int most, const std::function<Told(FaultPlan& plan)>& act) {
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kHang, FaultKind::kGarble}) {
    for (int n = 1;; ++n) {
      FaultPlan plan(kind, n);
      const Told told = act(plan);
      if (told.probe.happened != Happened::kUnknown) {
        EXPECT_EQ(told.probe.happened == Happened::kYes, told.so) << n << " " << told.probe.detail;
      }
      if (told.did.did == Did::kRefused) {
        EXPECT_FALSE(told.so) << n << " " << told.did.detail;
      }
      if (told.did.did == Did::kAccepted) {
        EXPECT_TRUE(told.so) << n << " " << told.did.detail;
      }
      if (!plan.reached()) break;
      ASSERT_LT(n, most);
    }
  }
}

}  // namespace muster::testing
