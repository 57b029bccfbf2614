#include "diagnose/reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "diagnose/decode.h"
#include "diagnose/diagnosis.h"
#include "diagnose/hash.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/pattern.h"
#include "diagnose/scan.h"
#include "diagnose/section.h"
#include "diagnose/speaker.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attributes Captured(const char* pattern, const std::string& line) {
  Attributes got;
  std::string folded;
  FoldInto(line, folded);
  const auto p = Pattern::Parse(pattern);
  EXPECT_TRUE(p.ok()) << pattern;
  if (!p->Match(line, folded, got)) got = {{"no", "match"}};
  return got;
}

TEST(PatternText, CapturesWordsDigitsAndTheRest) {
  EXPECT_EQ(
      Captured("peer {peer} with error {status:int}, % vendor err {vendor:int}",
               "Got Completion from PEER 10.0.0.1<99> with error 12, opcode 0, vendor err 129"),
      (Attributes{{"peer", "10.0.0.1<99>"}, {"status", "12"}, {"vendor", "129"}}));
  EXPECT_EQ(Captured("error: {what*}", "x Error: a b c  "), (Attributes{{"what", "a b c"}}));
  EXPECT_EQ(Captured("module named '{name}'", "No module named 'a.b'"),
            (Attributes{{"name", "a.b"}}));
  EXPECT_EQ(Captured("after {n:int} seconds", "after many seconds, after 7 seconds"),
            (Attributes{{"n", "7"}}));
  EXPECT_EQ(Captured("denied: {path}", "denied: '/a b/c' by x"), (Attributes{{"path", "/a b/c"}}));
  EXPECT_EQ(Captured("denied: {path}", "denied: \"/a"), (Attributes{{"path", "/a"}}));
  EXPECT_EQ(Captured("denied: {path}", "denied: ''"), (Attributes{{"no", "match"}}));
  EXPECT_EQ(Captured("abcd", "abc"), (Attributes{{"no", "match"}}));
}

TEST(PatternText, TheRestEndsWithTheQuoteThatClosesWhatBeganBeforeIt) {
  const auto rest = [](const std::string& line) {
    return Captured("failed: {why*}", line)[0].second;
  };
  EXPECT_EQ(rest("err=\"failed: no space\" pod=\"ml/a\""), "no space");
  EXPECT_EQ(rest("err=\"failed: open \\\"/a\\\": no space\""), "open \\\"/a\\\": no space");
  EXPECT_EQ(rest("message: 'failed: no space'"), "no space");
  EXPECT_EQ(rest("failed: open \"/a b\": no space"), "open \"/a b\": no space");
  EXPECT_EQ(rest("failed: the nodes' disk: 3.5\""), "the nodes' disk: 3.5");
  EXPECT_EQ(rest("failed: the hosts'"), "the hosts");
  EXPECT_EQ(rest("failed: key=\"open"), "key=\"open");
}

TEST(PatternText, AWordThatBeginsAPatternIsTheLastOneBeforeTheTextBehindIt) {
  EXPECT_EQ(Captured("{pci}: not ready {n:int}ms", "[  9.1] nvme 0000:c1:00.0: not ready 7ms"),
            (Attributes{{"pci", "0000:c1:00.0"}, {"n", "7"}}));
  EXPECT_EQ(Captured("{pci}: not ready {n:int}ms", "[  9.1] nvme : not ready 7ms"),
            (Attributes{{"pci", "nvme"}, {"n", "7"}}));
  EXPECT_EQ(Captured("{name}: Failed again", "Failed again"), (Attributes{{"no", "match"}}));
}

TEST(PatternText, TwoEqualSignsAskForTheWholeLine) {
  EXPECT_EQ(Captured("==Killed", "  killed\r"), Attributes{});
  EXPECT_EQ(Captured("==Killed", "Killed process 41"), (Attributes{{"no", "match"}}));
  EXPECT_FALSE(Pattern::Parse("==a {word} of it").ok());
}

TEST(PatternText, RefusesWhatCannotBeLookedFor) {
  for (const char* text : {"", "{a}", "ab{x}c", "{a}{b}text", "text {unclosed"})
    EXPECT_FALSE(Pattern::Parse(text).ok()) << text;
}

