#include "probes/dcgm/diag.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/dcgm/diag_document.h"
#include "probes/dcgm/probes.h"

namespace muster::dcgm {
namespace {

Reading Of(std::string text, int exit_code = 0) {
  Reading reading;
  reading.probe = "dcgm.diag";
  reading.host = "node-07";
  reading.command = "dcgmi diag -r 3 -j";
  reading.text = std::move(text);
  reading.exit_code = exit_code;
  return reading;
}

const Observation* Find(const Observations& all, const Subject& subject, std::string_view fact) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& o) {
    return o.subject == subject && o.fact == fact;
  });
  return it == all.end() ? nullptr : &*it;
}
std::string Said(const Observations& all, const Subject& subject, std::string_view fact) {
  const Observation* found = Find(all, subject, fact);
  if (found == nullptr) return "nothing";
  if (const Value* value = found->value()) return FormatValue(*value, Unit::kNone);
  return "unobserved";
}
const Subject kGpu0 = GpuSubject("node-07", 0), kGpu1 = GpuSubject("node-07", 1),
              kNode = NodeSubject("node-07");

constexpr const char* kOwed[] = {"software",      "memory",           "pcie",
                                 "diagnostic",    "memory_bandwidth", "targeted_stress",
                                 "targeted_power"};

// A 4.x document of two GPUs in which one test has another outcome for GPU 1.
std::string Modern(std::string_view odd_test = "",
                   std::string_view odd_result = "\"status\" : \"Fail\"",
                   std::string_view odd_summary = "Fail") {
  std::string tests;
  for (std::string_view name : kOwed) {
    const bool odd = name == odd_test;
    fmt::format_to(std::back_inserter(tests),
                   "{}{{\n\"category\" : \"Any\",\n\"tests\" :\n[\n{{\n\"name\" : "
                   "\"{}\",\n\"results\" :\n[\n{{\n\"entity_group\" : \"GPU\",\n"
                   "\"entity_group_id\" : 1,\n\"entity_id\" : 0,\n\"status\" : "
                   "\"Pass\"\n}},\n{{\n\"entity_group\" : \"GPU\",\n\"entity_group_id\" : 1,\n"
                   "\"entity_id\" : 1,\n{}\n}}\n],\n\"test_summary\" :\n{{\n\"status\" : "
                   "\"{}\"\n}}\n}}\n]\n}}",
                   tests.empty() ? "" : ",\n", name, odd ? odd_result : "\"status\" : \"Pass\"",
                   odd ? odd_summary : "Pass");
  }
  return fmt::format(
      "{{\n\"DCGM Diagnostic\" :\n{{\n\"test_categories\" :\n[\n{}\n]\n}},\n\"entity_groups\" "
      ":\n[\n{{\n\"entities\" :\n[\n{{\n\"device_id\" : \"2330\",\n"
      "\"entity_id\" : 0,\n\"serial_num\" : \"<<<NOT_SUPPORTED>>>\"\n}},\n{{\n\"device_id\" : "
      "\"2330\",\n\"entity_id\" : 1,\n\"serial_num\" : \"1\"\n}}\n],\n"
      "\"entity_group\" : \"GPU\",\n\"entity_group_id\" : 1\n}}\n],\n\"metadata\" :\n{{\n\"Driver "
      "Version Detected\" : \"570.211.01\",\n\"version\" : \"4.2.3\"\n}}\n}}\n",
      tests);
}

// The same of 3.x: nine software tests in Deployment with a list of GPUs, names in capitals, one
// result per GPU elsewhere.
std::string Classic(std::string_view status_of_gpu1 = "PASS") {
  std::string hardware;
  for (std::string_view name : {"GPU Memory", "Diagnostic", "PCIe", "Memory Bandwidth",
                                "Targeted Stress", "Targeted Power"})
    fmt::format_to(
        std::back_inserter(hardware),
        R"(,null,{{"name":"{}","results":[{{"gpu_ids":"0","status":"PASS"}},null,{{"gpu_ids":"1","status":"{}","warnings":null}}]}})",
        name, name == "PCIe" ? status_of_gpu1 : std::string_view("PASS"));
  return fmt::format(
      R"({{"DCGM GPU Diagnostic":{{"test_categories":[{{"category":"Deployment","tests":[{{"name":"Denylist","results":[{{"gpu_ids":"0,1","status":"PASS"}}]}}]}},
{{"category":"Hardware","tests":[null{}]}}],"version":"3.1.0"}}}})",
      hardware);
}

