#include "diagnose/node_devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

std::string Described(int allocatable) {
  return fmt::format(
      "Name:               gn3\n"
      "Conditions:\n"
      "  Type   Status  LastHeartbeatTime                LastTransitionTime               Reason   "
      "     Message\n"
      "  ----   ------  -----------------                ------------------               ------   "
      "     -------\n"
      "  Ready  True    Fri, 20 Nov 2026 10:00:00 +0000  Fri, 20 Nov 2026 09:00:00 +0000  "
      "KubeletReady  kubelet is posting ready status\n"
      "Capacity:\n"
      "  cpu:                224\n"
      "  nvidia.com/gpu:     8\n"
      "Allocatable:\n"
      "  cpu:                223\n"
      "  nvidia.com/gpu:     {}\n"
      "Allocated resources:\n"
      "  nvidia.com/gpu      4  4\n",
      allocatable);
}

TEST(NodeDevices, ThatANodeHasAndDoesNotOfferAreAFinding) {
  const Diagnosis d = testing::DiagnoseText(Described(7));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().cause->id, "gpu.not_offered");
  EXPECT_TRUE(Contains(d.findings.front().title, "7 of its 8 nvidia.com/gpu"))
      << d.findings.front().title;
  EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(Described(8))), "nothing_wrong");
}

TEST(NodeDevices, AreReadInYamlWhereAllocatableComesFirst) {
  const auto first = [](const std::string& allocatable) {
    const Diagnosis d = testing::DiagnoseText(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: gn3\nstatus:\n  allocatable:\n"
        "    cpu: \"223\"\n    rdma/hca: \"" +
        allocatable + "\"\n  capacity:\n    cpu: \"224\"\n    rdma/hca: \"8\"\n");
    return d.findings.empty() ? std::string() : d.findings.front().cause->id;
  };
  EXPECT_EQ(first("6"), "nic.not_offered");
  EXPECT_NE(first("8"), "nic.not_offered");
}

TEST(NodeDevices, AreReadInJsonToo) {
  const auto outcome = [](const std::string& allocatable) {
    return testing::OutcomeName(testing::DiagnoseText(
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gn3"},"status":{"allocatable":)"
        R"({"nvidia.com/gpu":")" +
        allocatable +
        R"("},"capacity":{"nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}})"
        "\n"));
  };
  EXPECT_EQ(outcome("7"), "finding");
  EXPECT_EQ(outcome("8"), "nothing_wrong");
}

TEST(NodeDevices, OfTheNextNodeAndOfPodsAreNotMixedIn) {
  const auto short_of = [](const std::string& text) {
    NodeDevices devices;
    FactStore facts;
    size_t number = 0;
    for (const std::string_view line : Lines(text)) devices.Line(line, {"f", ++number}, "", facts);
    return facts.Of("node.devices_short").size();
  };
  const std::string eight = "Capacity:\n  nvidia.com/gpu: 8\nAllocatable:\n  nvidia.com/gpu: 8\n";
  const std::string four = "Capacity:\n  nvidia.com/gpu: 4\nAllocatable:\n  nvidia.com/gpu: 4\n";
  EXPECT_EQ(short_of(eight + four + eight), 0u);
  EXPECT_EQ(short_of(eight + "    Limits:\n      nvidia.com/gpu: 1\n"), 0u);
  EXPECT_EQ(short_of("Capacity:\n  nvidia.com/gpu: 8\nAllocatable:\n  nvidia.com/gpu: 0\n"), 1u);
  EXPECT_EQ(short_of("Capacity:\n  nvidia.com/gpu: x\nAllocatable:\n  nvidia.com/gpu: 0\n"), 0u);
}

}  // namespace
}  // namespace muster::diagnose