RC_GTEST_PROP(ScannerTexts, AreFoundWhereverFindFindsThem, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', 'D'));
  auto anchors = *rc::gen::container<std::vector<std::string>>(letters);
  for (std::string& anchor : anchors) {
    anchor += anchor.size() < Scanner::kGram ? std::string(Scanner::kGram, 'a') : "";
    for (char& c : anchor) c = c == 'D' ? 'd' : c;
  }
  const std::string line = *letters;
  std::string folded;
  FoldInto(line, folded);
  std::vector<uint32_t> hits;
  Scanner(anchors).Scan(line, hits);
  for (uint32_t i = 0; i < anchors.size(); ++i) {
    const bool hit = std::find(hits.begin(), hits.end(), i) != hits.end();
    RC_ASSERT(hit == (folded.find(anchors[i]) != std::string::npos));
  }
}

TEST(SpeakerOfALine, IsFoundBehindThePrefixesOfRunners) {
  struct Expected {
    const char *line, *host, *rank;
  };
  for (const Expected& e : std::initializer_list<Expected>{
           {"gpu01:100:140 [0] NCCL INFO x", "gpu01", ""},
           {"[1,3]<stdout>:gpu01:100:140 [0] NCCL INFO x", "gpu01", "3"},
           {"[rank3]: RuntimeError: x", "", "3"},
           {"rank3: x", "", "3"},
           {"[default5]:x", "", "5"},
           {"node-7: NVRM: x", "node-7", ""},
           {"pod/train-0 2026-11-20T03:00:00Z x", "train-0", ""},
           {"[pod/train-2/main] x", "train-2", ""},
           {"Nov 20 03:10:11 node003 kernel: x", "node003", ""},
           {"2026-11-20T03:12:00.123456+0000 dgx-21 kernel: x", "dgx-21", ""},
           {"E1120 03:00:00 [Rank 7] Watchdog caught", "", "7"},
           {"error: nothing here", "", ""}}) {
    const Speaker speaker = ReadSpeaker(e.line);
    EXPECT_EQ(speaker.host, e.host) << e.line;
    EXPECT_EQ(speaker.rank, e.rank) << e.line;
  }
}

TEST(TimeOfALine, IsReadInEveryCommonForm) {
  const auto wanted = FindTime("Nov 20 23:50:46 host x");
  ASSERT_TRUE(wanted);
  for (const char* line :
       {"2026-11-20T23:50:46Z x", "2026-11-20 23:50:46,000 x", "E1120 23:50:46.000 77 x",
        "[rank0]:[W1120 23:50:46.000 x", "11/20/2026 23:50:46 x", "Fri Nov 20 23:50:46 2026",
        "[Nov 20 2026 x] Nov 20 23:50:46"})
    EXPECT_EQ(FindTime(line), wanted) << line;
  for (const char* line : {"", "99:99:99", "aa 1:2:3", "0000:5d:00.0 lost"})
    EXPECT_FALSE(FindTime(line)) << line;
}

TEST(Decoder, TurnsUtf16AndTellsBinaryApart) {
  Decoder utf16;
  EXPECT_EQ(utf16.Decode(std::string("\xff\xfeX\0i\0d\0", 8)).value(), "Xid");
  Decoder big;
  EXPECT_EQ(big.Decode(std::string("\xfe\xff\0X\0i", 6)).value(), "Xi");
  Decoder mark;
  EXPECT_EQ(mark.Decode("\xef\xbb\xbfok").value(), "ok");
  Decoder binary;
  EXPECT_FALSE(
      binary.Decode(std::string("\x7f"
                                "ELF\2\1\1\0\0\0\0\0\0\0\0\0",
                                16)));
}

// A text says the same in one piece and in a thousand.
TEST(ReaderOfPieces, DoesNotCareWhereTheyEnd) {
  for (const testing::Case& c : testing::ReadCases("captures/diagnose")) {
    const Knowledge& knowledge = *LoadKnowledge().value();
    Reader reader(knowledge);
    for (const auto& [name, bytes] : c.files) {
      if (bytes.size() > 20000 || bytes.starts_with("\x80") || bytes.starts_with("\xff")) continue;
      reader.Begin(name);
      for (size_t at = 0; at < bytes.size(); at += 7)
        reader.Feed(std::string_view(bytes).substr(at, 7));
      reader.End();
      const Diagnosis pieces = Judge(knowledge, reader.Take());
      const Diagnosis whole = testing::DiagnoseCase({c.name, "", "", "", "", {{name, bytes}}});
      ASSERT_EQ(pieces.findings.size(), whole.findings.size()) << c.name;
      for (size_t i = 0; i < whole.findings.size(); ++i)
        EXPECT_EQ(pieces.findings[i].cause, whole.findings[i].cause) << c.name;
    }
  }
}

