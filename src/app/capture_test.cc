#include "app/capture.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/check.h"
#include "app/testing/lab_site.h"
#include "world/testing/captures.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;
using ::testing::Not;

// (code, subject, level) of everything that was judged.
std::vector<std::string> Verdicts(const std::vector<GateResult>& results) {
  std::vector<std::string> lines;
  for (const GateResult& result : results) {
    lines.push_back(fmt::format("gate {} {}", result.gate, ToString(result.level)));
    for (const Verdict& v : result.verdicts)
      lines.push_back(fmt::format("{} {} {}", v.code, v.subject.ToString(), ToString(v.level)));
  }
  return lines;
}

// Everything that a look judges, the capture says too. A capture may hold more: what a look does
// not start, such as the diagnostic.
void ExpectSaysTheSame(const std::vector<GateResult>& live,
                       const std::vector<GateResult>& replayed) {
  std::map<std::string, Level> again;
  for (const GateResult& result : replayed) {
    for (const Verdict& v : result.verdicts) again[v.code + " " + v.subject.ToString()] = v.level;
  }
  ASSERT_EQ(live.size(), replayed.size());
  for (const GateResult& result : live) {
    for (const Verdict& v : result.verdicts) {
      const auto found = again.find(v.code + " " + v.subject.ToString());
      ASSERT_NE(found, again.end()) << v.code << " " << v.subject.ToString();
      EXPECT_EQ(ToString(found->second), ToString(v.level)) << found->first << ": " << v.text;
    }
  }
}

class CaptureReplay : public ::testing::Test {
 protected:
  void CaptureNow() {
    auto context = lab_.Open();
    ASSERT_TRUE(context.ok()) << context.error().ToString();
    SilentProgress progress;
    const auto captured = Capture(*context, "/out", progress);
    ASSERT_TRUE(captured.ok()) << captured.error().ToString();
    captured_ = *captured;
  }
  Result<std::vector<GateResult>> Replay() {
    World world = lab_.world();
    CheckOptions options;
    options.replay = "/out";
    return CheckCapture(world, *LoadEmbedded().value(), options);
  }
  Result<std::vector<GateResult>> Live() {
    auto context = lab_.Open();
    SilentProgress progress;
    return CheckSite(*context, {}, progress);
  }

  LabSite lab_;
  CaptureResult captured_;
};

TEST_F(CaptureReplay, CapturedLabIsJudgedAsTheLabItself) {
  const auto live = Live();
  ASSERT_TRUE(live.ok());
  CaptureNow();
  EXPECT_GT(captured_.files, 20u);
  EXPECT_THAT(captured_.faults, IsEmpty());
  const auto replayed = Replay();
  ASSERT_TRUE(replayed.ok()) << replayed.error().ToString();
  ExpectSaysTheSame(*live, *replayed);
  for (const GateResult& result : *replayed) {
    for (const Verdict& v : result.verdicts)
      if (!v.evidence.empty()) {
        EXPECT_EQ(v.origin, Origin::kRehearsed) << v.code;
      }
  }
}

TEST_F(CaptureReplay, IllLabIsJudgedIllFromItsCapture) {
  for (const char* fault : {"link_down", "xid_79", "dcgm_hidden_error", "tool_truncated"}) {
    LabSite lab;
    lab.Inject(fault);
    ASSERT_EQ(lab.problem, "") << fault;
    auto context = lab.Open();
    SilentProgress progress;
    const auto live = CheckSite(*context, {}, progress);
    ASSERT_TRUE(Capture(*context, "/out", progress).ok()) << fault;
    World world = lab.world();
    CheckOptions options;
    options.replay = "/out";
    const auto replayed = CheckCapture(world, *LoadEmbedded().value(), options);
    ASSERT_TRUE(replayed.ok()) << fault << replayed.error().ToString();
    SCOPED_TRACE(fault);
    ExpectSaysTheSame(*live, *replayed);
  }
}

