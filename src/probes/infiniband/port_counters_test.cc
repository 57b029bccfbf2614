#include "probes/infiniband/port_counters.h"

#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

std::vector<std::string> Observed(const CounterSet& set, bool all) {
  const Reading reading = testing::ReadingOf("infiniband.perfquery", "");
  ObservationBuilder builder(reading);
  ObserveCounters(set, PortSubject("leaf00", 5), all, "", builder);
  return testing::Dump(builder.Take());
}

TEST(Counters, AreKnownByBothNamesAndTheirFile) {
  for (const CounterName& name : CounterTable()) {
    EXPECT_EQ(FindCounter(name.now), &name);
    EXPECT_EQ(FindCounter(name.earlier), &name);
    EXPECT_EQ(FindCounterFile(name.file), &name);
    EXPECT_EQ(&CounterTable()[static_cast<size_t>(name.counter)], &name);
  }
  EXPECT_EQ(FindCounter("PortXmitWait"), nullptr);
}

TEST(Counters, AtTheirMaximumAreUnknown) {
  CounterSet set;
  set.Set(Counter::kLocalLinkIntegrity, 15, false);
  set.Set(Counter::kLinkDowned, 255, false);
  set.Set(Counter::kSymbolErrors, 65534, false);
  const auto lines = Observed(set, false);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "port leaf00/5 | port.symbol_errors | 65534");
  EXPECT_NE(lines[1].find("saturated: at least 255"), std::string::npos);
  EXPECT_NE(lines[2].find("saturated: at least 15"), std::string::npos);
}

TEST(Counters, ReadTwiceAreUnknown) {
  CounterSet set;
  set.Set(Counter::kSymbolErrors, 0, false);
  set.Set(Counter::kSymbolErrors, 0, false);
  EXPECT_NE(Observed(set, false).at(0).find("? unparsable"), std::string::npos);
}

TEST(Counters, ThatWereNotSeenAreSaidSoWhenAllAreAsked) {
  EXPECT_EQ(Observed(CounterSet{}, true).size(), kCounters);
  EXPECT_TRUE(Observed(CounterSet{}, false).empty());
}

}  // namespace
}  // namespace muster::infiniband