TEST(ReaderOfLongLines, ShowsThePartThatMatters) {
  const auto d = testing::DiagnoseText("[rank0]: loss=2.1 " + std::string(1'000'000, 'x') +
                                       " CUDA error: an illegal memory access was encountered\n");
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().cause->id, "app.illegal_access");
  EXPECT_LE(d.findings.front().evidence.front().text.size(), kTextBytes + 4);
  EXPECT_THAT(d.findings.front().evidence.front().text, HasSubstr("illegal memory access"));
}

TEST(ReaderOfLongLines, ShowsTheEndToo) {
  const auto d = testing::DiagnoseText(
      "[rank0]: CUDA error: an illegal memory access was encountered " + std::string(1'000, 'x') +
      " \xe2\x80\x94 as the kernel of step 12 said\n");
  ASSERT_FALSE(d.findings.empty());
  const std::string& text = d.findings.front().evidence.front().text;
  EXPECT_LE(text.size(), kTextBytes + 4);
  EXPECT_TRUE(text.starts_with("[rank0]: CUDA error")) << text;
  EXPECT_TRUE(text.ends_with("kernel of step 12 said")) << text;
  EXPECT_EQ(Printable(text), text);
}

TEST(EvidenceText, NeverCarriesEscapes) {
  const auto d = testing::DiagnoseText(
      "\x1b]0;owned\x07[rank2]: RuntimeError: CUDA out of memory. Tried \x01\x02 to\n");
  for (const Finding& f : d.findings)
    for (const EvidenceLine& line : f.evidence)
      for (const char c : line.text) EXPECT_GE(static_cast<unsigned char>(c), 32u);
}

TEST(XidOfALine, HasItsClassFromTheTables) {
  FactStore facts;
  EXPECT_TRUE(ReadKernelLine("[1.0] NVRM: Xid (PCI:0000:5d:00): 31, pid=1, name=x, MMU Fault", "f",
                             3, facts));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts.all()[0].Get("class"), "application");
  EXPECT_EQ(facts.all()[0].Get("fatal"), "no");
  EXPECT_EQ(facts.all()[0].at.ToString(), "f:3");
  EXPECT_FALSE(ReadKernelLine("[1.0] usb 1-1: new device", "f", 1, facts));
}

TEST(FactText, IsFilledAndPartsWithoutAValueAreLeftOut) {
  Fact fact{"x", {{"host", "n1"}}, {}, "", {}, 0, 1};
  EXPECT_EQ(Fill("a GPU[[ ({pci})]][[ on {host}]]", fact), "a GPU on n1");
  EXPECT_EQ(Fill("code {code}", fact), "code ?");
}

TEST(FactStore, CountsWhatIsTheSameAndStaysBounded) {
  FactStore store;
  for (size_t i = 0; i < 3 * FactStore::kPerId; ++i)
    store.Add({"x", {{"n", std::to_string(i)}}, {"f", i}, "", {}, 0, 1});
  EXPECT_EQ(store.Of("x").size(), FactStore::kPerId);
  store.Add({"y", {}, {"f", 1}, "", {}, 0, 1});
  store.Add({"y", {}, {"f", 9}, "", {}, 0, 1});
  EXPECT_EQ(store.First("y")->count, 2u);
  EXPECT_EQ(store.First("y")->at.line, 1u);
}

TEST(Ranking, PutsTheEarlierCauseFirstAndTheConsequenceBelow) {
  const auto d = testing::DiagnoseText(
      "Nov 20 03:10:00 n3 kernel: mlx5_core 0000:3b:00.0 mlx5_2: Port: 1 Link DOWN\n"
      "2026-11-20T03:10:07Z n1:8:9 [2] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer "
      "10.4.2.3<4> with error 12, opcode 0, len 0, vendor err 129 (Recv)\n"
      "2026-11-20T03:20:07Z [rank1]: RuntimeError: NCCL Error 2: unhandled system error\n");
  ASSERT_GE(d.findings.size(), 3u);
  EXPECT_EQ(d.findings[0].cause->id, "nic.port_down");
  EXPECT_EQ(d.findings[1].explained_by, "nic.port_down");
  EXPECT_EQ(d.findings[2].explained_by.empty(), false);
}

TEST(Ranking, NamesWhereElseTheFirstCauseIsFound) {
  std::string text;
  for (const char* pci : {"11", "12", "13", "14", "15", "16"})
    text += fmt::format(
        "[100.{0}] NVRM: Xid (PCI:0000:{0}:00): 79, pid=1, GPU has fallen off the bus.\n", pci);
  EXPECT_EQ(testing::DiagnoseText(text).summary,
            "a GPU has fallen off the bus (0000:11:00); 5 more of this: 0000:12:00, 0000:13:00, "
            "0000:14:00, 0000:15:00, ...");
}

