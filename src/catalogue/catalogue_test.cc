#include "catalogue/catalogue.h"

#include <map>
#include <set>

#include <gmock/gmock.h>

#include "base/strings.h"
#include "catalogue/expectation.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Catalogue& Embedded() {
  static const Result<const Catalogue*> loaded = LoadEmbedded();
  static const Catalogue nothing;
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().ToString());
  return loaded.ok() ? **loaded : nothing;
}

constexpr std::string_view kFacts = R"(
- {id: gpu.count, on: node, type: int, unit: count, by: smi, means: GPUs}
- {id: gpu.model, on: gpu, type: text, by: smi, means: name}
- {id: gpu.present, on: gpu, type: bool, by: smi, means: there}
- {id: link.rate, on: link, type: real, unit: Gb/s, by: ib, means: rate}
- {id: port.errors, on: port, type: int, unit: count, by: ib, means: counter}
- {id: train.mfu, on: gang, type: real, unit: ratio, by: measure, means: mfu}
)";
constexpr std::string_view kGates = R"(
- {id: 3, slug: nodes, name: nodes, prefix: NOD, observed: o, passes: p, why: w, source: s}
)";
constexpr std::string_view kSettings = R"(
settings: [{name: mfu_target, default: 35 %, means: m, source: s}]
gpu_models: [{match: H100, nvlinks: 18, source: s}]
)";

std::string OneCriterion(std::string_view body) {
  return "gate: 3\nowner: o\nsince: 0.1.0\ncriteria:\n  - {" + std::string(body) +
         ", why: w, measured_by: m, source: s, fix: f, next: n}\n";
}

Result<Catalogue> Parse(const std::string& criteria, std::string_view facts = kFacts) {
  const EmbeddedFile files[] = {{"criteria/x.yaml", criteria},
                                {"facts.yaml", facts},
                                {"gates.yaml", kGates},
                                {"settings.yaml", kSettings}};
  return ParseCatalogue(files);
}

std::string Trouble(std::string_view body) {
  const auto parsed = Parse(OneCriterion(body));
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Catalogue, TheBuiltInOneLoadsWithoutAFinding) {
  const Catalogue& catalogue = Embedded();
  EXPECT_EQ(catalogue.gates.size(), 8u);
  EXPECT_GE(catalogue.criteria.size(), 80u);
}

TEST(Catalogue, GatesStandInOneLineAndTheLastTwoOnTheSixth) {
  const Catalogue& catalogue = Embedded();
  EXPECT_TRUE(catalogue.Gate(1)->needs.empty());
  for (int id = 2; id <= 6; ++id) EXPECT_EQ(catalogue.Gate(id)->needs, std::vector<int>{id - 1});
  EXPECT_EQ(catalogue.Gate(7)->needs, std::vector<int>{6});
  EXPECT_EQ(catalogue.Gate(8)->needs, std::vector<int>{6});
  for (const GateInfo& gate : catalogue.gates) EXPECT_FALSE(gate.staled_by.empty()) << gate.name;
}

TEST(Catalogue, EveryGateIsJudgedByCriteriaOfItsOwn) {
  std::map<int, int> count;
  for (const Criterion& c : Embedded().criteria) ++count[c.gate];
  for (int gate = 1; gate <= 8; ++gate) EXPECT_GE(count[gate], 5) << "gate " << gate;
}

TEST(Catalogue, EveryCriterionIsExplainedInFull) {
  for (const Criterion& c : Embedded().criteria) {
    EXPECT_FALSE(c.why.empty() || c.measured_by.empty() || c.source.empty() || c.fix.empty() ||
                 c.next.empty() || c.owner.empty() || c.since.empty())
        << c.code;
    EXPECT_THAT(c.next, Not(HasSubstr("<"))) << c.code << ": a placeholder cannot be pasted";
  }
}

