#include "app/site_cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Said(const YamlFindings& findings) {
  std::string text;
  for (const YamlFinding& f : findings) text += f.ToString() + "\n";
  return text;
}

// What is said of the cluster section; the cluster itself where a test wants it.
std::string Refusal(const std::string& yaml, Site* into = nullptr) {
  const auto root = ParseYaml(yaml, "site.yaml");
  if (!root.ok()) return root.error().message;
  Site site;
  YamlFindings findings;
  ReadCluster(*root, "site.yaml", site, findings);
  if (into != nullptr) *into = std::move(site);
  return Said(findings);
}

std::string LeftOver(const std::string& yaml) {
  const auto root = ParseYaml(yaml, "site.yaml");
  EXPECT_TRUE(root.ok());
  YamlFindings findings;
  FindPlaceholders(*root, "site.yaml", findings);
  return Said(findings);
}

TEST(SiteCluster, SpecBuildsTheWholeCluster) {
  Site site;
  EXPECT_THAT(Refusal("spec: nodes=4,gpus=8,rails=8,leaves=8,spines=4", &site), IsEmpty());
  EXPECT_THAT(site.cluster.nodes, SizeIs(4));
  EXPECT_EQ(site.cluster.GpuCount(), 32u);
}

TEST(SiteCluster, SpecThatDescribesNothingIsRefusedWithItsPlace) {
  for (const char* spec :
       {"\"\"", "\"  \"", "nodes=0", "gpus=0", "\"nodes=2,gpus=8,rails=0,leaves=2,spines=2\"",
        "\"nodes=2,gpus=-1\"", "nonsense", "[a, b]", "{nodes: 4}", "nodes=1e9",
        "\"nodes=4,nodes=4\"", "\"leaves=2,spines=0\""}) {
    Site site;
    const std::string said = Refusal(fmt::format("driver_version: '570'\nspec: {}\n", spec), &site);
    EXPECT_THAT(said, HasSubstr("site.yaml:2:7: spec: ")) << spec;
    EXPECT_THAT(site.cluster.nodes, IsEmpty()) << spec;
  }
}

TEST(SiteCluster, SpecAndNodesTogetherAreRefused) {
  EXPECT_THAT(Refusal("spec: nodes=4\nnodes: [{name: a, gpus: 1}]"), HasSubstr("not both"));
}

TEST(SiteCluster, NothingAtAllIsRefused) {
  EXPECT_THAT(Refusal("driver_version: '570'"), HasSubstr("expected spec, or at least one node"));
  EXPECT_THAT(Refusal("spec: ~"), HasSubstr("expected spec, or at least one node"));
  EXPECT_THAT(Refusal("nodes: []"), HasSubstr("expected spec, or at least one node"));
}

TEST(SiteCluster, NodesGpusAndAdaptersAreSpreadOverTheDomains) {
  Site site;
  EXPECT_THAT(
      Refusal("nodes:\n  - {name: a, gpus: 8, numa: 2, nics: 4, nic_rate: 400 Gb/s}\n", &site),
      IsEmpty());
  const Node& node = site.cluster.nodes.at(0);
  ASSERT_THAT(node.gpus, SizeIs(8));
  EXPECT_EQ(node.gpus[3].numa, 0);
  EXPECT_EQ(node.gpus[4].numa, 1);
  ASSERT_THAT(node.nics, SizeIs(4));
  EXPECT_EQ(node.nics[1].numa, 0);
  EXPECT_EQ(node.nics[2].numa, 1);
  EXPECT_EQ(node.nics[3].rate_gbit_per_s, 400);
}

TEST(SiteCluster, MistakesOfNodesAreSaidWithTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"{name: a, gpus: 17}", "out of range"},
      {"{name: a, gpus: -1}", "out of range"},
      {"{name: a, numa: 0}", "1 to 64 domains"},
      {"{name: a, gpu_family: intel}", "nvidia, amd or none"},
      {"{name: a/b}", "cannot be called"},
      {"{name: fabric}", "cannot be called"},
      {"{name: a, nics: 65}", "list of device names"},
      {"{name: a, nics: [x, x]}", "named twice"},
      {"{name: a, nicz: 1}", "nics"},
      {"{gpus: 1}", "name"},
  };
  for (const auto& [node, what] : cases) {
    const std::string said = Refusal(fmt::format("nodes:\n  - {}\n", node));
    EXPECT_THAT(said, HasSubstr("site.yaml:2:")) << node;
    EXPECT_THAT(said, HasSubstr(what)) << node;
  }
  EXPECT_THAT(Refusal("nodes:\n  - {name: a, gpus: 1}\n  - {name: a, gpus: 1}\n"),
              HasSubstr("site.yaml:3:5: node a is already there in line 2"));
}