TEST_F(CaptureReplay, AnotherSiteFileHoldsTheCaptureToItsOwnWords) {
  CaptureNow();
  World world = lab_.world();
  std::string text = *world.files.Read("/out/site.yaml");
  CheckOptions options;
  options.replay = "/out";
  options.gates = {3};
  options.replay_site = "/other.yaml";
  ASSERT_TRUE(world.files.WriteAtomic("/other.yaml", text).ok());
  auto same = CheckCapture(world, *LoadEmbedded().value(), options);
  ASSERT_TRUE(same.ok()) << same.error().ToString();
  EXPECT_EQ(same->front().level, Level::kPass);
  const size_t at = text.find("thresholds: {}");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 14, "thresholds: {gpu_temperature_max: 1 C}");
  ASSERT_TRUE(world.files.WriteAtomic("/other.yaml", text).ok());
  auto stricter = CheckCapture(world, *LoadEmbedded().value(), options);
  ASSERT_TRUE(stricter.ok()) << stricter.error().ToString();
  EXPECT_NE(stricter->front().level, Level::kPass);
}

TEST_F(CaptureReplay, SilentHostIsStillSilentInTheCapture) {
  lab_.Inject("unreachable", "node001");
  ASSERT_EQ(lab_.problem, "");
  CaptureNow();
  EXPECT_FALSE(captured_.faults.empty());
  const auto live = Live(), replayed = Replay();
  ASSERT_TRUE(replayed.ok()) << replayed.error().ToString();
  ExpectSaysTheSame(*live, *replayed);
}

TEST_F(CaptureReplay, ReplayDoesNotGrowStale) {
  CaptureNow();
  const auto before = Replay();
  lab_.clock.Advance(std::chrono::hours(24 * 30));
  EXPECT_EQ(Verdicts(*Replay()), Verdicts(*before));
}

TEST_F(CaptureReplay, FileThatWasChangedIsNamed) {
  CaptureNow();
  for (const std::string& path : lab_.files.Paths()) {
    if (!path.starts_with("/out/node000/")) continue;
    const std::string sound = lab_.files.Read(path).value();
    lab_.files.Put(path, sound + " ");
    const auto replayed = Replay();
    ASSERT_FALSE(replayed.ok()) << path;
    EXPECT_EQ(replayed.error().code, Code::kCorrupt);
    EXPECT_THAT(replayed.error().ToString(), HasSubstr(path));
    lab_.files.Put(path, sound);
  }
}

TEST_F(CaptureReplay, FileThatIsGoneIsNamed) {
  CaptureNow();
  ASSERT_TRUE(lab_.files.Remove("/out/node000/nvidia_smi.query.xml").ok());
  const auto replayed = Replay();
  ASSERT_FALSE(replayed.ok());
  EXPECT_THAT(replayed.error().ToString(), HasSubstr("nvidia_smi.query.xml"));
}

TEST_F(CaptureReplay, ManifestThatPointsOutsideIsRefused) {
  CaptureNow();
  std::string manifest = lab_.files.Read("/out/manifest.json").value();
  const size_t at = manifest.find("node000/node.identity.txt");
  ASSERT_NE(at, std::string::npos);
  lab_.files.Put("/out/manifest.json", manifest.replace(at, 7, "../../x"));
  const auto replayed = Replay();
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, Code::kCorrupt);
}

TEST_F(CaptureReplay, ManifestCutAnywhereIsRefused) {
  CaptureNow();
  const std::string manifest = lab_.files.Read("/out/manifest.json").value();
  for (size_t n = 0; n + 2 < manifest.size(); n += 1 + manifest.size() / 150) {
    lab_.files.Put("/out/manifest.json", manifest.substr(0, n));
    EXPECT_FALSE(Replay().ok()) << n;
  }
}