TEST(DiagTest, HealthyNodeOfEitherGenerationPasses) {
  for (const std::string& text : {Modern(), Classic()}) {
    const auto all = ParseDiag(Of(text));
    EXPECT_EQ(Said(all, kGpu0, "dcgm.result"), "Pass");
    EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Pass");
    EXPECT_EQ(Said(all, kGpu1, "dcgm.hidden_errors"), "0");
    EXPECT_EQ(Said(all, kNode, "dcgm.tests_run"), "7");
  }
}

TEST(DiagTest, FailureIsOfTheGpuThatFailed) {
  for (const std::string& text : {Modern("pcie"), Classic("FAIL")}) {
    const auto all = ParseDiag(Of(text, 226));
    EXPECT_EQ(Said(all, kGpu0, "dcgm.result"), "Pass");
    EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Fail");
  }
}

TEST(DiagTest, TextBeforeAndAfterTheDocumentAndTheExitCodeDoNotMatter) {
  const std::string text = "WARNING: {not} \"this\"\n  { and this }\n" + Modern() + "done\n";
  for (int exit_code : {0, 205, 226}) {
    const auto all = ParseDiag(Of(text, exit_code));
    EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Pass") << exit_code;
    EXPECT_EQ(Find(all, kGpu1, "dcgm.result")->source->exit_code, exit_code);
  }
}

TEST(DiagTest, StatusWordsAreReadInEverySpelling) {
  for (auto [word, outcome] : {std::pair<std::string_view, Outcome>("Pass", Outcome::kPass),
                               {"PASS", Outcome::kPass},
                               {"pass", Outcome::kPass},
                               {"Skip", Outcome::kSkip},
                               {"SKIPPED", Outcome::kSkip},
                               {"Not Run", Outcome::kSkip},
                               {"warn", Outcome::kWarn},
                               {"FAIL", Outcome::kFail},
                               {"", Outcome::kUnreadable},
                               {"Passing", Outcome::kUnreadable}})
    EXPECT_EQ(ReadOutcome(word), outcome) << word;
}

TEST(DiagTest, SkippedTestIsNotPassed) {
  const auto all = ParseDiag(Of(Modern("targeted_power", "\"status\" : \"Skip\"", "Pass")));
  EXPECT_EQ(Said(all, kGpu0, "dcgm.result"), "Pass");
  EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Skip");
}

TEST(DiagTest, TestThatDependsOnTheInstallationMayBeSkipped) {
  const std::string text = std::string(Modern());
  const std::string extra =
      R"({"category":"Hardware","tests":[{"name":"eud","results":[{"entity_group":"GPU","entity_id":1,"status":"Skip"}],
"test_summary":{"status":"Skip"}}]},)";
  std::string with = text;
  with.insert(with.find("[\n{\n\"category\"") + 1, extra);
  const auto all = ParseDiag(Of(with));
  EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Pass");
  EXPECT_EQ(Said(all, kNode, "dcgm.tests_run"), "7");
}

TEST(DiagTest, WarningInsideAPassedTestIsAHiddenError) {
  const auto all = ParseDiag(
      Of(Modern("memory",
                "\"status\" : \"Pass\",\n\"warnings\" : "
                "[{\"error_category\":1,\"error_id\":11,\"error_severity\":4,"
                "\"warning\":\"Couldn't allocate at least 75.0% of GPU memory on GPU 1\"}]",
                "Pass")));
  EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Pass");
  EXPECT_EQ(Said(all, kGpu1, "dcgm.hidden_errors"), "1");
  EXPECT_EQ(Said(all, kGpu0, "dcgm.hidden_errors"), "0");
  EXPECT_TRUE(Contains(Find(all, kGpu1, "dcgm.hidden_errors")->excerpt, "allocate"));
}

