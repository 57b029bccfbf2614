#include "diagnose/lint/lint.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "model/cluster.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string Slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The data as it stands in the tree.
const LintRules& Rules() {
  static const LintRules kRules = [] {
    static std::vector<std::pair<std::string, std::string>> texts;
    std::vector<EmbeddedFile> files;
    for (const auto& e : std::filesystem::directory_iterator(MUSTER_SOURCE_DIR "/catalogue/lint"))
      texts.emplace_back("lint/" + e.path().filename().string(), Slurp(e.path()));
    std::sort(texts.begin(), texts.end());
    for (const auto& [name, text] : texts) files.push_back({name, text});
    auto rules = ParseLintRules(files);
    EXPECT_TRUE(rules.ok()) << (rules.ok() ? "" : rules.error().message);
    return rules.ok() ? std::move(*rules) : LintRules{};
  }();
  return kRules;
}

LintInput InputOf(const std::string& path, const std::string& text) {
  LintInput input;
  if (LooksLikeSbatch(text)) {
    auto script = ParseSbatch(text, path);
    EXPECT_TRUE(script.ok()) << (script.ok() ? "" : script.error().message);
    if (script.ok()) input.scripts.push_back(std::move(*script));
  } else {
    auto file = ParseManifestFile(text, path);
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message) << "\n" << text;
    if (file.ok()) input.files.push_back(std::move(*file));
  }
  return input;
}
std::vector<LintFinding> Find(const std::string& text, const LintSite& site = {}) {
  return Lint(InputOf("m.yaml", text), Rules(), site);
}
LintSite SiteFor(const LintRule& rule) {
  if (rule.bad.site.empty()) return {};
  const auto spec = ParseClusterSpec(rule.bad.site);
  EXPECT_TRUE(spec.ok()) << rule.code;
  return spec.ok() ? SiteOf(BuildCluster(*spec)) : LintSite{};
}
std::set<std::string> Codes(const std::vector<LintFinding>& findings) {
  std::set<std::string> codes;
  for (const LintFinding& f : findings) codes.insert(f.code);
  return codes;
}
std::string Listed(const std::vector<LintFinding>& findings) {
  std::string text;
  for (const LintFinding& f : findings) text += "  " + ToString(f) + "\n";
  return text;
}

TEST(LintRules, AreManyAndWhole) {
  EXPECT_GE(Rules().by_code.size(), 100u);
  for (const auto& [code, rule] : Rules().by_code) {
    EXPECT_FALSE(rule.why.empty() || rule.fix.empty() || rule.source.empty() || rule.title.empty())
        << code;
  }
}

TEST(LintRules, TheEmbeddedOnesAreRead) {
  const auto rules = LoadLintRules();
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ((*rules)->by_code.size(), Rules().by_code.size());
}

TEST(LintRules, AMistakeInTheDataIsRefusedWithItsPlace) {
  const EmbeddedFile bad{
      "lint/x.yaml",
      "rules:\n  - {code: LINT-1, severity: loud, title: t, why: w, fix: f, source: s}\n"};
  const auto rules = ParseLintRules({&bad, 1});
  ASSERT_FALSE(rules.ok());
  EXPECT_THAT(rules.error().message,
              HasSubstr("lint/x.yaml:2:30: severity: expected error, warning or info"));
  EXPECT_THAT(rules.error().message, HasSubstr("key bad is missing"));
}

TEST(LintExamples, TheGoodOnesHaveNoFinding) {
  for (const auto& [name, text] : Rules().examples) {
    const auto findings = Find(text);
    EXPECT_THAT(findings, IsEmpty()) << name << "\n" << Listed(findings);
  }
}

TEST(LintExamples, EachBadOneHasExactlyItsFinding) {
  for (const auto& [code, rule] : Rules().by_code) {
    const auto good = Rules().ExampleText(rule, true), bad = Rules().ExampleText(rule, false);
    ASSERT_TRUE(good.ok() && bad.ok()) << (bad.ok() ? code : bad.error().message);
    const auto before = Find(*good, SiteFor(rule));
    EXPECT_THAT(Codes(before), Not(Contains(code))) << code << " on its good example\n"
                                                    << Listed(before);
    const auto findings = Find(*bad, SiteFor(rule));
    std::set<std::string> want = rule.bad.also;
    want.insert(code);
    EXPECT_EQ(Codes(findings), want) << code << "\n" << Listed(findings);
    for (const LintFinding& f : findings) EXPECT_GT(f.at.line, 0) << ToString(f);
  }
}

// Whatever repair is offered: it applies, and then the finding is gone and none of another kind
// has come.
TEST(LintFixes, EachRepairTakesItsFindingAway) {
  int repaired = 0;
  for (const auto& [code, rule] : Rules().by_code) {
    const auto bad = Rules().ExampleText(rule, false);
    if (!bad.ok()) continue;
    const auto findings = Find(*bad, SiteFor(rule));
    std::vector<TextEdit> edits;
    for (const LintFinding& f : findings) {
      if (f.code == code) edits.insert(edits.end(), f.edits.begin(), f.edits.end());
    }
    if (edits.empty()) continue;
    ++repaired;
    const std::string after = ApplyEdits("m.yaml", *bad, edits);
    ASSERT_NE(after, *bad) << code;
    const auto left = Find(after, SiteFor(rule));
    EXPECT_THAT(Codes(left), Not(Contains(code))) << code << "\n" << after << Listed(left);
    EXPECT_THAT(Codes(findings), IsSupersetOf(Codes(left))) << code << "\n"
                                                            << after << Listed(left);
  }
  EXPECT_GE(repaired, 40);
}