TEST_F(CaptureReplay, FolderThatHoldsSomethingIsNotWrittenInto) {
  lab_.files.Put("/out/precious", "x");
  auto context = lab_.Open();
  SilentProgress progress;
  const auto captured = Capture(*context, "/out", progress);
  ASSERT_FALSE(captured.ok());
  EXPECT_EQ(captured.error().code, Code::kConflict);
}

TEST(Redact, SecretsAreBlanked) {
  const char* kSecrets[] = {
      "password: hunter22",
      "PASSWORD=hunter22",
      "\"token\": \"hunter22\"",
      "api_key = 'hunter22'",
      "apiKey: hunter22",
      "client_secret: \"hunter22\"",
      "Authorization: Bearer hunter22",
      "authorization: basic hunter22",
      "http://ops:hunter22@prometheus:9090/x",
      "redfish: https://admin:hunter22@10.0.0.1/",
      "AWS_SECRET_ACCESS_KEY=hunter22",
      "curl -H 'Authorization: Bearer hunter22' http://x",
      "{\"access_token\":\"hunter22\",\"x\":1}",
      "password: \"hunter22 with blanks\"",
  };
  for (const char* text : kSecrets) {
    const std::string safe = Redact(text);
    EXPECT_THAT(safe, Not(HasSubstr("hunter22"))) << text << " -> " << safe;
    EXPECT_THAT(safe, HasSubstr("[redacted]")) << text;
    EXPECT_EQ(Redact(safe), safe) << "twice is as good as once";
  }
}

TEST(Redact, PrivateKeyBlocksAreBlankedWholeAndWhatFollowsStays) {
  const std::string safe = Redact(
      "before\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n"
      "-----END OPENSSH PRIVATE KEY-----\nafter\n");
  EXPECT_THAT(safe, Not(HasSubstr("b3BlbnNz")));
  EXPECT_THAT(safe, HasSubstr("before\n"));
  EXPECT_THAT(safe, HasSubstr("\nafter\n"));
}

TEST(Redact, KeyCutBeforeItsEndIsBlankedToTheEnd) {
  EXPECT_THAT(Redact("-----BEGIN RSA PRIVATE KEY-----\nMIIE"), Not(HasSubstr("MIIE")));
}

TEST(Redact, SecretInALongLineIsBlankedToo) {
  const std::string padding(100'000, 'x');
  EXPECT_THAT(Redact("{\"a\":\"" + padding + "\",\"token\":\"hunter22\"}"),
              Not(HasSubstr("hunter22")));
}

TEST(Redact, WhatToolsPrintStaysAsItIs) {
  for (const char* name :
       {"rehearsed/01-healthy-sminfo-ibstat.txt",
        "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt",
        "rehearsed/03-healthy-ibnetdiscover.txt", "rehearsed/04-healthy-ibdiagnet.txt",
        "rehearsed/prometheus/targets.json", "rehearsed/prometheus/query-series.json"}) {
    const std::string text = testing::Capture(MUSTER_SOURCE_DIR, name);
    EXPECT_EQ(Redact(text), text) << name;
  }
  LabSite lab;
  World world = lab.world();
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"nvidia-smi", "-q", "-x"},
                                               {"nvidia-smi", "topo", "-m"},
                                               {"dcgmi", "diag", "-r", "3", "-j"},
                                               {"ibstat"}}) {
    const auto result = LabExec(world, testing::kTestSite, "node000", argv, "");
    ASSERT_TRUE(result.ok()) << argv[0];
    EXPECT_EQ(Redact(result->out), result->out) << argv[0];
  }
}

RC_GTEST_PROP(RedactProperty, AnyBytesGoThroughAndNoLineIsLost, (const std::string& text)) {
  const std::string safe = Redact(text);
  RC_ASSERT(std::count(safe.begin(), safe.end(), '\n') ==
            std::count(text.begin(), text.end(), '\n'));
}

}  // namespace
}  // namespace muster