TEST(DiagTest, AllocationErrorInAnInfoLineIsHiddenTooButASkippedCheckIsNot) {
  const auto failed = ParseDiag(Of(
      Modern("memory", "\"status\" : \"Pass\",\n\"info\" : [\"Couldn't allocate memory on GPU 1\"]",
             "Pass")));
  EXPECT_EQ(Said(failed, kGpu1, "dcgm.hidden_errors"), "1");
  const auto skipped =
      ParseDiag(Of(Modern("software",
                          "\"status\" : \"Pass\",\n\"info\" : [\"Error getting the SRAM Threshold "
                          "Count for GPU 1. Status = 0. Value = "
                          "9223372036854775794. SRAM Threshold checking was skipped.\"]",
                          "Pass")));
  EXPECT_EQ(Said(skipped, kGpu1, "dcgm.hidden_errors"), "0");
}

TEST(DiagTest, FailureOfTheWholeNodeCountsForEveryGpu) {
  std::string text = Modern();
  const std::string extra =
      R"({"category":"Integration","tests":[{"name":"nvbandwidth","results":[{"entity_group":"CPU","entity_id":0,"status":"Fail"}],
"test_summary":{"status":"Fail"}}]},)";
  text.insert(text.find("[\n{\n\"category\"") + 1, extra);
  const auto all = ParseDiag(Of(text));
  EXPECT_EQ(Said(all, kGpu0, "dcgm.result"), "Fail");
  EXPECT_EQ(Said(all, kGpu1, "dcgm.result"), "Fail");
  EXPECT_EQ(Find(all, GpuSubject("node-07", 2), "dcgm.result"), nullptr);
}

TEST(DiagTest, RepeatedRunsCountByTheirWorst) {
  const std::string good = Classic(), bad = Classic("FAIL");
  const std::string_view head = R"({"DCGM GPU Diagnostic":)";
  const std::string text =
      fmt::format(R"({{"DCGM GPU Diagnostic":{{"Overall Result":"Pass","iterations":[{},{}]}}}})",
                  good.substr(head.size(), good.size() - head.size() - 1),
                  bad.substr(head.size(), bad.size() - head.size() - 1));
  EXPECT_EQ(Said(ParseDiag(Of(text)), kGpu1, "dcgm.result"), "Fail");
}

TEST(DiagTest, RuntimeErrorGivesNoResult) {
  for (const char* text :
       {R"({"runtime_error":"Unable to initialise NVVS"})",
        R"({"DCGM Diagnostic":{"runtime_error":"Unable to initialise NVVS"}})"}) {
    const auto all = ParseDiag(Of(text, 226));
    const Observation* result = Find(all, kNode, "dcgm.result");
    ASSERT_NE(result, nullptr);
    ASSERT_NE(result->unobserved(), nullptr);
    EXPECT_EQ(result->unobserved()->reason, UnknownReason::kToolFault);
    EXPECT_EQ(result->unobserved()->detail, "Unable to initialise NVVS");
  }
}

TEST(DiagTest, HostEngineThatDoesNotAnswerIsAToolFault) {
  const auto all =
      ParseDiag(Of("Error: unable to establish a connection to the specified host: "
                   "localhost\nError: Unable to connect\n",
                   255));
  ASSERT_NE(Find(all, kNode, "dcgm.result"), nullptr);
  EXPECT_EQ(Find(all, kNode, "dcgm.result")->unobserved()->reason, UnknownReason::kToolFault);
}

