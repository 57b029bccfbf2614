#include "probes/kernel_log/kernel_log.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/strings.h"
#include "probes/kernel_log/probes.h"
#include "probes/kernel_log/xid_facts.h"
#include "probes/kernel_log/xid_table.h"
#include "world/testing/captures.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::kernel_log {
namespace {

const char* const kBoot =
    "[    0.000000] Linux version 6.8.0-87-generic (buildd@host)\n[    1.000000] systemd[1]: "
    "hello\n";
const char* const kMap = "0, 00000000:1B:00.0\n1, 00000000:43:00.0\n";

std::string Whole(std::string_view log, std::string_view map = kMap) {
  return fmt::format("{}\n{}{}\n{}{}\n", kMapMark, map, kLogMark, log, kEndMark);
}
Reading Of(std::string text) {
  Reading reading;
  reading.probe = "kernel_log.xid";
  reading.host = "n1";
  reading.text = std::move(text);
  return reading;
}
// "3 of 79": the two facts of a GPU, or "?" with the detail.
std::string Said(const std::string& text, const std::string& subject) {
  std::string count = "nothing", last;
  for (const auto& o : ParseXids(Of(text))) {
    if (o.subject.id != subject) continue;
    const std::string said =
        o.value() != nullptr ? FormatValue(*o.value(), Unit::kNone) : "? " + o.unobserved()->detail;
    (o.fact == "gpu.fatal_xids" ? count : last) = said;
  }
  return StartsWith(count, "?") || count == "nothing" ? count : count + " of " + last;
}
Event One(std::string_view line) {
  const KernelLog log = ParseKernelLog(line);
  EXPECT_EQ(log.events.size(), 1u) << line;
  return log.events.empty() ? Event{} : log.events[0];
}

TEST(KernelLogTest, XidIsReadInEveryFormOfTheLog) {
  for (std::string_view prefix :
       {"", "[  123.456789] ", "[Fri Nov 20 03:12:00 2026] ", "kern  :err   : [  123.456789] ",
        "2026-11-20T03:12:00,123456+00:00 ",
        "Nov 20 03:12:00 node-07 kernel: ", "2026-11-20T03:12:00+0000 node-07 kernel: ",
        "2026-11-20T03:12:00+00:00 node-07 kernel: ", "3,4011,123456789,-;"}) {
    const Event event =
        One(fmt::format("{}NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU "
                        "has fallen off the bus.",
                        prefix));
    EXPECT_EQ(event.kind, EventKind::kXid) << prefix;
    EXPECT_EQ(event.code, 79) << prefix;
    EXPECT_EQ(event.pci, "0000:1b:00") << prefix;
    EXPECT_EQ(event.pci_key, PciSlot("00000000:1B:00.0")) << prefix;
    EXPECT_EQ(event.process, "<unknown>") << prefix;
    EXPECT_EQ(event.pid, std::nullopt) << prefix;
    EXPECT_EQ(event.text, "GPU has fallen off the bus.") << prefix;
  }
  EXPECT_EQ(One("3,4011,123456789,-;NVRM: Xid (PCI:0000:1b:00): 79, x").since_boot,
            std::chrono::microseconds(123456789));
  EXPECT_EQ(One("[  123.500000] NVRM: Xid (PCI:0000:1b:00): 79, x").since_boot,
            std::chrono::milliseconds(123500));
  for (std::string_view stamp :
       {"2026-11-20T03:12:00,000000+00:00",
        "2026-11-20T03:12:00+0000 h kernel:", "2026-11-20T03:12:00Z h kernel:"})
    EXPECT_EQ(One(fmt::format("{} NVRM: Xid (PCI:0000:1b:00): 79, x", stamp)).at,
              ParseTime("2026-11-20T03:12:00Z").value())
        << stamp;
}

TEST(KernelLogTest, ATimeIsNoAddress) {
  const KernelLog log = ParseKernelLog(
      "[Fri Apr  5 21:29:39 2024] NVRM: GPU 0000:a1:00.0: GPU has fallen off the bus.\n");
  ASSERT_EQ(log.events.size(), 1u);
  EXPECT_EQ(log.events[0].pci, "0000:a1:00.0");
}

TEST(KernelLogTest, ProcessAndOlderShapesAreRead) {
  Event event =
      One("NVRM: Xid (PCI:0000:1b:00): 31, pid=4711, name=python3, Ch 00000008, intr 10000000. MMU "
          "Fault");
  EXPECT_EQ(event.pid, 4711);
  EXPECT_EQ(event.process, "python3");
  EXPECT_EQ(event.text, "Ch 00000008, intr 10000000. MMU Fault");
  event = One("NVRM: Xid (0000:06:00): 45, Ch 00000010, engmask 00000111");
  EXPECT_EQ(event.code, 45);
  EXPECT_EQ(event.pci, "0000:06:00");
  event =
      One("NVRM: Xid (PCI:0000:1b:00): 45, pid=1, name=a, Ch 0000000c caused by previous Xid 13");
  EXPECT_EQ(event.caused_by, 13);
  event =
      One("NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
          "(Node Reboot Required)");
  EXPECT_EQ(event.recovery, 2);
}

TEST(KernelLogTest, Nvlink5FormIsDecoded) {
  const Event event =
      One("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 "
          "0x00000000 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(event.severity, Severity::kFatal);
  EXPECT_EQ(event.unit, "NETIR_LINK_EVT");
  EXPECT_EQ(event.link, 8);
  ASSERT_EQ(event.words.size(), 6u);
  EXPECT_EQ(event.words[0], 0x004505c6u);
  const Event unit =
      One("NVRM: Xid (PCI:0018:01:00): 145, RLW_REMAP Nonfatal XC1 i0 Link -1 (0x00000004 "
          "0x80000000 0x0 0x0 0x0 0x0)");
  EXPECT_EQ(unit.severity, Severity::kNonFatal);
  EXPECT_EQ(unit.link, -1);
}

TEST(KernelLogTest, SxidIsReadAndItsContinuationNotCounted) {
  const KernelLog log = ParseKernelLog(
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 36 LTSSM Fault Up\n"
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 36 Sub-engine "
      "instance 00\n"
      "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x00000000}\n"
      "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link 04 RX Short Error Rate\n");
  ASSERT_EQ(log.events.size(), 2u);
  EXPECT_EQ(log.events[0].code, 20034);
  EXPECT_EQ(log.events[0].severity, Severity::kFatal);
  EXPECT_EQ(log.events[0].link, 36);
  EXPECT_EQ(log.events[0].unit, "nvswitch3");
  EXPECT_EQ(log.events[1].severity, Severity::kNonFatal);
}

TEST(KernelLogTest, OtherEventsAreRecognised) {
  const std::pair<std::string_view, EventKind> lines[] = {
      {"NVRM: GPU at PCI:0000:1b:00: GPU-34d7319c-5b19-1e75-186d-c187099e4fe5",
       EventKind::kGpuIdentity},
      {"NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.", EventKind::kFallenOff},
      {"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:1b:00 (printing 1 of every "
       "30).",
       EventKind::kGspNoise},
      {"pcieport 0000:5c:01.0: AER: Corrected error received: 0000:5d:00.0", EventKind::kAer},
      {"pcieport 0000:5c:01.0: AER: Uncorrected (Fatal) error received: 0000:5d:00.0",
       EventKind::kAer},
      {"pcieport 0000:5c:01.0: DPC: containment event, status:0x1f01 source:0x0000",
       EventKind::kAer},
      {"pcieport 0000:5c:01.0: pciehp: Slot(9): Link Down", EventKind::kAer},
      {"mlx5_core 0000:18:00.0 mlx5_0: Port: 1 Link DOWN", EventKind::kMlx5Port},
      {"Out of memory: Killed process 1234 (python3) total-vm:1kB", EventKind::kOutOfMemory},
      {"Memory cgroup out of memory: Killed process 99 (sh) total-vm:1kB", EventKind::kOutOfMemory},
      {"nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping "
       "further processing",
       EventKind::kPeermem},
      {"pt_main_thread[25]: segfault at 7f797fe00000 ip 00007f7c sp 00007f7c error 4 in "
       "libnccl.so.2[7f7c]",
       EventKind::kNcclCrash},
  };
  for (const auto& [line, kind] : lines) EXPECT_EQ(One(line).kind, kind) << line;
  EXPECT_EQ(One(lines[3].first).severity, Severity::kNonFatal);
  EXPECT_EQ(One(lines[3].first).pci, "0000:5d:00.0");
  EXPECT_EQ(One(lines[4].first).severity, Severity::kFatal);
  EXPECT_EQ(One(lines[7].first).unit, "mlx5_0");
  EXPECT_EQ(One(lines[7].first).text, "DOWN");
  EXPECT_EQ(One(lines[8].first).pid, 1234);
  EXPECT_EQ(One(lines[8].first).process, "python3");
}

TEST(KernelLogTest, APortThatBeginsToWatchForErrorsHasNone) {
  for (const char* line : {"pcieport 0000:5c:01.0: AER: enabled with IRQ 33",
                           "pcieport 0000:5c:01.0: AER: device recovery successful"})
    EXPECT_TRUE(ParseKernelLog(line).events.empty()) << line;
}

TEST(KernelLogTest, LostGpuWithoutANumberTakesTheAddressOfItsFirstLine) {
  const KernelLog log = ParseKernelLog(
      "NVRM: The NVIDIA GPU 0000:5d:00.0\nNVRM: (PCI ID: 10de:2330)\nNVRM: installed in this "
      "system has\nNVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_EQ(log.events.size(), 1u);
  EXPECT_EQ(log.events[0].kind, EventKind::kFallenOff);
  EXPECT_EQ(log.events[0].pci, "0000:5d:00.0");
}

TEST(KernelLogTest, RealLogWithoutFaultsHasNoEvents) {
  const auto text =
      muster::testing::SharedCapture(MUSTER_SOURCE_DIR, "third_party/gpud/kmsg.1.log");
  if (!text) GTEST_SKIP() << "third_party/gpud/kmsg.1.log is not beside this checkout";
  const KernelLog log = ParseKernelLog(*text);
  EXPECT_GT(log.lines, 40u);
  EXPECT_TRUE(log.events.empty());
  EXPECT_FALSE(log.from_boot);
}

TEST(XidFactsTest, QuietLogOfThisBootIsZeroForEveryGpu) {
  EXPECT_EQ(Said(Whole(kBoot), "n1/gpu0"), "0 of 0");
  EXPECT_EQ(Said(Whole(kBoot), "n1/gpu1"), "0 of 0");
}

TEST(XidFactsTest, FatalXidCountsForItsGpuAlone) {
  const std::string log = std::string(kBoot) +
                          "NVRM: Xid (PCI:0000:43:00): 48, pid=1, name=a, DBE\nNVRM: Xid "
                          "(PCI:0000:43:00): 95, pid=1, name=a, Uncontained\n";
  EXPECT_EQ(Said(Whole(log), "n1/gpu0"), "0 of 0");
  EXPECT_EQ(Said(Whole(log), "n1/gpu1"), "2 of 95");
}

TEST(XidFactsTest, FaultsOfTheProgramTakeNoNodeOut) {
  for (int code : {8, 13, 31, 38, 43, 44, 45, 63, 92, 94})
    EXPECT_EQ(Said(Whole(fmt::format("{}NVRM: Xid (PCI:0000:43:00): {}, pid=1, name=a, x\n", kBoot,
                                     code)),
                   "n1/gpu1"),
              "0 of 0")
        << code;
  for (int code : {48, 62, 64, 74, 79, 95, 109, 119, 120, 140, 143})
    EXPECT_EQ(Said(Whole(fmt::format("{}NVRM: Xid (PCI:0000:43:00): {}, pid=1, name=a, x\n", kBoot,
                                     code)),
                   "n1/gpu1"),
              fmt::format("1 of {}", code));
}

TEST(XidFactsTest, WordInAnNvlink5LineDecidesAndItsAbsenceCounts) {
  const std::string_view line =
      "NVRM: Xid (PCI:0000:43:00): 149, NETIR_LINK_EVT {} XC0 i0 Link 08 (0x0 0x0 0x0 0x0 0x0 "
      "0x0)\n";
  EXPECT_EQ(Said(Whole(kBoot + fmt::format(fmt::runtime(line), "Nonfatal")), "n1/gpu1"), "0 of 0");
  EXPECT_EQ(Said(Whole(kBoot + fmt::format(fmt::runtime(line), "Fatal")), "n1/gpu1"), "1 of 149");
  EXPECT_EQ(Said(Whole(kBoot + fmt::format(fmt::runtime(line), "")), "n1/gpu1"), "1 of 149");
}

TEST(XidFactsTest, AnnouncedRecoveryActionCountsWhenNothingElseDoes) {
  const std::string step =
      "NVRM: Xid (PCI:0000:43:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
      "Reset Required)\n";
  const std::string back =
      "NVRM: Xid (PCI:0000:43:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
      "to 0x0 (None)\n";
  EXPECT_EQ(Said(Whole(kBoot + step), "n1/gpu1"), "1 of 154");
  EXPECT_EQ(Said(Whole(kBoot + step + back), "n1/gpu1"), "0 of 0");
  EXPECT_EQ(
      Said(Whole(std::string(kBoot) + "NVRM: Xid (PCI:0000:43:00): 119, x\n" + step), "n1/gpu1"),
      "1 of 119");
}

TEST(XidFactsTest, UnknownCodeIsNoHealth) {
  for (int code : {61, 199, 999}) {
    const std::string said =
        Said(Whole(fmt::format("{}NVRM: Xid (PCI:0000:43:00): {}, x\n", kBoot, code)), "n1/gpu1");
    EXPECT_TRUE(StartsWith(said, fmt::format("? Xid {} is in no catalogue", code))) << said;
  }
}

TEST(XidFactsTest, LostGpuWithoutXidCountsAs79) {
  EXPECT_EQ(
      Said(Whole(std::string(kBoot) + "NVRM: GPU 0000:43:00.0: GPU has fallen off the bus.\n"),
           "n1/gpu1"),
      "1 of 79");
  EXPECT_EQ(Said(Whole(std::string(kBoot) + "NVRM: Xid (PCI:0000:43:00): 79, x\nNVRM: GPU "
                                            "0000:43:00.0: GPU has fallen off the bus.\n"),
                 "n1/gpu1"),
            "1 of 79");
}

TEST(XidFactsTest, WhatAResetClearedIsNotCountedAndWhatCameLaterIs) {
  const std::string xid = "NVRM: Xid (PCI:0000:43:00): 119, x\n";
  const std::string fallen = "NVRM: GPU 0000:43:00.0: GPU has fallen off the bus.\n";
  const std::string mark = "muster: gpu reset done: 00000000:43:00.0\n";
  const std::string boot = kBoot;
  EXPECT_EQ(Said(Whole(boot + xid + fallen + mark), "n1/gpu1"), "0 of 0");
  EXPECT_EQ(Said(Whole(boot + xid + mark + xid), "n1/gpu1"), "1 of 119");
  EXPECT_EQ(Said(Whole(boot + mark + fallen), "n1/gpu1"), "1 of 79");
  // With the stamps of dmesg and of journalctl.
  for (const char* stamp : {"[  100.5] ", "2026-11-20T00:00:00,000000+00:00 ",
                            "2026-11-20T00:00:00+0000 n1 ", "<12>", "4,1339,5140900,-;"})
    EXPECT_EQ(Said(Whole(boot + xid + stamp + mark), "n1/gpu1"), "0 of 0") << stamp;
  // Several at once; another GPU's reset clears nothing of this one.
  EXPECT_EQ(Said(Whole(boot + xid + "muster: gpu reset done: 00000000:1B:00.0;00000000:43:00.0\n"),
                 "n1/gpu1"),
            "0 of 0");
  EXPECT_EQ(Said(Whole(boot + xid + "muster: gpu reset done: 00000000:1B:00.0\n"), "n1/gpu1"),
            "1 of 119");
}

TEST(XidFactsTest, AResetThatIsNotOursToBelieveClearsNothing) {
  const std::string xid = "NVRM: Xid (PCI:0000:43:00): 119, x\n";
  for (const char* line :
       {"usb 1-1: Product: muster: gpu reset done: 00000000:43:00.0\n",
        "muster: gpu reset done: \n", "muster: gpu reset done: all\n",
        "muster: gpu reset begun: 00000000:43:00.0\n", "muster: gpu reset done: 00000000:43\n",
        "kernel: x: muster: gpu reset done: 00000000:43:00.0\n"})
    EXPECT_EQ(Said(Whole(std::string(kBoot) + xid + line), "n1/gpu1"), "1 of 119") << line;
}

TEST(XidFactsTest, FatalXidOfAnUnlistedGpuIsToldOfTheNode) {
  const std::string text = Whole(
      std::string(kBoot) + "NVRM: Xid (PCI:0000:5d:00): 79, x\n",
      std::string("Unable to determine the device handle for GPU2: 0000:5d:00.0: Unknown Error\n") +
          kMap);
  EXPECT_EQ(Said(text, "n1/gpu0"), "0 of 0");
  EXPECT_TRUE(Contains(Said(text, "n1"), "0000:5d:00")) << Said(text, "n1");
}

TEST(XidFactsTest, ZeroNeedsAWholeLogOfThisBootAndTheList) {
  EXPECT_TRUE(StartsWith(Said(Whole(""), "n1/gpu0"), "?"));
  EXPECT_TRUE(StartsWith(Said(Whole("[  900.0] something late\n"), "n1/gpu0"),
                         "? the kernel log does not reach back"));
  EXPECT_TRUE(StartsWith(
      Said(Whole(kBoot, "Failed to initialize NVML: Driver/library version mismatch\n"), "n1"),
      "? no list of GPU addresses"));
  EXPECT_TRUE(StartsWith(Said(kBoot, "n1"), "? no list of GPU addresses"));
  // A fatal one is fatal in whatever is left of the log.
  EXPECT_EQ(Said(Whole("[  900.0] NVRM: Xid (PCI:0000:43:00): 79, x\n"), "n1/gpu1"), "1 of 79");
}

TEST(XidFactsTest, CutAnywhereNeverLooksHealthier) {
  const std::string text = Whole(
      std::string(kBoot) + "NVRM: Xid (PCI:0000:43:00): 48, pid=1, name=a, DBE\n[ 99.0] later\n");
  for (size_t at = 0; at < text.size(); ++at)
    for (const auto& o : ParseXids(Of(text.substr(0, at)))) {
      if (o.value() == nullptr) continue;
      ASSERT_EQ(o.subject.id, "n1/gpu1") << at;
      ASSERT_TRUE(o.fact == "gpu.fatal_xids" ? *o.value() == Value(int64_t{1})
                                             : *o.value() != Value(int64_t{0}))
          << at;
    }
}

TEST(XidTableTest, TableIsTheCatalogue) {
  const YAML::Node catalogue =
      YAML::LoadFile(std::string(MUSTER_SOURCE_DIR) + "/catalogue/faults/xids.yaml");
  const YAML::Node xids = catalogue["xids"];
  ASSERT_EQ(xids.size(), XidTable().size());
  int before = 0;
  for (size_t i = 0; i < xids.size(); ++i) {
    const int code = xids[i]["code"].as<int>();
    const auto fatal = xids[i]["fatal"].as<std::string>();
    EXPECT_GT(code, before);
    before = code;
    EXPECT_EQ(xids[i]["id"].as<std::string>(), fmt::format("xid-{}", code));
    const XidEntry* entry = FindXid(code);
    ASSERT_NE(entry, nullptr) << code;
    EXPECT_EQ(entry->fatal, fatal == "true"    ? XidFatal::kYes
                            : fatal == "false" ? XidFatal::kNo
                                               : XidFatal::kByLine)
        << code;
    EXPECT_EQ(entry->klass, xids[i]["class"].as<std::string>()) << code;
    for (const char* key :
         {"mnemonic", "meaning", "severity", "action", "resolution", "why", "source", "since"})
      EXPECT_FALSE(xids[i][key].as<std::string>("").empty()) << code << " " << key;
    EXPECT_TRUE(catalogue["sources"][xids[i]["source"].as<std::string>()].IsDefined()) << code;
  }
  for (const auto& unused : catalogue["unused"]) EXPECT_EQ(FindXid(unused.as<int>()), nullptr);
}

TEST(XidTableTest, CorrectionsOfCommonListsHold) {
  for (int code : {8, 13, 31, 43}) {
    EXPECT_EQ(FindXid(code)->klass, "application") << code;
    EXPECT_EQ(FindXid(code)->fatal, XidFatal::kNo) << code;
  }
  EXPECT_EQ(FindXid(63)->fatal, XidFatal::kNo);
  EXPECT_EQ(FindXid(64)->fatal, XidFatal::kYes);
  EXPECT_EQ(FindXid(48)->fatal, XidFatal::kYes);
  EXPECT_EQ(FindXid(92)->fatal, XidFatal::kNo);
  for (int code = 144; code <= 150; ++code)
    EXPECT_EQ(FindXid(code)->fatal, XidFatal::kByLine) << code;
}

TEST(SxidTableTest, EveryEntryIsWhole) {
  const YAML::Node catalogue =
      YAML::LoadFile(std::string(MUSTER_SOURCE_DIR) + "/catalogue/faults/sxids.yaml");
  EXPECT_EQ(catalogue["sxids"].size(), 92u);  // as many as the fabric manager guide documents
  for (const auto& entry : catalogue["sxids"])
    for (const char* key : {"id", "code", "fatal", "class", "severity", "scope", "meaning",
                            "action", "why", "source", "since"})
      EXPECT_FALSE(entry[key].as<std::string>("").empty()) << key;
}

class CollectTest : public ::testing::Test {
 protected:
  Reading Collect() {
    return KernelLogProbes()[0].collect(
        {"n1", {clock_, files_, processes_, http_, random_}, Origin::kLive});
  }
  const std::string map_line_ = "nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader";
  const std::string journal_line_ = "journalctl -k -b --no-pager -o short-iso",
                    dmesg_line_ = "dmesg --time-format iso";
  muster::testing::FakeClock clock_;
  muster::testing::MemoryFiles files_{&clock_};
  muster::testing::ScriptedProcesses processes_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

TEST_F(CollectTest, JournalIsReadFirstAndTheRingBufferWhenThereIsNone) {
  processes_.Prints(map_line_, kMap);
  processes_.Prints(journal_line_, "2026-11-20T03:12:00+0000 n1 kernel: Linux version 6.8\n");
  EXPECT_EQ(Said(Collect().text, "n1/gpu1"), "0 of 0");
  processes_.Prints(journal_line_, "-- No entries --\n");
  processes_.Prints(dmesg_line_,
                    "2026-11-20T03:12:00,0+00:00 Linux version 6.8\n2026-11-20T03:12:01,0+00:00 "
                    "NVRM: Xid (PCI:0000:43:00): 79, x\n");
  (void)Collect();  // takes the journal's first answer again out of the script
  EXPECT_EQ(Said(Collect().text, "n1/gpu1"), "1 of 79");
}

TEST_F(CollectTest, RefusedLogIsAFaultAndNotAQuietOne) {
  processes_.Prints(map_line_, kMap);
  CommandResult refused;
  refused.exit_code = 1;
  refused.err = "dmesg: read kernel buffer failed: Operation not permitted\n";
  processes_.On(dmesg_line_, refused);
  const Reading reading = Collect();
  ASSERT_TRUE(reading.fault.has_value());
  EXPECT_EQ(reading.fault->reason, UnknownReason::kNotPermitted);
  for (const auto& o : ParseReading(KernelLogProbes()[0], reading)) EXPECT_EQ(o.value(), nullptr);
}

RC_GTEST_PROP(KernelLogProperty, AnyBytesAreSurvived, (const std::string& bytes)) {
  (void)ParseKernelLog(bytes);
  (void)ParseKernelLog("NVRM: Xid (PCI:0000:1b:00): 145, " + bytes);
  (void)ParseXids(Of(std::string(kMapMark) + bytes));
  (void)ParseXids(Of(Whole(bytes)));
}

}  // namespace
}  // namespace muster::kernel_log