TEST(LinkOfALog, ThatGoesWithItsContainerIsNoFault) {
  const auto outcome = [](const std::string& unit) {
    return testing::OutcomeName(
        testing::DiagnoseText("Nov 20 10:00:00 n1 kernel: Linux version 5.15.0\n"
                              "Nov 20 10:20:00 n1 systemd-networkd[9]: " +
                              unit + ": Lost carrier\n"));
  };
  EXPECT_EQ(outcome("cali12ab34cd"), "nothing_wrong");
  EXPECT_EQ(outcome("enp24s0"), "finding") << "process 9 is not second 9 since boot";
}

TEST(Ranking, NeverSendsAnApplicationXidToHardware) {
  for (const int code : {13, 31, 43, 45, 8, 69}) {
    const auto d = testing::DiagnoseText(
        "[1.0] NVRM: Xid (PCI:0000:5d:00): " + std::to_string(code) + ", pid=1, name=x, text\n");
    ASSERT_EQ(d.outcome, Outcome::kFinding) << code;
    EXPECT_EQ(d.findings.front().cause->layer, "application") << code;
    for (const Finding& f : d.findings) EXPECT_THAT(f.next, ::testing::Not(HasSubstr("replace")));
  }
}

Outcome OutcomeOf(const std::string& text) { return testing::DiagnoseText(text).outcome; }

TEST(HealthyVerdict, NeedsMoreThanTheNameOfALog) {
  EXPECT_EQ(OutcomeOf("step 1 loss 3.2\nstep 2 loss 3.1\n"), Outcome::kNothing);
  EXPECT_EQ(OutcomeOf("our job stops after a step, the loss was fine\n"), Outcome::kNotEnough);
  EXPECT_EQ(OutcomeOf("all_reduce (torch/distributed/distributed_c10d.py:2810)\n"),
            Outcome::kNotEnough);
}

// Of programs that nobody knows, behind the healthy start of each kind of log.
TEST(HealthyVerdict, IsNotGivenWhereALineSpeaksOfTrouble) {
  const std::pair<const char*, const char*> logs[] = {
      {"[    0.000000] Linux version 6.8.0-51-generic (buildd@lcy02) (x86_64-linux-gnu-gcc-13)\n",
       "[   12.000000] zarray 0000:5e:00.0: "},
      {"Nov 24 03:00:00 n7 systemd[1]: Started zarray.service - Zarray.\n",
       "Nov 24 03:00:01 n7 zarray[231]: "},
      {"[2026-11-24T03:00:00.123] slurmctld version 23.11.4 started on cluster c\n",
       "[2026-11-24T03:00:01.123] "},
      {"n7:1:9 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\n"
       "n7:1:9 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1b000 - Init COMPLETE\n",
       "n7:1:9 [0] NCCL INFO zarray: "}};
  for (const auto& [start, prefix] : logs) {
    EXPECT_EQ(OutcomeOf(std::string(start) + prefix + "opened 4 queues\n"), Outcome::kNothing)
        << start;
    for (const char* trouble :
         {"Link up timeout", "link training failure", "hardware failure detected",
          "worker exited with code 1", "segmentation fault", "no memory left", "disk is full",
          "retry limit reached", "quorum lost", "peer went silent", "gpu memory page retired",
          "power brake asserted", "duplicate address 10.0.0.4 found", "AC input lost",
          "link flapped 14 times", "NVLink bandwidth below expectation", "fan tray 2 absent",
          "prolog did not complete within 300 seconds", "replica 2 never became ready"})
      EXPECT_NE(OutcomeOf(std::string(start) + prefix + trouble + "\n"), Outcome::kNothing)
          << prefix << trouble;
  }
}

TEST(HealthyVerdict, IsNotGivenBesideBytesThatAreNoText) {
  EXPECT_EQ(OutcomeOf("step 1 loss 3.2\nstep 2 lo\x01s 3.1\n"), Outcome::kNotEnough);
  EXPECT_EQ(OutcomeOf("step 1 loss 3.2\nGer\xe4t 0\n"), Outcome::kNotEnough);
  EXPECT_EQ(OutcomeOf("step 1 loss 3.2 \u2588\u2588 ok\n"), Outcome::kNothing);
}

