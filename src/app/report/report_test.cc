#include "app/report/report.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/report/report_parts.h"
#include "app/testing/lab_site.h"
#include "app/testing/xml.h"
#include "world/testing/captures.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Catalogue& TheCatalogue() { return *LoadEmbedded().value(); }

Verdict Of(const std::string& code, Subject subject, Level level, const std::string& measured) {
  Verdict v;
  v.code = code;
  v.gate = 2;
  v.subject = std::move(subject);
  v.level = level;
  v.measured = measured;
  v.wanted = "wanted";
  v.text = "measured " + measured;
  v.origin = Origin::kRehearsed;
  return v;
}

// A small run that holds one of everything that a report must show. `named` stands where somebody
// else chooses the text: the site, a node, a reason.
muster::Run SmallRun(const std::string& named = "node000") {
  muster::Run run;
  run.header.run = "r-20261120T120000-0001";
  run.header.site_name = named == "node000" ? "hall" : named;
  run.header.site_sha256 = std::string(64, 'a');
  run.header.catalogue_sha256 = std::string(64, 'b');
  run.header.version = "0.1.0";
  run.header.by = "ops@here";
  run.header.nodes = {"node000", "node001"};
  run.header.at = ParseTime("2026-11-20T12:00:00Z").value();
  run.header.origin = Origin::kRehearsed;
  run.ended = ParseTime("2026-11-20T12:10:00Z").value();
  run.closed = true;
  run.level = Level::kFail;
  const auto& criteria = TheCatalogue().criteria;
  std::vector<std::string> codes;
  for (const Criterion& c : criteria)
    if (c.gate == 2) codes.push_back(c.code);

  GateRecord one, two, three, six;
  one.gate = 1;
  one.result.emplace();
  one.result->gate = 1;
  one.result->level = Level::kPass;
  one.result->verdicts = {Of("FAC-001", {SubjectKind::kSite, "hall"}, Level::kPass, "yes")};
  two.gate = 2;
  two.result.emplace();
  two.result->gate = 2;
  two.result->level = Level::kFail;
  two.result->waived_by = "A. Person until 2026-12-01T00:00:00Z: " + named;
  two.result->verdicts = {
      Of(codes[0], NodeSubject(named), Level::kFail, "2"),
      Of(codes[0], NodeSubject("node001"), Level::kPass, "4"),
      Of(codes[1], NodeSubject("node001"), Level::kUnknown, "-"),
      Of(codes[2], NodeSubject("node001"), Level::kWarn, "3 | 4"),
  };
  two.result->verdicts[2].reason = UnknownReason::kNotObserved;
  two.result->suspects = {
      {NodeSubject(named), Level::kFail, {codes[0]}, "width 2 where 4 is expected", "ibstat"}};
  two.result->not_applicable = {{codes[3], "a title", "no " + named}};
  three.gate = 3;
  three.result.emplace();
  three.result->gate = 3;
  three.result->blocked_by = "gate 2 fabric is not open";
  six.gate = 6;
  six.result.emplace();
  six.result->gate = 6;
  six.result->level = Level::kPass;
  six.result->took = std::chrono::milliseconds(1500);
  six.result->figures = {{"busbw", {371.2, Unit::kGBytePerSec}}};
  run.gates = {one, two, three, six};
  return run;
}

struct Reports {
  muster::Run run;
  Site site;
  ReportInput input;
  explicit Reports(const std::string& named = "node000", const std::string& waiver = "gate 2 by A")
      : run(SmallRun(named)), input{run,
                                    site,
                                    TheCatalogue(),
                                    std::string(64, 'c'),
                                    {{"busbw", {400, Unit::kGBytePerSec}}},
                                    {waiver}} {}
};

// Against src/app/report/testdata; UPDATE_GOLDEN=1 writes it, a person reads the difference.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(MUSTER_SOURCE_DIR) + "/src/app/report/testdata/" + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  const auto expected = testing::ReadWhole(path);
  ASSERT_TRUE(expected) << path;
  EXPECT_EQ(text, *expected);
}

TEST(Report, MarkdownIsAsItWasAccepted) {
  ExpectGolden("small.md", ReportMarkdown(Reports().input));
}
TEST(Report, HtmlIsAsItWasAccepted) { ExpectGolden("small.html", ReportHtml(Reports().input)); }
TEST(Report, JsonIsAsItWasAccepted) { ExpectGolden("small.json", ReportJson(Reports().input)); }
TEST(Report, JunitIsAsItWasAccepted) { ExpectGolden("small.xml", ReportJunit(Reports().input)); }