TEST(LintFixes, ThePatchIsOneThatPatchApplies) {
  if (std::system("command -v patch >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no patch on this machine";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("muster_lint_{}", getpid());
  std::filesystem::create_directories(folder);
  int applied = 0;
  for (const auto& [code, rule] : Rules().by_code) {
    const auto bad = Rules().ExampleText(rule, false);
    if (!bad.ok()) continue;
    std::vector<TextEdit> edits;
    for (const LintFinding& f : Find(*bad, SiteFor(rule)))
      edits.insert(edits.end(), f.edits.begin(), f.edits.end());
    if (edits.empty()) continue;
    const std::string after = ApplyEdits("m.yaml", *bad, edits);
    std::ofstream(folder / "m.yaml") << *bad;
    std::ofstream(folder / "fix.patch") << UnifiedDiff("m.yaml", *bad, after);
    ASSERT_EQ(
        std::system(fmt::format("cd {} && patch -s -p0 < fix.patch", folder.string()).c_str()), 0)
        << code << "\n"
        << UnifiedDiff("m.yaml", *bad, after);
    EXPECT_EQ(Slurp(folder / "m.yaml"), after) << code;
    ++applied;
  }
  std::filesystem::remove_all(folder);
  EXPECT_GE(applied, 40);
}

TEST(Lint, ObjectsOfOtherFilesAreSeen) {
  const std::string& both = Rules().examples.at("indexed");
  const size_t cut = both.find("---\n");
  LintInput input = InputOf("job.yaml", both.substr(cut + 4));
  EXPECT_THAT(Codes(Lint(input, Rules(), {})), Contains("LINT-201"));
  input.files.push_back(InputOf("service.yaml", both.substr(0, cut)).files.at(0));
  EXPECT_THAT(Lint(input, Rules(), {}), IsEmpty());
}

TEST(Lint, AFindingPrintsAsOneLineWithItsPlace) {
  const LintRule& rule = Rules().by_code.at("LINT-104");
  const auto findings = Find(*Rules().ExampleText(rule, false));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(ToString(findings[0]),
            "m.yaml:11:17: LINT-104 error: minAvailable 3 of 2 pods: it can never start "
            "(minAvailable equal to the sum of replicas)");
}

// The operator's manifests: what is wrong in them, found by reading, is found by the rules; and no
// error is claimed beyond that.
TEST(Lint, TheOperatorsManifestsHoldTheErrorsThatAreInThem) {
  const std::filesystem::path folder =
      std::filesystem::path(MUSTER_SOURCE_DIR) / "../shared/manifests";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no manifests beside the checkout";
  LintInput input;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().extension() != ".yaml") continue;
    input.files.push_back(InputOf(e.path().filename(), Slurp(e.path())).files.at(0));
  }
  const auto findings = Lint(input, Rules(), {});
  std::set<std::string> errors, others;
  for (const LintFinding& f : findings)
    (f.severity == LintSeverity::kError ? errors : others).insert(f.file + " " + f.code);
  EXPECT_EQ(errors, (std::set<std::string>{
                        "ddp-job.yaml LINT-221",           // torchrun -c
                        "ddp-too-large.yaml LINT-707",     // six CPUs, quota four: as it is meant
                        "gang-smoke.yaml LINT-229",        // smoke_train.py is nowhere
                        "gang-smoke.yaml LINT-302",        // RoCE without an attachment
                        "kubelet-topology.yaml LINT-402",  // single-numa-node and 8 GPUs
                        "roce-network.yaml LINT-307"}))    // macvlan with an SR-IOV resource
      << Listed(findings);
  EXPECT_THAT(others,
              IsSupersetOf({"ddp-job.yaml LINT-206", "ddp-service.yaml LINT-205",
                            "ddp-job.yaml LINT-225", "gang-smoke.yaml LINT-112",
                            "gang-smoke.yaml LINT-226", "gang-smoke.yaml LINT-503",
                            "gang-smoke.yaml LINT-604", "gang-smoke.yaml LINT-606",
                            "gang-smoke.yaml LINT-610", "kueue-queues.yaml LINT-701",
                            "roce-network.yaml LINT-305", "kubelet-topology.yaml LINT-802"}))
      << Listed(findings);
  // The smallest changes take every finding that has one away.
  for (const ManifestFile& file : input.files) {
    std::vector<TextEdit> edits;
    for (const LintFinding& f : findings) edits.insert(edits.end(), f.edits.begin(), f.edits.end());
    const std::string after = ApplyEdits(file.path, file.text, edits);
    EXPECT_TRUE(ParseManifestFile(after, file.path).ok()) << after;
  }
}

}  // namespace
}  // namespace muster
