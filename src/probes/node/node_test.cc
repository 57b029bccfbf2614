#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/node/parse.h"
#include "probes/node/probes.h"
#include "probes/node/sections.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::node {
namespace {

using Facts = std::map<std::string, std::string>;

Reading Of(std::string text, int exit_code = 0) {
  Reading reading;
  reading.host = "n1";
  reading.text = std::move(text);
  reading.exit_code = exit_code;
  return reading;
}
Facts Read(Observations (*parse)(const Reading&), const std::string& text, int exit_code = 0) {
  Facts facts;
  for (const auto& o : parse(Of(text, exit_code)))
    facts[o.fact] = o.value() != nullptr ? FormatValue(*o.value(), Unit::kNone) : "?";
  return facts;
}

std::string Identity(std::string_view date, std::string_view asked = "1763690000.000000000",
                     std::string_view answered = "1763690000.200000000") {
  std::string text;
  AddSection(text, "asked", asked);
  AddSection(text, "answered", answered);
  AddSection(text, "date", date);
  AddSection(text, "boot_id", "0a1b2c3d-0a1b-2c3d-4e5f-0123456789ab");
  AddSection(text, "end", "");
  return text;
}

struct Node {
  std::string kernel = "6.8.0-87-generic";
  std::string modules =
      "mlx5_core 2203648 1 mlx5_ib, Live 0x0\nnvidia_peermem 20480 0 - Live 0x0 (POE)\nnvidia "
      "14381056 19 nvidia_uvm, Live 0x0 (POE)\n";
  std::string loaded =
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.211.01  Tue Oct 28 21:02:11 UTC "
      "2025\nGCC version:  gcc version 13.3.0\n";
  std::string on_disk = "570.211.01";
  std::string smi =
      "NVIDIA-SMI version  : 570.211.01\nNVML version        : 570.211\nDRIVER version      : "
      "570.211.01\nCUDA Version        : 12.8\n";
  std::string manager = "Fabric Manager version is : 570.211.01\n";
  std::string Text() const {
    std::string text;
    AddSection(text, "kernel", kernel);
    AddSection(text, "modules", modules);
    AddSection(text, "loaded", loaded);
    AddSection(text, "on_disk", on_disk);
    AddSection(text, "smi", smi);
    AddSection(text, "fabric_manager", manager);
    AddSection(text, "end", "");
    return text;
  }
};

TEST(IdentityTest, ClockOffsetIsTakenFromTheMiddleOfTheRoundTrip) {
  EXPECT_EQ(Read(ParseIdentity, Identity("1763690000.100000000"))["node.clock_offset"], "0");
  EXPECT_EQ(Read(ParseIdentity, Identity("1763690002.600000000"))["node.clock_offset"], "2.5");
  EXPECT_EQ(Read(ParseIdentity, Identity("1763689995.100000000"))["node.clock_offset"], "5");
  EXPECT_EQ(Read(ParseIdentity, Identity("1763690000.1"))["node.reachable"], "yes");
  EXPECT_EQ(Read(ParseIdentity, Identity("1763690000.1"))["node.boot_id"],
            "0a1b2c3d-0a1b-2c3d-4e5f-0123456789ab");
}

TEST(IdentityTest, WhatIsNoTimeIsNoOffset) {
  for (const char* date : {"", "1763690000.%N", "Fri Nov 20", "-5", "99999999999999"}) {
    auto facts = Read(ParseIdentity, Identity(date));
    EXPECT_EQ(facts["node.clock_offset"], "?") << date;
    EXPECT_EQ(facts["node.reachable"], "?") << date;
  }
  EXPECT_EQ(Read(ParseIdentity,
                 Identity("1763690000.1", "1763690001.0", "1763690000.0"))["node.clock_offset"],
            "?");
}

TEST(ServicesTest, StateOfTheFabricManagerIsItsWord) {
  for (const char* word : {"active", "inactive", "failed", "activating"})
    EXPECT_EQ(Read(ParseServices, std::string(word) + "\n")["node.fabric_manager"], word);
  EXPECT_EQ(Read(ParseServices, "inactive\n", 3)["node.fabric_manager"], "inactive");
  EXPECT_EQ(Read(ParseServices, "inactive\n", 4)["node.fabric_manager"], "absent");
  EXPECT_EQ(Read(ParseServices, "unknown\n", 3)["node.fabric_manager"], "absent");
  for (const char* bad : {"", "activ", "active", "garbage\n"})
    EXPECT_EQ(Read(ParseServices, bad)["node.fabric_manager"], "?") << bad;
}

TEST(ModulesTest, EverythingFits) {
  auto facts = Read(ParseModules, Node().Text());
  EXPECT_EQ(facts["node.peermem"], "yes");
  EXPECT_EQ(facts["node.driver_loaded_matches"], "yes");
  EXPECT_EQ(facts["node.fabric_manager_matches"], "yes");
}

TEST(ModulesTest, PeermemOrDmaBufIsNeeded) {
  Node node;
  node.modules = "nvidia 14381056 19 nvidia_uvm, Live 0x0 (POE)\n";
  EXPECT_EQ(Read(ParseModules, node.Text())["node.peermem"], "no");
  node.loaded =
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01  Release Build\n";
  EXPECT_EQ(Read(ParseModules, node.Text())["node.peermem"], "yes");
  node.kernel = "5.4.0-200-generic";
  EXPECT_EQ(Read(ParseModules, node.Text())["node.peermem"], "no");
  node.modules = "ext4 1 0 - Live 0x0\n";
  EXPECT_EQ(Read(ParseModules, node.Text())["node.peermem"], "?");
}

TEST(ModulesTest, MismatchOfTheDriverIsSeenInEachOfItsForms) {
  Node loaded, disk, library;
  loaded.smi = "NVIDIA-SMI version  : 580.65.06\nDRIVER version      : 570.211.01\n";
  disk.on_disk = "580.65.06";
  library.smi =
      "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.65\n";
  for (const Node& node : {loaded, disk, library})
    EXPECT_EQ(Read(ParseModules, node.Text())["node.driver_loaded_matches"], "no");
  Node silent;
  silent.smi = "";
  EXPECT_EQ(Read(ParseModules, silent.Text())["node.driver_loaded_matches"], "?");
  silent.loaded = "";
  EXPECT_EQ(Read(ParseModules, silent.Text())["node.driver_loaded_matches"], "?");
}

TEST(ModulesTest, FabricManagerOfAnotherVersionOrWithoutOneIsTold) {
  Node other, none;
  other.manager = "Fabric Manager version is : 570.172.08\n";
  none.manager = "";
  EXPECT_EQ(Read(ParseModules, other.Text())["node.fabric_manager_matches"], "no");
  EXPECT_EQ(Read(ParseModules, none.Text())["node.fabric_manager_matches"], "?");
}

TEST(NodeParsersTest, CutTextTeachesNothingNew) {
  Node sick;
  sick.modules = "nvidia 14381056 19 nvidia_uvm, Live 0x0 (POE)\n";
  sick.on_disk = "580.65.06";
  using Parse = Observations (*)(const Reading&);
  const std::pair<Parse, std::string> cases[] = {{ParseModules, Node().Text()},
                                                 {ParseModules, sick.Text()},
                                                 {ParseIdentity, Identity("1763690005.1")}};
  for (const auto& [parse, text] : cases) {
    auto intact = Read(parse, text);
    for (size_t at = 0; at < text.size(); ++at)
      for (const auto& [fact, value] : Read(parse, text.substr(0, at)))
        ASSERT_TRUE(value == "?" || value == intact[fact]) << at << " " << fact << " " << value;
  }
}

TEST(NodeProbesTest, HostThatDoesNotAnswerIsUnreachableAndNotHealthy) {
  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files(&clock);
  muster::testing::ScriptedProcesses processes;
  muster::testing::ScriptedHttp http;
  SeededRandom random(1);
  processes.Otherwise([](const Command&) -> Result<CommandResult> {
    return Fail(Code::kUnavailable, "no route to host");
  });
  for (const char* path : {"/proc/modules", "/proc/sys/kernel/osrelease"})
    files.Forbid(path, Error{Code::kUnavailable, "no route to host", {}, true});
  for (const Probe& probe : NodeProbes()) {
    const Reading reading =
        probe.collect({"n1", {clock, files, processes, http, random}, Origin::kLive});
    ASSERT_TRUE(reading.fault.has_value()) << probe.id;
    EXPECT_EQ(reading.fault->reason, UnknownReason::kUnreachable) << probe.id;
    for (const auto& o : ParseReading(probe, reading)) EXPECT_EQ(o.value(), nullptr) << o.fact;
  }
}

TEST(NodeProbesTest, CollectedIdentityIsUnderstood) {
  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files(&clock);
  muster::testing::ScriptedProcesses processes;
  muster::testing::ScriptedHttp http;
  SeededRandom random(1);
  files.Put("/proc/sys/kernel/random/boot_id", "0a1b2c3d-0a1b-2c3d-4e5f-0123456789ab\n");
  processes.Prints("true", "");
  processes.Otherwise([&](const Command&) -> Result<CommandResult> {
    clock.Advance(std::chrono::milliseconds(100));
    const auto ns = (clock.Now() + std::chrono::seconds(3)).time_since_epoch().count();
    clock.Advance(std::chrono::milliseconds(100));
    CommandResult result;
    result.out = fmt::format("{}.{:09}\n", ns / 1'000'000'000, ns % 1'000'000'000);
    return result;
  });
  const Probe& probe = NodeProbes()[0];
  for (const auto& o : ParseReading(
           probe, probe.collect({"n1", {clock, files, processes, http, random}, Origin::kLive}))) {
    ASSERT_NE(o.value(), nullptr) << o.fact;
    if (o.fact == "node.clock_offset") {
      EXPECT_DOUBLE_EQ(std::get<double>(*o.value()), 3.0);
    }
  }
}

RC_GTEST_PROP(NodeProperty, AnyBytesAreSurvived, (const std::string& bytes)) {
  for (auto parse : {ParseIdentity, ParseServices, ParseModules}) {
    (void)parse(Of(bytes));
    (void)parse(Of("# muster: loaded\n" + bytes));
  }
}

}  // namespace
}  // namespace muster::node