TEST(HealthyVerdict, IsNotGivenToAnOutputWhoseLinesAreMixed) {
  const std::string head = "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n";
  const std::string device =
      "\tFirmware version: 28.1\n\tHardware version: 0\n\tNode GUID: 0x1\n\tPort 1:\n";
  const std::string state = "\t\tState: Active\n", physical = "\t\tPhysical state: LinkUp\n";
  const std::string rest =
      "\t\tRate: 400\n\t\tBase lid: 12\n\t\tLMC: 0\n\t\tSM lid: 1\n\t\tCapability mask: 0x1\n"
      "\t\tPort GUID: 0x1\n\t\tLink layer: InfiniBand\n";
  EXPECT_EQ(OutcomeOf(head + device + state + physical + rest), Outcome::kNothing);
  EXPECT_EQ(OutcomeOf(head + device + physical + state + rest), Outcome::kNotEnough);
  EXPECT_EQ(OutcomeOf(head + device + state + rest), Outcome::kNotEnough);
  EXPECT_EQ(OutcomeOf(physical + head + device + state + rest), Outcome::kNotEnough);
}

TEST(JobMapOfALog, TellsHostsApartWhateverTheOrderOfTheirLines) {
  JobMap job;
  const auto edge = [](int host, int pid, const char* via) {
    return fmt::format("node{}:{}:20 [3] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via {}", host, pid,
                       via);
  };
  size_t number = 0;
  for (int round = 0; round < 3; ++round)
    for (const int host : {1, 22, 1, 333})
      EXPECT_TRUE(job.Take(edge(host, 7 + 100 * round, "P2P/CUMEM/read"), "log", ++number));
  EXPECT_TRUE(job.Take("[1,3]<stdout>:" + edge(9, 7, "NET/IB/3/GDRDMA"), "log", ++number));
  EXPECT_THAT(job.hosts(), ElementsAre("node1", "node22", "node333", "node9"));
  std::map<std::string, uint64_t> edges;
  for (const TransportUse& use : job.Transports())
    edges[use.host + " " + use.transport] = use.edges;
  EXPECT_THAT(edges,
              ElementsAre(std::pair("node1 P2P/CUMEM", 6u), std::pair("node22 P2P/CUMEM", 3u),
                          std::pair("node333 P2P/CUMEM", 3u), std::pair("node9 NET/IB", 1u)));
}

// Who speaks is found by words that were seen before; the count must be that of a map of lines.
RC_GTEST_PROP(JobMapOfALog, CountsEveryEdgeWhateverStandsBeforeIt, ()) {
  const auto word = [](std::initializer_list<const char*> words) {
    return *rc::gen::elementOf(std::vector<const char*>(words));
  };
  JobMap job;
  std::map<std::string, uint64_t> wanted, got;
  const size_t lines = *rc::gen::inRange<size_t>(0, 200);
  for (size_t number = 1; number <= lines; ++number) {
    const char* host = word({"n1", "n22", "node-3", "10.0.0.7"});
    const char* via = word({"P2P/CUMEM/read", "NET/IB/0/GDRDMA", "NET/IB/10/GDRDMA/Shared",
                            "direct shared memory", "NET/Socket/0 "});
    const std::string line = fmt::format(
        "{}{}:{}:{}{} NCCL INFO Channel {:02}/0 : 1[1] -> 2[2] [send] via {}",
        word({"", "[rank3]:", "2026-11-22 12:00:01 ", "Nov 22 12:00:01 x1 y: ", "[1,3]<stdout>:"}),
        host, *rc::gen::inRange(1, 30000), *rc::gen::inRange(1, 30000), word({"", " [0]", " [12]"}),
        number % 32, via);
    RC_ASSERT(job.Take(line, "log", number));
    for (const std::string_view known : {"NET/IB", "NET/Socket", "P2P/CUMEM", "direct"})
      if (std::string_view(via).starts_with(known))
        ++wanted[fmt::format("{} {}", host, known == "direct" ? "SHM/direct" : known)];
  }
  for (const TransportUse& use : job.Transports()) got[use.host + " " + use.transport] += use.edges;
  RC_ASSERT(got == wanted);
}