TEST(SiteCluster, LinksEndAtPortsThatExist) {
  constexpr const char* kHead =
      "nodes: [{name: a, gpus: 1, nics: [mlx5_0]}]\nswitches: [{name: leaf00}]\n";
  EXPECT_THAT(
      Refusal(std::string(kHead) + "links: [{a: leaf00/1, b: a/mlx5_0/1, rate: 400 Gb/s}]\n"),
      IsEmpty());
  for (const char* end : {"leaf01/1", "a/mlx5_9/1", "leaf00", "leaf00/0", "/1", "leaf00/x"}) {
    EXPECT_THAT(Refusal(fmt::format("{}links: [{{a: {}, b: a/mlx5_0/1}}]\n", kHead, end)),
                HasSubstr("site.yaml:3:"))
        << end;
  }
}

TEST(Placeholders, AreFoundAtAnyDepthInValuesKeysAndLists) {
  EXPECT_THAT(LeftOver("a: {b: [x, {c: [[CHANGE_ME]]}]}"),
              HasSubstr("site.yaml:1:18: placeholder"));
  EXPECT_THAT(LeftOver("thresholds:\n  YOUR_CRITERION: 3\n"),
              HasSubstr("site.yaml:2:3: placeholder YOUR_CRITERION"));
  EXPECT_THAT(LeftOver("- [1, NODE_A]"), HasSubstr("NODE_A"));
  std::string deep = "<gpu address>";
  for (int i = 0; i < 50; ++i) deep = "[" + deep + "]";
  EXPECT_THAT(LeftOver("a: " + deep), HasSubstr("placeholder <gpu address>"));
}

TEST(Placeholders, EveryFormThatTemplatesLeaveIsKnown) {
  for (const char* text : {"CHANGE_ME", "x-CHANGEME-y", "REPLACE_ME", "FIX_ME", "NODE_B",
                           "YOUR_TOKEN", "<site>", "<GPU-NODE>", "http://<host>:9090", "<...>"}) {
    EXPECT_THAT(LeftOver(fmt::format("a: \"{}\"", text)), HasSubstr("placeholder")) << text;
  }
  for (const char* text : {"node_a", "NODE_AB", "CHANGE_MEMORY", "a < b", "a <= b > c", "YOURS",
                           "<>", "$NODE_RANK", "x<5"}) {
    EXPECT_THAT(LeftOver(fmt::format("a: \"{}\"", text)), IsEmpty()) << text;
  }
}

TEST(Placeholders, TagsThatFloatAreFoundAndPinnedOnesAreNot) {
  for (const char* text : {"img:latest", "reg.example:5000/a/b:main", "x img:nightly y",
                           "--image=img:latest,other", "'img:edge'"}) {
    EXPECT_THAT(LeftOver(fmt::format("a: \"{}\"", text)), HasSubstr("floats")) << text;
  }
  for (const char* text : {"img:1.2", "img:latest@sha256:00", "img:latest-1.2", "reg:latest/x",
                           "img:mainline", "http://main:8000/latest"}) {
    EXPECT_THAT(LeftOver(fmt::format("a: \"{}\"", text)), IsEmpty()) << text;
  }
}

TEST(Placeholders, TextOfAnyLengthIsSearched) {
  const std::string longest(4u << 20, 'a');
  EXPECT_THAT(LeftOver("a: \"" + longest + ":latest\""), HasSubstr("floats"));
  EXPECT_THAT(LeftOver("a: \"" + longest + " CHANGE_ME\""), HasSubstr("CHANGE_ME"));
  EXPECT_THAT(LeftOver("a: \"" + std::string(1u << 20, '<') + "\""), IsEmpty());
}

RC_GTEST_PROP(Placeholders, AnyTextIsSearchedWithoutHarm, (const std::string& text)) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = text;
  YamlFindings findings;
  FindPlaceholders(node, "site.yaml", findings);
  RC_ASSERT(findings.size() <= 2u);
}

}  // namespace
}  // namespace muster
