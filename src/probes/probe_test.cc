#include "probes/probe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using testing::FakeClock;
using testing::FaultKind;
using testing::FaultPlan;
using testing::FaultyFiles;
using testing::FaultyHttp;
using testing::FaultyProcesses;
using testing::MemoryFiles;
using testing::ScriptedHttp;
using testing::ScriptedProcesses;

class ProbeTest : public ::testing::Test {
 protected:
  HostPorts Ports() {
    return {"node-07", {clock_, files_, processes_, http_, random_}, Origin::kRehearsed};
  }
  Reading Run(CommandResult result) {
    processes_.On("tool -q", std::move(result));
    return ReadCommand(Ports(), "folder.tool", {{"tool", "-q"}});
  }
  static CommandResult Ended(int code, std::string out = "", std::string err = "") {
    CommandResult result;
    result.exit_code = code;
    result.out = std::move(out);
    result.err = std::move(err);
    return result;
  }

  FakeClock clock_;
  MemoryFiles files_{&clock_};
  ScriptedProcesses processes_;
  ScriptedHttp http_;
  SeededRandom random_{1};
};

TEST_F(ProbeTest, ReadingCarriesWhatWasAskedWhereWhenAndFromWhichOrigin) {
  processes_.On("tool -q", [&](const Command&) -> Result<CommandResult> {
    clock_.Advance(std::chrono::seconds(2));
    return Ended(0, "out\n", "note\n");
  });
  const TimePoint before = clock_.Now();
  const Reading reading = ReadCommand(Ports(), "folder.tool", {{"tool", "-q"}});
  EXPECT_EQ(reading.probe, "folder.tool");
  EXPECT_EQ(reading.host, "node-07");
  EXPECT_EQ(reading.command, "tool -q");
  EXPECT_EQ(reading.text, "out\n");
  EXPECT_EQ(reading.stderr_text, "note\n");
  EXPECT_EQ(reading.at, before + std::chrono::seconds(2));
  EXPECT_EQ(reading.took, std::chrono::seconds(2));
  EXPECT_EQ(reading.origin, Origin::kRehearsed);
  EXPECT_FALSE(reading.fault.has_value());
}

TEST_F(ProbeTest, MissingToolIsAToolFault) {
  const Reading reading = ReadCommand(Ports(), "folder.tool", {{"absent"}});
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kToolFault);
  EXPECT_EQ(reading.exit_code, 127);
}

TEST_F(ProbeTest, ShellSayingThatTheToolIsMissingIsAToolFault) {
  const Reading reading = Run(Ended(127, "", "bash: tool: command not found\n"));
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kToolFault);
  EXPECT_NE(reading.fault->detail.find("command not found"), std::string::npos);
}

TEST_F(ProbeTest, HangingToolIsAToolFault) {
  CommandResult result = Ended(143, "half an ans");
  result.timed_out = true;
  const Reading reading = Run(result);
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kToolFault);
  EXPECT_NE(reading.fault->detail.find("no answer within"), std::string::npos);
}

TEST_F(ProbeTest, CrashingToolIsAToolFault) {
  const Reading reading = Run(Ended(128 + 11));
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kToolFault);
  EXPECT_NE(reading.fault->detail.find("signal 11"), std::string::npos);
}

TEST_F(ProbeTest, RefusalIsNotPermittedHoweverItIsSaid) {
  for (const CommandResult& result :
       {Ended(126), Ended(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n"),
        Ended(4, "Unable to set: Insufficient Permissions\n"),
        Ended(255, "", "sudo: a password is required\n"),
        Ended(1, "", "ibnetdiscover: can't open UMAD port: Permission denied")}) {
    ScriptedProcesses processes;
    processes.On("tool", result);
    HostPorts ports{"node-07", {clock_, files_, processes, http_, random_}, Origin::kLive};
    const Reading reading = ReadCommand(ports, "folder.tool", {{"tool"}});
    ASSERT_TRUE(reading.fault.has_value()) << result.err;
    EXPECT_EQ(reading.fault->reason, UnknownReason::kNotPermitted) << result.err;
  }
}

TEST_F(ProbeTest, CutOutputIsUnparsable) {
  CommandResult result = Ended(0, "...");
  result.truncated = true;
  const Reading reading = Run(result);
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kUnparsable);
}