TEST(DiagTest, SentinelIsNoGpu) {
  std::string text = Modern();
  const size_t at = text.rfind("\"entity_id\" : 1");
  text.replace(at, 15, "\"entity_id\" : 9223372036854775794");
  for (const auto& o : ParseDiag(Of(text)))
    EXPECT_TRUE(o.subject == kGpu0 || o.subject == kGpu1 || o.subject == kNode)
        << o.subject.ToString();
}

// Nothing may be learnt from a damaged text that the intact one did not say. Fewer tests run is no
// health.
void ExpectNoNewKnowledge(const Observations& intact, const std::string& damaged) {
  for (const auto& o : ParseDiag(Of(damaged))) {
    if (o.value() == nullptr || o.fact == "dcgm.tests_run") continue;
    const Observation* before = Find(intact, o.subject, o.fact);
    const bool same =
        before != nullptr && before->value() != nullptr && *before->value() == *o.value();
    // A result that lost its GPU's name is bad news for every GPU; it never makes one look better.
    const bool bad_news = o.fact == "dcgm.result" && *o.value() != Value(std::string("Pass"));
    ASSERT_TRUE(same || bad_news) << o.subject.ToString() << " " << o.fact << " "
                                  << FormatValue(*o.value(), o.unit) << "\n"
                                  << damaged;
  }
}

TEST(DiagTest, CutAnywhereGivesNothing) {
  for (const std::string& text :
       {Modern("memory"), Modern("pcie", "\"status\" : \"Skip\"", "Pass"), Classic("FAIL")}) {
    const size_t whole = std::string_view(text).find_last_of('}');
    for (size_t at = 0; at <= whole; ++at)
      for (const auto& o : ParseDiag(Of(text.substr(0, at)))) ASSERT_EQ(o.value(), nullptr) << at;
  }
}

TEST(DiagTest, LostLineGivesNoBetterResult) {
  for (const std::string& text : {Modern("memory"), Modern("pcie", "\"status\" : \"Skip\"", "Pass"),
                                  Modern("software", "\"status\" : \"Warn\"", "Warn")}) {
    const auto intact = ParseDiag(Of(text));
    const auto lines = Lines(text);
    for (size_t drop = 0; drop < lines.size(); ++drop) {
      std::string damaged;
      for (size_t i = 0; i < lines.size(); ++i)
        if (i != drop) damaged += std::string(lines[i]) + "\n";
      ExpectNoNewKnowledge(intact, damaged);
    }
  }
}

TEST(DiagTest, RenamedKeyGivesNoBetterResult) {
  for (const std::string& text : {Modern("memory"), Modern("pcie", "\"status\" : \"Skip\"", "Pass"),
                                  Classic("FAIL"), Classic("SKIP")}) {
    const auto intact = ParseDiag(Of(text));
    for (std::string_view key :
         {"\"status\"", "\"name\"", "\"results\"", "\"entity_id\"", "\"entity_group\"", "\"tests\"",
          "\"category\"", "\"test_summary\"", "\"gpu_ids\"", "\"test_categories\"", "\"entities\"",
          "\"DCGM Diagnostic\"", "\"DCGM GPU Diagnostic\""}) {
      for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        std::string damaged = text;
        damaged[at + 1] = '#';
        ExpectNoNewKnowledge(intact, damaged);
      }
    }
  }
}

RC_GTEST_PROP(DiagProperty, AnyBytesAreSurvived, (const std::string& bytes)) {
  for (const auto& o : ParseDiag(Of(bytes))) RC_ASSERT(o.value() == nullptr);
  for (const auto& o : ParseDiag(Of("{\"DCGM Diagnostic\":" + bytes)))
    RC_ASSERT(o.value() == nullptr);
}

TEST(DiagTest, ProbeSaysEveryFactEvenOfAnEmptyAnswer) {
  const Probe& probe = DcgmProbes()[0];
  const auto all = ParseReading(probe, Of(""));
  for (auto fact : probe.facts)
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& o) {
      return o.fact == fact && o.unobserved() != nullptr;
    })) << fact;
}

}  // namespace
}  // namespace muster::dcgm