TEST(Report, EveryFormSaysRehearsedFailWaivedAndTheDigest) {
  const Reports reports;
  for (const std::string& text : {ReportMarkdown(reports.input), ReportHtml(reports.input)}) {
    EXPECT_THAT(text, HasSubstr("Rehearsed"));
    EXPECT_THAT(text, HasSubstr("FAIL (waived)"));
    EXPECT_THAT(text, HasSubstr("NOT OBSERVED"));
    EXPECT_THAT(text, HasSubstr(std::string(64, 'c')));
    EXPECT_THAT(text, HasSubstr("gate 2 by A"));
  }
  const auto json = nlohmann::json::parse(ReportJson(reports.input));
  EXPECT_EQ(json["origin"], "rehearsed");
  EXPECT_EQ(json["evidence_sha256"], std::string(64, 'c'));
}

TEST(Report, HtmlRefersToNothingOutsideItself) {
  const std::string html = ReportHtml(Reports().input);
  for (const char* outside :
       {"http:", "https:", "//", "src=", "<script", "@import", "url(", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
}

TEST(Report, HostileNamesAreTextInEveryForm) {
  const std::string hostile = "<script>alert('1')</script>\"&|`\n\x1b[31m";
  const Reports reports(hostile, hostile);
  const std::string html = ReportHtml(reports.input), markdown = ReportMarkdown(reports.input);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(markdown, Not(HasSubstr("<script"))) << "Markdown becomes HTML in somebody's browser";
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(markdown, Not(HasSubstr("\x1b")));
  EXPECT_EQ(testing::XmlProblem(ReportJunit(reports.input)), "");
  EXPECT_TRUE(nlohmann::json::accept(ReportJson(reports.input)));
}

TEST(Report, JunitIsWellFormedAndCountsWhatItHolds) {
  const std::string xml = ReportJunit(Reports().input);
  EXPECT_EQ(testing::XmlProblem(xml), "") << xml;
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<error message=\"gate 2 fabric is not open\"/>"));
}

TEST(Report, RealRunOfALabMakesEveryForm) {
  testing::LabSite lab;
  lab.Inject("link_down");
  const auto run = lab.RunGates(1, 3);
  ASSERT_TRUE(run.ok());
  auto context = lab.Open();
  const ReportInput input{*run, context->site(), TheCatalogue(), "d", {}, {}};
  EXPECT_EQ(testing::XmlProblem(ReportJunit(input)), "");
  EXPECT_TRUE(nlohmann::json::accept(ReportJson(input)));
  EXPECT_THAT(ReportHtml(input), HasSubstr("suspect"));
  EXPECT_THAT(ReportMarkdown(input), HasSubstr("Suspect: **"));
  EXPECT_TRUE(SweepOf(*run).empty());
  EXPECT_TRUE(LossesOf(*run).empty());
}

TEST(Report, SweepAndLossesAreReadFromTheEvidence) {
  muster::Run run;
  GateRecord six, seven;
  six.gate = 6;
  Reading sweep;
  sweep.probe = "nccl_tests.all_reduce";
  sweep.text =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)       \n"
      "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    "
      "50.00   20.97   36.70      0\n"
      "  1073741824     268435456     float     sum      -1  5000.00  214.75  375.81      0  "
      "5000.00  214.75  375.81      0\n";
  six.evidence.readings = {sweep};
  seven.gate = 7;
  Reading losses;
  losses.probe = "measure.training";
  losses.text = testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/train/gang4.rank0.txt");
  seven.evidence.readings = {losses};
  run.gates = {six, seven};
  const auto points = SweepOf(run);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].first, 1073741824);
  EXPECT_NEAR(points[1].second, 375.81, 0.01);
  const auto curve = LossesOf(run);
  ASSERT_GT(curve.size(), 10u);
  EXPECT_EQ(curve[0].first, 1);
  EXPECT_NEAR(curve[0].second, 4.5618, 0.001);
}

TEST(ReportParts, VerdictsOfOneCriterionAndLevelAreOneRowIllFirst) {
  const auto rows = RowsOf(*SmallRun().gates[1].result, TheCatalogue());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].verdict, "FAIL");
  EXPECT_EQ(rows[0].subjects, "1 of 2 nodes: node000");
  EXPECT_EQ(rows[1].verdict, "UNKNOWN");
  EXPECT_EQ(rows[2].verdict, "WARN");
  EXPECT_EQ(rows[3].verdict, "PASS");
}

TEST(ReportParts, ManySubjectsAreCountedAndSomeNamed) {
  GateResult result;
  for (int i = 0; i < 9; ++i)
    result.verdicts.push_back(Of("FAB-001", NodeSubject(fmt::format("n{}", i)),
                                 i < 6 ? Level::kFail : Level::kPass, fmt::format("{}", i)));
  const auto rows = RowsOf(result, TheCatalogue());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].subjects, "6 of 9 nodes: n0, n1, n2, n3, ...");
  EXPECT_EQ(rows[0].measured, "0 .. 5");
  EXPECT_EQ(rows[0].count, 6u);
}

}  // namespace
}  // namespace muster
