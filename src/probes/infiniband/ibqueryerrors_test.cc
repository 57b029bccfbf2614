#include "probes/infiniband/ibqueryerrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kId[] = "infiniband.ibqueryerrors";

std::string Errors() {
  return Capture(MUSTER_SOURCE_DIR, "rehearsed/05-errors-ibqueryerrors-perfquery-ibdiagnet.txt");
}

TEST(Ibqueryerrors, NamesPortsOfSwitchesAndAdapters) {
  const auto lines = DumpOf(kId, Errors());
  EXPECT_THAT(lines, IsSupersetOf({"port node005/mlx5_0/1 | port.xmit_discards | 4021",
                                   "port leaf00/5 | port.link_error_recovery | 12",
                                   "port leaf00/5 | port.link_downed | 3",
                                   "port leaf00/5 | port.rcv_errors | 87"}));
  EXPECT_THAT(lines, Contains(HasSubstr("port leaf00/5 | port.symbol_errors | ? not observed")));
}

TEST(Ibqueryerrors, DoesNotCountTheSumOfASwitchAsAPort) {
  EXPECT_THAT(DumpOf(kId, Errors()), Not(Contains(HasSubstr("ALL"))));
  int ports = 0;
  for (const PortErrors& port : ParseIbqueryerrors(Errors()).ports)
    ports += port.device == "leaf00" ? 1 : 0;
  EXPECT_EQ(ports, 2);  // once in the run without --details, once in the run with
}

TEST(Ibqueryerrors, ReadsTheSummary) {
  const QueryErrors errors = ParseIbqueryerrors(Errors());
  EXPECT_EQ(errors.nodes_checked, 22);
  EXPECT_EQ(errors.ports_checked, 66);
  EXPECT_EQ(errors.ports_bad, 3);
  EXPECT_EQ(errors.query_failures, std::nullopt);
}

TEST(Ibqueryerrors, SaysNothingAboutPortsItDoesNotList) {
  EXPECT_TRUE(DumpOf(kId, Capture(MUSTER_SOURCE_DIR,
                                  "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt"))
                  .empty());
}

TEST(Ibqueryerrors, InventsNothingFromDamage) { ExpectNothingInvented(kId, Errors()); }

}  // namespace
}  // namespace muster::infiniband
