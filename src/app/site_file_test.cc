#include "app/site_file.h"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/site_template.h"
#include "base/digest.h"
#include "world/testing/memory_files.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr const char* kHead =
    "apiVersion: muster/v1\n"
    "kind: Site\n"
    "name: hall\n"
    "type: host\n"
    "cluster:\n"
    "  nodes:\n"
    "    - {name: gpu-01, gpus: 2, numa: 1, nics: [mlx5_0], nic_rate: 400 Gb/s}\n"
    "    - {name: gpu-02, gpus: 2, numa: 1, nics: [mlx5_0], nic_rate: 400 Gb/s}\n";

// What ParseSite says of the head with these lines after it.
std::string Said(const std::string& more) {
  const auto site = ParseSite(kHead + more, "site.yaml");
  if (site.ok()) return "fine";
  EXPECT_EQ(site.error().code, Code::kInvalid);
  return site.error().message;
}

// Every line of a refusal says where: file:line:column: what.
void ExpectPlaced(const std::string& said) {
  EXPECT_THAT(said, MatchesRegex("site.yaml:[0-9]+:[0-9]+: (.|\n)+")) << said;
}

TEST(SiteFile, SmallHostSiteIsRead) {
  const auto site = ParseSite(kHead, "site.yaml");
  ASSERT_TRUE(site.ok()) << site.error().ToString();
  EXPECT_EQ(site->name, "hall");
  EXPECT_EQ(site->kind, SiteKind::kHost);
  ASSERT_EQ(site->cluster.nodes.size(), 2u);
  EXPECT_EQ(site->cluster.nodes[1].nics[0].rate_gbit_per_s, 400);
}

struct Mistake {
  const char* name;
  const char* yaml;
  const char* place;  // "line:column"
  std::vector<const char*> says;
};
std::ostream& operator<<(std::ostream& out, const Mistake& m) { return out << m.name; }

class SiteMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(SiteMistake, IsNamedWithItsPlaceAndWhatWasExpected) {
  const std::string said = Said(GetParam().yaml);
  ExpectPlaced(said);
  EXPECT_THAT(said, HasSubstr(std::string("site.yaml:") + GetParam().place)) << said;
  for (const char* part : GetParam().says) {
    EXPECT_THAT(said, HasSubstr(part)) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(
    SiteFile, SiteMistake,
    ::testing::Values(
        Mistake{"duplicate_key", "name: other\n", "9:1", {"name"}},
        Mistake{"unknown_field", "telemetri: {}\n", "9:1", {"telemetri", "did you mean telemetry"}},
        Mistake{"unknown_field_inside",
                "telemetry:\n  promethius: http://x:9090\n",
                "10:3",
                {"promethius", "did you mean prometheus"}},
        Mistake{"wrong_unit", "training:\n  mfu_target: 35 GB/s\n", "10:15", {"mfu_target"}},
        Mistake{"span_without_unit", "inference:\n  ttft_p99: 2\n", "10:13", {"ttft_p99"}},
        Mistake{"number_that_is_none", "training:\n  steps: many\n", "10:10", {"steps"}},
        Mistake{"octal", "training:\n  steps: 0100\n", "10:10", {"steps"}},
        Mistake{"unknown_scope_host",
                "scopes:\n  - {name: pair, nodes: [gpu-01, gpu-09]}\n",
                "10:5",
                {"unknown host \"gpu-09\"", "pair"}},
        Mistake{"empty_scope", "scopes:\n  - {name: pair, nodes: []}\n", "10:5", {"needs nodes"}},
        Mistake{"unknown_fabric_host", "fabric:\n  host: gpu-09\n", "10:3", {"unknown host"}},
        Mistake{"unknown_fabric_type",
                "fabric:\n  type: token-ring\n",
                "10:3",
                {"token-ring", "expected infiniband or roce"}},
        Mistake{"act_without_argv", "acts:\n  - {gate: 3, name: a}\n", "10:5", {"argv"}},
        Mistake{"act_of_no_gate",
                "acts:\n  - {gate: 9, name: a, argv: [x]}\n",
                "10:5",
                {"expected 1 to 8"}},
        Mistake{"overlapping_acts",
                "acts:\n  - {gate: 3, name: a, argv: [x]}\n  - {gate: 4, name: a, argv: [y]}\n",
                "11:5",
                {"already there"}},
        Mistake{"unknown_act_kind",
                "acts:\n  - {gate: 3, name: a, kind: magic, argv: [x]}\n",
                "10:5",
                {"expected ansible, helm, kubectl or shell"}},
        Mistake{"destructive_without_probe",
                "acts:\n  - {gate: 3, name: a, argv: [x], destructive: true}\n",
                "10:5",
                {"needs a probe"}},
        Mistake{"helm_without_version",
                "acts:\n  - {gate: 4, name: op, kind: helm, argv: [helm, install, op]}\n",
                "10:5",
                {"--version"}},
        Mistake{"floating_tag",
                "pins:\n  image: registry.example/op:latest\n",
                "10:10",
                {"floats", "digest"}},
        Mistake{"act_that_names_no_pin",
                "acts:\n  - {gate: 4, name: a, argv: [run, \"{pins.b}\"]}\n",
                "10:30",
                {"there is no pin \"b\""}},
        Mistake{"unread_exporter", "telemetry:\n  exporter: http://x:9400\n", "10:13", {"9400"}},
        Mistake{"unread_ufm", "telemetry:\n  ufm: http://x\n", "10:8", {"not read"}},
        Mistake{"floating_tag_in_an_act",
                "acts:\n  - {gate: 4, name: a, argv: [run, \"op:main\"]}\n",
                "10:",
                {"floats"}},
        Mistake{"placeholder",
                "telemetry:\n  prometheus: http://CHANGE_ME:9090\n",
                "10:15",
                {"placeholder CHANGE_ME"}},
        Mistake{"placeholder_in_brackets",
                "telemetry:\n  prometheus: http://<your host>:9090\n",
                "10:15",
                {"placeholder"}},
        Mistake{"budget_in_two_units",
                "facility:\n  budgets:\n    - {name: power, limit: 45 kW, used: 900 kg}\n",
                "11:7",
                {"different units"}},
        Mistake{"budget_without_limit",
                "facility:\n  budgets:\n    - {name: power, used: 4 kW}\n",
                "11:7",
                {"limit and used"}},
        Mistake{"too_few_steps", "training:\n  steps: 5\n", "10:3", {"20 or more"}},
        Mistake{"no_load", "inference:\n  requests_per_s: 0\n", "10:3", {"more than 0"}},
        Mistake{
            "threshold_of_no_unit", "thresholds:\n  COL-002: 92 parsecs\n", "10:12", {"COL-002"}},
        Mistake{"threshold_list", "thresholds: [1]\n", "9:13", {"mapping"}},
        Mistake{"tab", "scopes:\n\t- x\n", "10:", {}}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(SiteFile, AllMistakesAreSaidAtOnceInTheOrderOfTheFile) {
  const std::string said =
      Said("telemetri: {}\ntraining:\n  steps: many\nscopes:\n  - {name: s, nodes: [nobody]}\n");
  const size_t first = said.find("telemetri"), second = said.find("steps"),
               third = said.find("nobody");
  EXPECT_NE(third, std::string::npos) << said;
  EXPECT_LT(first, second) << said;
  EXPECT_LT(second, third) << said;
}

TEST(SiteFile, PinnedThingsAreNotTakenForFloating) {
  EXPECT_EQ(
      Said("pins:\n  a: registry:5000/op@sha256:0123\n  b: registry/op:v24.9.0\n"
           "  c: latest driver seen\nacts:\n  - {gate: 4, name: op, kind: helm, argv: "
           "[helm, install, op, --version, v24.9.0, \"{pins.a}\", \"{pins.b}\", \"{pins.c}\"]}\n"),
      "fine");
}

TEST(SiteFile, PinsAreFilledIntoTheWordsOfActs) {
  const auto site = ParseSite(
      std::string(kHead) +
          "pins:\n  operator: v25.3.0\nacts:\n"
          "  - {gate: 4, name: op, kind: helm, argv: [helm, --version, \"{pins.operator}\"], "
          "probe: [sh, -c, \"test {pins.operator} = {pins.operator}\"]}\n",
      "site.yaml");
  ASSERT_TRUE(site.ok()) << site.error().ToString();
  EXPECT_EQ(site->acts[0].argv[2], "v25.3.0");
  EXPECT_EQ(site->acts[0].probe[2], "test v25.3.0 = v25.3.0");
}

TEST(SiteFile, PinThatFillsItselfIsFilledOnce) {
  const auto site = ParseSite(std::string(kHead) +
                                  "pins:\n  a: \"{pins.a}\"\nacts:\n"
                                  "  - {gate: 4, name: x, argv: [run, \"{pins.a}\"]}\n",
                              "site.yaml");
  ASSERT_TRUE(site.ok());
  EXPECT_EQ(site->acts[0].argv[1], "{pins.a}");
}

TEST(SiteFile, WrongKindVersionOrTypeIsSaid) {
  const auto site = ParseSite(
      "apiVersion: muster/v9\nkind: Cluster\nname: x\ntype: cloud\ncluster:\n  spec: nodes=1\n",
      "site.yaml");
  ASSERT_FALSE(site.ok());
  for (const char* part :
       {"expected muster/v1", "expected Site", "expected lab, host or kubernetes"}) {
    EXPECT_THAT(site.error().message, HasSubstr(part));
  }
}

TEST(SiteFile, DocumentThatIsNoMappingIsRefused) {
  for (const char* text : {"", "[]", "just words", "---\n---\n", "a: b: c", "{", "\xff\xfe"}) {
    const auto site = ParseSite(text, "site.yaml");
    ASSERT_FALSE(site.ok()) << text;
    EXPECT_EQ(site.error().code, Code::kInvalid) << text;
    EXPECT_THAT(site.error().message, HasSubstr("site.yaml"));
  }
}

TEST(SiteFile, FileIsReadWithItsDigestAndAMissingOneIsNamed) {
  testing::MemoryFiles files;
  files.Put("/hall/site.yaml", kHead);
  const auto loaded = ReadSiteFile(files, "/hall/site.yaml");
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  EXPECT_EQ(loaded->text, kHead);
  EXPECT_EQ(loaded->sha256, Sha256Hex(kHead));
  const auto missing = ReadSiteFile(files, "/hall/other.yaml");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().ToString(), HasSubstr("/hall/other.yaml"));
}

std::string LabTemplate() {
  TemplateInput input;
  input.name = "hall";
  return LabSiteTemplate(input);
}
std::string HostTemplate() {
  TemplateInput input;
  input.name = "hall";
  Node node;
  node.name = "gpu-01";
  node.address = "10.0.0.1";
  node.gpus = {Gpu{}, Gpu{}};
  node.gpus[0].model = node.gpus[1].model = "NVIDIA H100 80GB HBM3";
  node.nics = {{"mlx5_0", 0, 0, 400, ""}};
  input.nodes = {node};
  input.driver_version = "570.211.01";
  return HostSiteTemplate(input);
}

TEST(SiteTemplate, BothAreValidSitesAsTheyAreWritten) {
  TemplateInput empty;
  empty.name = "hall";
  for (const std::string& text : {LabTemplate(), HostTemplate(), HostSiteTemplate(empty)}) {
    const auto site = ParseSite(text, "site.yaml");
    ASSERT_TRUE(site.ok()) << site.error().ToString() << "\n" << text;
    EXPECT_EQ(site->name, "hall");
    EXPECT_FALSE(site->budgets.empty());
  }
}

TEST(SiteTemplate, WhatWasFoundIsWhatIsExpected) {
  const auto site = ParseSite(HostTemplate(), "site.yaml");
  ASSERT_TRUE(site.ok());
  ASSERT_EQ(site->cluster.nodes.size(), 1u);
  const Node& node = site->cluster.nodes[0];
  EXPECT_EQ(node.address, "10.0.0.1");
  EXPECT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[1].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(node.nics[0].device, "mlx5_0");
  EXPECT_EQ(site->driver_version, "570.211.01");
}

TEST(SiteTemplate, SpecComesBack) {
  TemplateInput input;
  input.name = "hall";
  input.spec =
      ParseClusterSpec("nodes=16,gpus=4,numa=2,rails=4,leaves=4,spines=2,rate=200").value();
  const auto site = ParseSite(LabSiteTemplate(input), "site.yaml");
  ASSERT_TRUE(site.ok()) << site.error().ToString();
  EXPECT_EQ(site->cluster.nodes.size(), 16u);
  EXPECT_EQ(site->cluster.GpuCount(), 64u);
}

// A name that a person or a host chose may hold anything; the file that is written must read back.
TEST(SiteTemplate, HostileNamesAndModelsDoNotBreakTheFile) {
  TemplateInput input;
  input.name = "hall: {x} # \"y\"";
  Node node;
  node.name = "gpu-01";
  node.gpus = {Gpu{}};
  node.gpus[0].model = "NVIDIA \"X\" \\ 80GB";
  input.nodes = {node};
  const auto site = ParseSite(HostSiteTemplate(input), "site.yaml");
  ASSERT_TRUE(site.ok()) << site.error().ToString();
  EXPECT_EQ(site->name, input.name);
  EXPECT_EQ(site->cluster.nodes[0].gpus[0].model, node.gpus[0].model);
}

RC_GTEST_PROP(SiteFileProperty, DamageOfATemplateIsReadOrRefusedAndNeverMore, (bool lab)) {
  std::string text = lab ? LabTemplate() : HostTemplate();
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
        break;
      case 1:
        text.erase(at, *rc::gen::inRange<size_t>(1, 40));
        break;
      case 2:
        text.insert(at, std::string(*rc::gen::inRange<size_t>(1, 5),
                                    static_cast<char>(*rc::gen::inRange(0, 256))));
        break;
      default:
        text.insert(at, text.substr(*rc::gen::inRange<size_t>(0, text.size()), 60));
    }
  }
  const auto site = ParseSite(text, "site.yaml");
  RC_ASSERT(site.ok() || site.error().code == Code::kInvalid);
  if (!site.ok()) {
    RC_ASSERT(site.error().message.find("site.yaml") != std::string::npos);
  }
}

}  // namespace
}  // namespace muster