// Facts that tell something, but hold nobody to anything.
TEST(Catalogue, EveryFactThatMattersIsJudged) {
  const std::set<std::string> only_told = {"node.boot_id",
                                           "gpu.serial",
                                           "gpu.pci_bus_id",
                                           "gpu.numa",
                                           "gpu.nearest_hca",
                                           "gpu.last_fatal_xid",
                                           "collective.plateau",
                                           "train.step_time",
                                           "port.physical_state",
                                           "hca.count",
                                           "node.fabric_manager_version",
                                           "kube.nodes",
                                           "kube.rdma_resources",
                                           "attachment.count",
                                           "attachment.resources",
                                           "kubelet.topology_scope",
                                           "kubelet.cpu_manager"};
  std::set<std::string> judged;
  for (const Criterion& c : Embedded().criteria) judged.insert(c.fact);
  for (const FactInfo& fact : Embedded().facts) {
    EXPECT_TRUE(judged.contains(fact.id) || only_told.contains(fact.id)) << fact.id;
  }
}

TEST(Catalogue, AllEightClassicCountersKnowWhereTheyStick) {
  for (const Criterion& c : Embedded().criteria) {
    if (c.measure != Measure::kRatePerHour) continue;
    ASSERT_TRUE(c.saturates_at.has_value()) << c.code;
    EXPECT_TRUE(*c.saturates_at == 15 || *c.saturates_at == 255 || *c.saturates_at == 65535);
    EXPECT_GE(c.min_samples, 2) << c.code;
  }
}

TEST(Catalogue, MergedCountersKeepTheirOwnFigures) {
  const Criterion* symbol = Embedded().Find("FAB-022");
  const Criterion* integrity = Embedded().Find("fab-024");
  ASSERT_TRUE(symbol && integrity);
  EXPECT_EQ(symbol->fact, "port.symbol_errors");
  EXPECT_EQ(symbol->saturates_at, 65535);
  ASSERT_TRUE(symbol->warn.has_value());
  EXPECT_EQ(std::get<double>(symbol->warn->values[0]), 10);
  EXPECT_EQ(symbol->warn->unit, Unit::kPerHour);
  EXPECT_EQ(integrity->saturates_at, 15);
  EXPECT_FALSE(integrity->warn.has_value());
}

TEST(Catalogue, ACriterionIsFoundAloneAsInTheWhole) {
  for (const Criterion& c : Embedded().criteria) {
    const auto alone = LoadEmbeddedCriterion(ToLower(c.code));
    ASSERT_TRUE(alone.ok()) << alone.error().ToString();
    EXPECT_EQ(alone->title, c.title);
    EXPECT_EQ(alone->fact, c.fact);
  }
}

TEST(Catalogue, AnUnknownCodeNamesANearOne) {
  const auto found = LoadEmbeddedCriterion("FAB-0O2");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("did you mean FAB-002"));
  EXPECT_FALSE(LoadEmbeddedCriterion("").ok());
  EXPECT_FALSE(LoadEmbeddedCriterion("-").ok());
}

TEST(Catalogue, ModelsAreMatchedByTheirMostTellingName) {
  const Catalogue& c = Embedded();
  EXPECT_EQ(c.ModelOf("NVIDIA H100 80GB HBM3")->nvlinks, 18);
  EXPECT_EQ(c.ModelOf("NVIDIA H100 PCIe")->nvlinks, 0);
  EXPECT_EQ(c.ModelOf("NVIDIA H200")->nvlinks, 18);
  EXPECT_EQ(c.ModelOf("NVIDIA H200 NVL")->nvlinks, 0);
  EXPECT_EQ(c.ModelOf("NVIDIA A100-SXM4-80GB")->nvlinks, 12);
  EXPECT_EQ(c.ModelOf("NVIDIA GB200")->nvlinks, 18);
  EXPECT_EQ(c.ModelOf("some board"), nullptr);
  EXPECT_EQ(c.ModelOf(""), nullptr);
}