TEST_F(ProbeTest, DeadHostIsUnreachable) {
  processes_.On("tool -q", Error{Code::kUnavailable, "node-07: no route to host", {}});
  const Reading reading = ReadCommand(Ports(), "folder.tool", {{"tool", "-q"}});
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kUnreachable);
}

TEST_F(ProbeTest, NonZeroExitAloneIsNoFault) {
  // dcgmi ends with 226 and a whole document.
  const Reading reading = Run(Ended(226, "{\"DCGM Diagnostic\": {}}"));
  EXPECT_FALSE(reading.fault.has_value());
  EXPECT_EQ(reading.exit_code, 226);
}

TEST_F(ProbeTest, FaultTextIsSafeForATerminal) {
  const Reading reading = Run(Ended(127, "", "\x1b[31mred\n"));
  EXPECT_EQ(reading.fault->detail.find('\x1b'), std::string::npos);
}

TEST_F(ProbeTest, FileIsReadWithItsPathAsTheCommand) {
  files_.Put("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  const Reading reading =
      ReadFile(Ports(), "infiniband.sysfs", "/sys/class/infiniband/mlx5_0/ports/1/state");
  EXPECT_EQ(reading.text, "4: ACTIVE\n");
  EXPECT_EQ(reading.command, "read /sys/class/infiniband/mlx5_0/ports/1/state");
  EXPECT_FALSE(reading.fault.has_value());
}

TEST_F(ProbeTest, MissingFileIsNotObservedAndForbiddenFileIsNotPermitted) {
  EXPECT_EQ(ReadFile(Ports(), "p.f", "/absent").fault->reason, UnknownReason::kNotObserved);
  files_.Forbid("/closed", Error{Code::kPermission, "/closed: Permission denied", {}});
  EXPECT_EQ(ReadFile(Ports(), "p.f", "/closed").fault->reason, UnknownReason::kNotPermitted);
}

TEST_F(ProbeTest, UrlAnswersAreToldApart) {
  http_.Serves("http://a/ok", "up 1\n");
  HttpResponse no;
  no.status = 403;
  http_.On("http://a/no", no);
  HttpResponse broken;
  broken.status = 503;
  broken.body = "upstream\n";
  http_.On("http://a/broken", broken);
  http_.On("http://a/late", Error{Code::kTimeout, "no answer", {}});

  const auto read = [&](const std::string& url) {
    HttpRequest request;
    request.url = url;
    return ReadUrl(Ports(), "p.u", request);
  };
  EXPECT_EQ(read("http://a/ok").text, "up 1\n");
  EXPECT_EQ(read("http://a/ok").exit_code, 0);
  EXPECT_FALSE(read("http://a/ok").fault.has_value());
  EXPECT_EQ(read("http://a/no").fault->reason, UnknownReason::kNotPermitted);
  EXPECT_EQ(read("http://a/broken").fault->reason, UnknownReason::kToolFault);
  EXPECT_EQ(read("http://a/broken").exit_code, 503);
  EXPECT_EQ(read("http://a/late").fault->reason, UnknownReason::kToolFault);
  EXPECT_EQ(read("http://a/refused").fault->reason, UnknownReason::kUnreachable);
}

// A probe of two facts whose text says them as "one=1".
constexpr Probe kToy{
    "toy.tool", "txt", {}, nullptr, [](const Reading& reading) {
      ObservationBuilder builder(reading, "9.1");
      if (reading.text.find("one=1\n") != std::string::npos) {
        builder.Add(GpuSubject(reading.host, 0), "toy.one", int64_t{1}, Unit::kCount, "one=1");
      }
      if (reading.text.find("two=2\n") != std::string::npos) {
        builder.Add(GpuSubject(reading.host, 0), "toy.two", int64_t{2}, Unit::kCount, "two=2");
      }
      return builder.Take();
    }};

Probe Toy() {
  Probe probe = kToy;
  probe.facts = {"toy.one", "toy.two"};
  return probe;
}

const Observation& Of(const Observations& all, std::string_view fact) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.fact == fact; });
}