TEST(JobMapOfALog, TakesAVersionWithItsBuildForTheSameWithout) {
  const auto apart = [](const std::string& other) {
    return testing::DiagnoseText(
               "NCCL version 2.21.5+cuda12.4\n"
               "[rank0]: torch.distributed.DistBackendError: NCCL error in: "
               "ProcessGroupNCCL.cpp:2006, unhandled system error (run with "
               "NCCL_DEBUG=INFO for details), NCCL version " +
               other + "\n")
               .findings.front()
               .cause->id == "nccl.version_mismatch";
  };
  EXPECT_FALSE(apart("2.21.5"));
  EXPECT_TRUE(apart("2.21.4"));
  EXPECT_TRUE(apart("2.21.5+cuda11.8"));
}

TEST(JobMapOfALog, NamesTheHostThatLacksAnAdapterAndNetworksThatDoNotMeet) {
  const auto text = [](const std::string& adapters, const std::string& network) {
    return "gn1:1:2 [0] NCCL INFO Bootstrap : Using eno1:10.1.1.1<0>\n"
           "gn2:1:2 [0] NCCL INFO Bootstrap : Using " +
           network +
           "<0>\n"
           "gn1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
           "eno1:10.1.1.1<0>\n"
           "gn2:1:2 [0] NCCL INFO NET/IB : Using " +
           adapters +
           " [RO]; OOB eno1:10.1.1.2<0>\n"
           "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2006, "
           "internal error - please report this issue to the NCCL developers, NCCL version "
           "2.21.5\n";
  };
  const auto first = [&](const std::string& adapters, const std::string& network) {
    return testing::DiagnoseText(text(adapters, network)).findings.front();
  };
  const std::string both = "[0]mlx5_0:1/IB [1]mlx5_1:1/IB";
  EXPECT_EQ(first(both, "eno1:10.1.1.2").cause->id, "nccl.error_class");
  const Finding lacks = first("[0]mlx5_0:1/IB", "eno1:10.1.1.2");
  EXPECT_EQ(lacks.cause->id, "nic.fewer_than_others");
  EXPECT_NE(lacks.title.find("mlx5_1"), std::string::npos) << lacks.title;
  EXPECT_EQ(first(both, "ibs1:192.168.5.2").cause->id, "nccl.networks_apart");
}

TEST(JobMapOfALog, CountsALineThatNamesNobodyForWhoSpokeBefore) {
  JobMap job;
  size_t number = 0;
  for (const char* before : {"n1:1:2 [0] ", "", "n2:1:2 [0] ", "[0] ", "n1:1:2 [0] ", ":1:2 [0] "})
    EXPECT_TRUE(job.Take(fmt::format("{}NCCL INFO Channel 00 : 0 -> 1 via P2P/IPC", before), "log",
                         ++number));
  std::map<std::string, uint64_t> edges;
  for (const TransportUse& use : job.Transports()) edges[use.host] = use.edges;
  EXPECT_THAT(edges, ElementsAre(std::pair("n1", 4u), std::pair("n2", 2u)));
}

TEST(Hashes, OfTextsOfEveryLengthDiffer) {
  std::set<uint64_t> seen;
  const std::string text(80, 'x');
  for (size_t length = 0; length <= text.size(); ++length) {
    seen.insert(HashOf(std::string_view(text).substr(0, length)));
    for (size_t at = 0; at < length; ++at) {
      std::string changed = text.substr(0, length);
      changed[at] = 'y';
      seen.insert(HashOf(changed));
    }
  }
  EXPECT_EQ(seen.size(), 81u + 80u * 81u / 2u);
}

TEST(Speaker, WhatARunnerPutsBeforeALine) {
  const auto label = [](std::string_view line) {
    return std::string(ReadRunnerPrefix(line).label);
  };
  EXPECT_EQ(label("[1,0]<stdout>:#  size"), "[1,0]<stdout>:");
  EXPECT_EQ(label("[prterun-login-77@1,3]<stderr>: text"), "[prterun-login-77@1,3]<stderr>: ");
  EXPECT_EQ(label(" 3: text"), " 3: ");
  EXPECT_EQ(label("12:"), "12:");
  EXPECT_EQ(label("gpu01: CA 'mlx5_0'"), "gpu01: ");
  EXPECT_EQ(ReadRunnerPrefix("gpu01: CA 'mlx5_0'").host, "gpu01");
  EXPECT_EQ(label("[default0]:text"), "[default0]:");
  EXPECT_EQ(label("[pod/w-0/main] text"), "[pod/w-0/main] ");
  for (const std::string_view none : {"", "[", "[1,0]", "12:30:11 text", "error: text", "State: Up",
                                      "[default]:x", "gpu01:77:77 [0] NCCL INFO x"})
    EXPECT_EQ(label(none), "") << none;
}

}  // namespace
}  // namespace muster::diagnose