TEST(Catalogue, AGoodCriterionIsTaken) {
  EXPECT_EQ(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: 8"),
            "");
  const auto parsed = Parse(OneCriterion(
      "code: NOD-001, title: t, on: node, fact: gpu.count, compare: at_least, pass: 8, warn: 7"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->criteria[0].pass.values[0], Value(int64_t{8}));
}

TEST(Catalogue, MistakesAreFoundWithTheirPlace) {
  EXPECT_THAT(Trouble("code: NOD-1, title: t, on: node, fact: gpu.count, compare: equal, pass: 8"),
              HasSubstr("criteria/x.yaml:5:5: code NOD-1 is not of the form NOD-001"));
  EXPECT_THAT(
      Trouble("code: FAB-001, title: t, on: node, fact: gpu.count, compare: equal, pass: 8"),
      HasSubstr("not of the form NOD-001"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: node, fact: gpu.cuont, compare: equal, pass: 8"),
      HasSubstr("unknown fact gpu.cuont, did you mean gpu.count"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: gpu, fact: gpu.count, compare: equal, pass: 8"),
              HasSubstr("gpu.count is about a node, not a gpu"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: contains, pass: 8"),
      HasSubstr("int cannot be held to contains"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: gpu, fact: gpu.present, compare: equal, pass: 1"),
      HasSubstr("bool cannot be held to equal"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: link, fact: link.rate, compare: at_least, pass: 400"),
      HasSubstr("expected a number in Gb/s"));
  EXPECT_THAT(
      Trouble(
          "code: NOD-001, title: t, on: link, fact: link.rate, compare: at_least, pass: 50 GB/s"),
      HasSubstr("expected a number in Gb/s"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal"),
              HasSubstr("key pass is missing"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: 010"),
      HasSubstr("without a leading zero"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "{expect: gpus_per_nod}"),
              HasSubstr("did you mean gpus_per_node"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "{expect: mfu_target}"),
              HasSubstr("setting mfu_target is in \"ratio\""));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: gpu, fact: gpu.model, compare: equal, pass: "
                      "{expect: link_rate}"),
              HasSubstr("expectation link_rate does not fit gpu.model"));
  EXPECT_THAT(
      Trouble(
          "code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: 8, warn: 7"),
      HasSubstr("warn band"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, applies_when: [gpu], otherwise: x"),
              HasSubstr("unknown feature gpu, did you mean gpus"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, applies_when: [gpus]"),
              HasSubstr("wants an `otherwise`"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, saturates_at: 15"),
              HasSubstr("saturates_at is for delta"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: gpu, fact: gpu.model, measure: delta, compare: "
                      "equal, pass: x"),
              HasSubstr("delta wants a number"));
  EXPECT_THAT(
      Trouble("code: NOD-001, title: t, on: gpu, fact: gpu.present, compare: \"true\", pass: 1"),
      HasSubstr("has no threshold"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, runbok: R1"),
              HasSubstr("unknown key runbok, did you mean runbook"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, runbook: 7"),
              HasSubstr("is not R1 to R39"));
  EXPECT_THAT(Trouble("code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: "
                      "8, fresh_for: 15"),
              HasSubstr("fresh_for"));
}

TEST(Catalogue, ASourceIsRequired) {
  const auto parsed = Parse(
      "gate: 3\nowner: o\nsince: 0.1.0\ncriteria:\n  - {code: NOD-001, title: t, on: node, fact: "
      "gpu.count, compare: equal, pass: 8, why: w, measured_by: m, fix: f, next: n}\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, HasSubstr("key source is missing"));
}

TEST(Catalogue, ACodeIsNeverGivenTwice) {
  const std::string one =
      "  - {code: NOD-001, title: t, on: node, fact: gpu.count, compare: equal, pass: 8, why: w, "
      "measured_by: m, source: s, fix: f, next: n}\n";
  const auto parsed = Parse("gate: 3\nowner: o\nsince: 0.1.0\ncriteria:\n" + one + one);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, HasSubstr("code NOD-001 is taken"));
}

TEST(Catalogue, AllMistakesAreToldAtOnce) {
  const std::string message =
      Trouble("code: NOD-1, title: t, on: gpu, fact: gpu.count, compare: contains, pass: 8, x: 1");
  EXPECT_EQ(Lines(message).size(), 4u) << message;
}

TEST(Catalogue, FactsAreCheckedToo) {
  const std::string criteria = "gate: 3\nowner: o\nsince: 0.1.0\ncriteria: []\n";
  const auto twice = Parse(criteria, std::string(kFacts) + std::string(kFacts.substr(1)));
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("listed twice"));
  const auto unitless = Parse(criteria, "- {id: a.b, on: node, type: int, by: x, means: y}");
  ASSERT_FALSE(unitless.ok());
  EXPECT_THAT(unitless.error().message, HasSubstr("a number has a unit"));
  const auto kind = Parse(criteria, "- {id: a.b, on: nodes, type: bool, by: x, means: y}");
  ASSERT_FALSE(kind.ok());
  EXPECT_THAT(kind.error().message, HasSubstr("facts.yaml:1:"));
}

}  // namespace
}  // namespace muster