TEST_F(ProbeTest, ObservationsOfOneReadingShareSourceTimeAndOrigin) {
  const Reading reading = Run(Ended(0, "one=1\ntwo=2\n"));
  const Observations all = ParseReading(Toy(), reading);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].source, all[1].source);
  EXPECT_EQ(all[0].source->raw_sha256, Sha256Hex("one=1\ntwo=2\n"));
  EXPECT_EQ(all[0].source->tool_version, "9.1");
  EXPECT_EQ(all[0].observed_at, reading.at);
  EXPECT_EQ(all[0].origin, Origin::kRehearsed);
  EXPECT_EQ(std::get<int64_t>(*all[0].value()), 1);
}

TEST_F(ProbeTest, SilenceOfAFactIsSaid) {
  const Observations all = ParseReading(Toy(), Run(Ended(0, "one=1\n")));
  ASSERT_EQ(all.size(), 2u);
  const Observation& two = Of(all, "toy.two");
  ASSERT_NE(two.unobserved(), nullptr);
  EXPECT_EQ(two.unobserved()->reason, UnknownReason::kNotObserved);
  EXPECT_EQ(two.subject, NodeSubject("node-07"));
}

TEST_F(ProbeTest, SilenceTakesTheFaultOfTheReading) {
  const Observations all = ParseReading(Toy(), ReadCommand(Ports(), "toy.tool", {{"absent-tool"}}));
  ASSERT_EQ(all.size(), 2u);
  for (const Observation& o : all) {
    ASSERT_NE(o.unobserved(), nullptr);
    EXPECT_EQ(o.unobserved()->reason, UnknownReason::kToolFault);
  }
}

TEST_F(ProbeTest, HalfAnAnswerOfAHangingToolGivesNoValue) {
  CommandResult result = Ended(143, "one=1\ntwo=2\n");
  result.timed_out = true;
  for (const Observation& o : ParseReading(Toy(), Run(result))) {
    EXPECT_EQ(o.value(), nullptr) << o.fact;
    ASSERT_NE(o.unobserved(), nullptr);
    EXPECT_EQ(o.unobserved()->reason, UnknownReason::kToolFault);
  }
}

TEST_F(ProbeTest, ExcerptIsShortAndSafe) {
  ObservationBuilder builder(Run(Ended(0)));
  builder.Add(SiteSubject("s"), "toy.one", true, Unit::kNone, "  \x1b[2J" + std::string(1000, 'x'));
  const Observations all = builder.Take();
  EXPECT_LE(all[0].excerpt.size(), 200u);
  EXPECT_EQ(all[0].excerpt.find('\x1b'), std::string::npos);
}

TEST_F(ProbeTest, EveryBrokenPortGivesAFaultOrTheWholeAnswer) {
  processes_.Prints("tool -q", "one=1\ntwo=2\n");
  files_.Put("/f", "one=1\ntwo=2\n");
  http_.Serves("http://a/", "one=1\ntwo=2\n");
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kHang, FaultKind::kLate}) {
    FaultPlan plan(kind, 1, true);
    FaultyProcesses processes(processes_, plan);
    FaultyFiles files(files_, plan);
    FaultyHttp http(http_, plan);
    HostPorts ports{"node-07", {clock_, files, processes, http, random_}, Origin::kLive};
    HttpRequest request;
    request.url = "http://a/";
    for (const Reading& reading :
         {ReadCommand(ports, "toy.tool", {{"tool", "-q"}}), ReadFile(ports, "toy.tool", "/f"),
          ReadUrl(ports, "toy.tool", request)}) {
      EXPECT_TRUE(reading.fault.has_value() || reading.text == "one=1\ntwo=2\n") << reading.command;
    }
  }
}

}  // namespace
}  // namespace muster
