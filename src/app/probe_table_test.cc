#include "app/probe_table.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/site_file.h"
#include "catalogue/catalogue.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> Planned(const std::string& cluster_and_more, int gate) {
  const auto site = ParseSite(
      "apiVersion: muster/v1\nkind: Site\nname: s\ntype: host\n" + cluster_and_more, "site.yaml");
  EXPECT_TRUE(site.ok()) << (site.ok() ? "" : site.error().ToString());
  std::vector<std::string> lines;
  if (!site.ok()) return lines;
  for (const PlannedRead& read : PlanReads(*site, gate, site->ScopeNodes("").value()))
    lines.push_back(std::string(read.probe->id) + " on " + read.host);
  return lines;
}

TEST(ProbeTable, EveryUseNamesAProbeThatThereIs) {
  for (const ProbeUse& use : ProbeUses()) {
    EXPECT_NE(FindProbe(use.probe), nullptr) << use.probe << " of gate " << use.gate;
  }
}

TEST(ProbeTable, IdsAreUniqueAndFactsAreThoseOfTheCatalogue) {
  const Catalogue& catalogue = *LoadEmbedded().value();
  std::set<std::string_view> ids;
  for (const Probe* probe : AllProbes()) {
    EXPECT_TRUE(ids.insert(probe->id).second) << probe->id;
    EXPECT_EQ(FindProbe(probe->id), probe);
    EXPECT_FALSE(probe->extension.empty()) << probe->id;
    for (const std::string_view fact : probe->facts) {
      EXPECT_NE(catalogue.Fact(fact), nullptr) << probe->id << " promises " << fact;
    }
  }
  EXPECT_EQ(FindProbe("no.such"), nullptr);
}

TEST(ProbeTable, NodesOfEachFamilyAreAskedWithTheirOwnTools) {
  const std::string nvidia = "cluster:\n  nodes: [{name: a, gpus: 2}, {name: b, gpus: 2}]\n";
  EXPECT_THAT(Planned(nvidia, 3),
              IsSupersetOf({"nvidia_smi.query on a", "nvidia_smi.query on b", "dcgm.diag on b"}));
  const std::string amd = "cluster:\n  nodes: [{name: a, gpus: 2, gpu_family: amd}]\n";
  EXPECT_THAT(Planned(amd, 3), Contains("rocm_smi.query on a"));
  EXPECT_THAT(Planned(amd, 3), Not(Contains("nvidia_smi.query on a")));
}

TEST(ProbeTable, WorkstationIsNotAskedForAFabricOrAMonitor) {
  const std::string alone = "cluster:\n  nodes: [{name: a, gpus: 1}]\n";
  EXPECT_TRUE(Planned(alone, 2).empty());
  EXPECT_TRUE(Planned(alone, 5).empty());
}

TEST(ProbeTable, CountersAreReadTwiceAndNothingElseIs) {
  for (const ProbeUse& use : ProbeUses()) {
    EXPECT_EQ(use.twice, use.probe == "infiniband.perfquery") << use.probe;
  }
}

}  // namespace
}  // namespace muster
