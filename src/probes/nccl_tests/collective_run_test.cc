#include "probes/nccl_tests/collective_run.h"

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/nccl_tests/probes.h"
#include "world/random.h"
#include "world/testing/captures.h"

namespace muster::nccl_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A run in the layout of nccl-tests 2.17, after src/util.cu: rows of `busbw` GB/s at every size.
std::string Table(double busbw, int ranks, uint64_t from, uint64_t to, std::string_view wrong = "0",
                  std::string_view between_rows = "") {
  std::string text =
      "# nccl-tests version 2.17.4 nccl-headers=22602 nccl-library=22602\n"
      "# Collective test starting: all_reduce_perf\n";
  text += fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 2(factor) warmup iters: 1 iters: 20 agg "
      "iters: 1 validation: 1 "
      "graph: 0\n#\n# Using devices\n",
      from, to);
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format(
        "#  Rank {:2d} Group  0 Pid {:6d} on {:>10s} device {:2d} [0000:{:02x}:00] NVIDIA H100 "
        "80GB HBM3\n",
        rank, 4242 + rank, fmt::format("node-{:02d}", rank / 8), rank % 8, 0x1b + rank % 8);
  }
  text +=
      "#\n#                                                              out-of-place              "
      "         in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  "
      "#wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
      "(us)  (GB/s)  (GB/s)\n";
  const double factor = ranks > 1 ? 2.0 * (ranks - 1) / ranks : 1;
  for (uint64_t size = from; size <= to; size *= 2) {
    const auto bytes = static_cast<double>(size);
    // Small messages take the latency of the ring, whatever the bandwidth.
    const double slow = bytes < 1e6 ? bytes / 30 / 1e3 : busbw;
    const double algbw = std::min(busbw, slow) / factor;
    const double time = bytes / algbw / 1e3;
    const std::string half =
        fmt::format("  {:7.2f}  {:6.2f}  {:6.2f}  {:>6}", time, algbw, algbw * factor, wrong);
    text += fmt::format("{:12d}  {:12d}  {:>8}  {:>6}  {:>6}{}{}{}\n", size, size / 4, "float",
                        "sum", "-1", between_rows, half, half);
  }
  text +=
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 123.4 \n#\n# Collective test "
      "concluded: all_reduce_perf\n";
  return text;
}

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

Observations Observed(const std::string& text, int exit_code = 0) {
  Reading reading;
  reading.probe = "nccl_tests.all_reduce";
  reading.host = "all";
  reading.text = text;
  reading.exit_code = exit_code;
  return NcclTestsProbes()[0].parse(reading);
}

const Observation* Of(const Observations& all, std::string_view fact) {
  for (const Observation& one : all) {
    if (one.fact == fact) return &one;
  }
  return nullptr;
}

std::optional<double> PlateauSeen(const Observations& all) {
  const Observation* one = Of(all, "collective.plateau");
  if (one == nullptr || one->value() == nullptr) return std::nullopt;
  return std::get<double>(*one->value());
}

TEST(CollectiveText, ReadsTheThirdPartyAllReduce) {
  const auto text =
      testing::SharedCapture(MUSTER_SOURCE_DIR, "third_party/superbenchmark/nccl_allreduce.log");
  if (!text) GTEST_SKIP() << "third-party captures are not beside the project";
  const CollectiveRun run = ParseCollective(*text);
  EXPECT_THAT(run.damage, IsEmpty());
  EXPECT_THAT(run.failures, IsEmpty());
  EXPECT_EQ(run.ranks.size(), 8u);
  EXPECT_EQ(run.ranks[7].name, "A100-SXM4-40GB");
  EXPECT_EQ(run.rows.size(), 34u);
  EXPECT_EQ(run.rows.back().bytes, 8589934592u);
  EXPECT_DOUBLE_EQ(run.rows.back().out_of_place->busbw, 235.26);
  EXPECT_FALSE(run.rows.back().out_of_place->wrong.has_value()) << "N/A is not zero";
  EXPECT_NEAR(*Plateau(run), 233.14, 0.5);
  EXPECT_DOUBLE_EQ(*run.average_busbw, 68.4048);
  // The run did not validate, so nothing is known of wrong results.
  const auto seen = Observed(*text);
  EXPECT_NE(Of(seen, "collective.wrong")->unobserved(), nullptr);
  EXPECT_EQ(std::get<int64_t>(*Of(seen, "collective.rows")->value()), 4);
}

TEST(CollectiveText, ReadsTheThirdPartyAllGatherAndAllToAllWithTheirMissingColumns) {
  const auto gather =
      testing::SharedCapture(MUSTER_SOURCE_DIR, "third_party/superbenchmark/nccl_allgather.log");
  const auto alltoall =
      testing::SharedCapture(MUSTER_SOURCE_DIR, "third_party/superbenchmark/nccl_alltoall.log");
  if (!gather || !alltoall) GTEST_SKIP() << "third-party captures are not beside the project";
  for (const std::string& text : {*gather, *alltoall}) {
    const CollectiveRun run = ParseCollective(text);
    EXPECT_THAT(run.damage, IsEmpty());
    EXPECT_EQ(run.rows.size(), 34u);
    EXPECT_EQ(run.rows.back().type, "float");
    EXPECT_EQ(run.rows.back().redop, "");
    EXPECT_GT(*Plateau(run), 215);
  }
}

TEST(CollectiveText, ReadsTheLayoutOf217) {
  const CollectiveRun run = ParseCollective(Table(371.2, 16, 8, 8 * kGiB));
  EXPECT_THAT(run.damage, IsEmpty());
  EXPECT_EQ(run.collective, "all_reduce");
  EXPECT_EQ(run.tests_version, "2.17.4");
  EXPECT_EQ(run.rows.size(), 31u);
  EXPECT_EQ(run.ranks[9].host, "node-01");
  EXPECT_EQ(run.rows[3].redop, "sum");
  EXPECT_EQ(run.rows[3].root, "-1");
  EXPECT_NEAR(*Plateau(run), 371.2, 0.05);
  const auto seen = Observed(Table(371.2, 16, 8, 8 * kGiB));
  EXPECT_EQ(std::get<int64_t>(*Of(seen, "collective.wrong")->value()), 0);
  EXPECT_EQ(Of(seen, "collective.plateau")->unit, Unit::kGBytePerSec);
}

TEST(CollectiveText, ReadsRowsThatLogMessagesBreakInTwo) {
  const std::string clean = Table(300, 16, kMiB, 2 * kGiB);
  const std::string broken =
      Table(300, 16, kMiB, 2 * kGiB, "0",
            "node-00:4242:4242 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto SIMPLE "
            "channel{Lo..Hi}={0..7}\n"
            "node-01:99:100 [3] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM\n");
  const CollectiveRun run = ParseCollective(broken);
  EXPECT_THAT(run.damage, IsEmpty());
  ASSERT_EQ(run.rows.size(), 12u);
  EXPECT_EQ(run.rows[0].root, "-1");
  EXPECT_DOUBLE_EQ(*Plateau(run), *Plateau(ParseCollective(clean)));
}

TEST(CollectiveText, ReadsThroughTagsOfJobRunners) {
  const std::string clean = Table(300, 16, kMiB, 2 * kGiB);
  for (std::string_view tag : {"[1,0]<stdout>:", "0: ", "node-00: ", "2026-11-20T03:12:00.123Z ",
                               "| 2026-11-20T03:12:00Z | "}) {
    std::string tagged;
    for (std::string_view line : Lines(clean)) tagged += fmt::format("{}{}\n", tag, line);
    const CollectiveRun run = ParseCollective(tagged);
    EXPECT_THAT(run.damage, IsEmpty()) << tag;
    EXPECT_EQ(run.rows.size(), 12u) << tag;
  }
}

TEST(CollectiveText, SkipsColumnsPerIterationAndTimestamps) {
  const std::string text =
      "# nThread 1 nGpus 8 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 1 "
      "iters: 20 validation: 1\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong   "
      "i_min   i_max   i_p99   i_cv%     "
      "time   algbw   busbw  #wrong   i_min   i_max   i_p99   i_cv%           timestamp\n"
      "  1073741824     268435456     float     sum      -1   5302.0  202.52  354.41       0  "
      "5290.1  5310.7  5309.9     0.1   "
      "5287.4  203.07  355.37       0  5280.2  5299.0  5298.8     0.1  2026-11-20 03:12:00\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 354.9\n";
  const CollectiveRun run = ParseCollective(text);
  EXPECT_THAT(run.damage, IsEmpty());
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(run.rows[0].in_place->busbw, 355.37);
  EXPECT_DOUBLE_EQ(*run.rows[0].in_place->wrong, 0);
}

TEST(CollectiveText, ReadsWideNumbersInExponentForm) {
  const std::string text =
      "# nThread 1 nGpus 8 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) iters: 20 "
      "validation: 1\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  #wrong\n"
      "  1073741824     268435456     float     sum      -1  1.1e+07    0.10    0.17       0  "
      "1.1e+07    0.10    0.17   1e+06\n"
      "# Out of bounds values : 4 FAILED\n# Avg bus bandwidth    : 0.17\n";
  const CollectiveRun run = ParseCollective(text);
  EXPECT_THAT(run.damage, IsEmpty());
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(*Of(Observed(text), "collective.wrong")->value()), 1000000);
}

TEST(CollectiveText, TellsWrongResultsEvenFromATruncatedRun) {
  std::string text = Table(300, 16, kMiB, 2 * kGiB, "3");
  text.resize(text.find("# Out of bounds"));
  const auto seen = Observed(text);
  EXPECT_EQ(std::get<int64_t>(*Of(seen, "collective.wrong")->value()), 12 * 2 * 3);
  EXPECT_EQ(PlateauSeen(seen), std::nullopt);
}

TEST(CollectiveText, HasNoPlateauWhenALauncherFailed) {
  const std::string table = Table(300, 16, kMiB, 2 * kGiB);
  for (std::string_view failure : {"node-01: Test NCCL failure common.cu:958 'unhandled system "
                                   "error (run with NCCL_DEBUG=INFO for details) / '",
                                   " .. node-01 pid 4250: Test failure all_reduce.cu:53",
                                   "mpirun noticed that process rank 3 with PID 0 on node node-01 "
                                   "exited on signal 9 (Killed).",
                                   "srun: error: node-01: task 9: Exited with exit code 3"}) {
    const auto seen = Observed(table + std::string(failure) + "\n");
    EXPECT_EQ(PlateauSeen(seen), std::nullopt) << failure;
    EXPECT_EQ(Of(seen, "collective.plateau")->unobserved()->reason, UnknownReason::kToolFault);
  }
  EXPECT_EQ(PlateauSeen(Observed(table, 3)), std::nullopt) << "exit code 3";
}

TEST(CollectiveText, HasNoPlateauOfOneRankOrOfCopiesOfRankZero) {
  EXPECT_FALSE(Plateau(ParseCollective(Table(300, 1, kMiB, 2 * kGiB))).ok());
  std::string copies = Table(300, 2, kMiB, 2 * kGiB);
  copies.replace(copies.find("Rank  1"), 7, "Rank  0");
  const CollectiveRun run = ParseCollective(copies);
  ASSERT_THAT(run.damage, SizeIs(1));
  EXPECT_THAT(run.damage[0], HasSubstr("without MPI"));
}

TEST(CollectiveText, HasNoPlateauWithoutRowsOfOneGibibyte) {
  const auto seen = Observed(Table(300, 16, 8, 512 * kMiB));
  EXPECT_EQ(Of(seen, "collective.plateau")->unobserved()->reason, UnknownReason::kTooFewSamples);
  EXPECT_EQ(std::get<int64_t>(*Of(seen, "collective.rows")->value()), 0);
}

TEST(CollectiveText, NoticesARowThatIsMissingOrDoesNotAddUp) {
  const std::string clean = Table(300, 16, kMiB, 4 * kGiB);
  const auto lines = Lines(clean);
  for (size_t drop = 0; drop < lines.size(); ++drop) {
    if (!Contains(lines[drop], "float")) continue;
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i != drop) text += fmt::format("{}\n", lines[i]);
    }
    EXPECT_FALSE(ParseCollective(text).complete()) << lines[drop];
  }
  std::string digit = clean;
  digit.replace(digit.rfind("300.0"), 1, "4");
  EXPECT_FALSE(ParseCollective(digit).complete());
}

// However the text is cut, there is no plateau that the whole text does not have.
TEST(CollectiveDamage, NoPlateauFromAnyCut) {
  const std::string whole = Table(371.2, 16, 8, 8 * kGiB);
  const double truth = *PlateauSeen(Observed(whole));
  const size_t last_needed = whole.find("# Avg bus bandwidth");
  for (size_t cut = 0; cut < whole.size(); cut += cut % 3 + 1) {
    const auto front = PlateauSeen(Observed(whole.substr(0, cut)));
    if (cut <= last_needed) {
      EXPECT_EQ(front, std::nullopt) << cut;
    } else if (front) {
      EXPECT_DOUBLE_EQ(*front, truth);
    }
    if (const auto back = PlateauSeen(Observed(whole.substr(cut)))) {
      EXPECT_DOUBLE_EQ(*back, truth) << cut;
    }
  }
}

TEST(CollectiveDamage, NoBetterPlateauFromDroppedTokensOrGarbage) {
  const std::string whole = Table(200, 16, kMiB, 8 * kGiB);
  const double truth = *PlateauSeen(Observed(whole));
  size_t survived = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    if (whole[at] != ' ' || (at > 0 && whole[at - 1] == ' ')) continue;
    const size_t first = whole.find_first_not_of(" \n", at);
    if (first == std::string::npos) break;
    const size_t last = std::min(whole.find_first_of(" \n", first), whole.size());
    const std::string dropped = whole.substr(0, first) + whole.substr(last);
    if (const auto seen = PlateauSeen(Observed(dropped))) {
      ++survived;
      EXPECT_NEAR(*seen, truth, 0.5) << whole.substr(first, last - first);
    }
  }
  EXPECT_GT(survived, 0u) << "words of comments may go";
  SeededRandom random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string garbled = whole;
    garbled[random.Below(garbled.size())] = static_cast<char>(random.Below(256));
    if (const auto seen = PlateauSeen(Observed(garbled))) {
      EXPECT_NEAR(*seen, truth, 2.5);
    }
  }
}

RC_GTEST_PROP(CollectiveProperty, AnyBytesAreRead, (const std::string& bytes)) {
  const CollectiveRun run = ParseCollective(bytes);
  RC_ASSERT(!run.complete());
}

RC_GTEST_PROP(CollectiveProperty, PlateauIsTheBandwidthThatWasPrinted, ()) {
  const double busbw = 1 + *rc::gen::inRange(0, 90000) / 100.0;
  const int ranks = *rc::gen::inRange(2, 64);
  const auto plateau = Plateau(ParseCollective(Table(busbw, ranks, kMiB, 4 * kGiB)));
  RC_ASSERT(plateau.ok());
  RC_ASSERT(std::abs(*plateau - busbw) < 0.03);
}

std::string Json(std::string_view tail = R"(,"end_time":"2026-11-20 03:14:00"})") {
  std::string text =
      R"({"version":2,"start_time":"2026-11-20 03:12:00","args":["./build/all_reduce_perf","-b","1G"],)"
      R"("env":["HOME=\/root"],"nccl_version":22602,"config":{"nthreads":1,"ngpus":1,)"
      R"("minimum_bytes":1073741824,"maximum_bytes":2147483648,"step_factor":2,"validation":1,"parallel_init":"false",)"
      R"("devices":[{"rank":0,"group":0,"pid":4242,"hostname":"node-00","device":0,"device_hex":"0000:1b:00",)"
      R"("device_info":"NVIDIA H100 80GB HBM3"},{"rank":1,"group":0,"pid":4243,"hostname":"node-01","device":0,)"
      R"("device_hex":"0000:1b:00","device_info":"NVIDIA H100 80GB HBM3"}]},"results":[)";
  text +=
      R"({"size":1073741824,"count":268435456,"type":"float","redop":"sum","root":"    -1",)"
      R"("out_of_place":{"time":22882.187500,"alg_bw":46.924790,"bus_bw":46.924790,"nwrong":0.000000},)"
      R"("in_place":{"time":22882.187500,"alg_bw":46.924790,"bus_bw":46.924790,"nwrong":0.000000},"actual_iterations":20},)";
  text +=
      R"({"size":2147483648,"count":536870912,"type":"float","redop":"sum","root":"    -1",)"
      R"("out_of_place":{"time":45764.375000,"alg_bw":46.924790,"bus_bw":46.924790,"nwrong":0.000000},)"
      R"("in_place":{"time":45764.375000,"alg_bw":46.924790,"bus_bw":46.924790,"nwrong":null},"actual_iterations":20}],)"
      R"("out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":46.9,"okay":"unchecked"},"errors":[""])";
  return text + std::string(tail);
}

TEST(CollectiveJson, ReadsADocument) {
  const CollectiveRun run = ParseCollective(Json());
  EXPECT_THAT(run.damage, IsEmpty());
  EXPECT_EQ(run.collective, "all_reduce");
  EXPECT_EQ(run.nccl_version, "22602");
  EXPECT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.rows[0].root, "-1");
  EXPECT_TRUE(run.out_of_bounds_ok);
  EXPECT_DOUBLE_EQ(*Plateau(run), 46.92479);
  EXPECT_EQ(std::get<int64_t>(*Of(Observed(Json()), "collective.wrong")->value()), 0);
}

TEST(CollectiveJson, IsUnparsableWhenACrashLeftItOpen) {
  const std::string whole = Json();
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_EQ(PlateauSeen(Observed(whole.substr(0, cut))), std::nullopt) << cut;
  }
  EXPECT_EQ(Of(Observed(whole.substr(0, 900)), "collective.plateau")->unobserved()->reason,
            UnknownReason::kUnparsable);
}

TEST(CollectiveJson, TakesNanAndMissingKeysForDamage) {
  const std::string whole = Json();
  for (std::string_view key :
       {"\"results\"", "\"out_of_bounds\"", "\"average_bus_bandwidth\"", "\"end_time\"",
        "\"config\"", "\"bus_bw\"", "\"alg_bw\"", "\"size\"", "\"minimum_bytes\""}) {
    std::string text = whole;
    text.replace(text.find(key), key.size(), "\"other\"");
    EXPECT_FALSE(ParseCollective(text).complete()) << key;
  }
  std::string nan = whole;
  nan.replace(nan.find("\"bus_bw\":46.924790"), 18, "\"bus_bw\":\"nan\"");
  EXPECT_FALSE(ParseCollective(nan).complete());
}

TEST(NcclTestsProbe, SaysWhyItSawNothing) {
  Reading reading;
  reading.host = "all";
  reading.fault = Unobserved{UnknownReason::kToolFault, "timed out after 10m"};
  const auto seen = NcclTestsProbes()[0].parse(reading);
  ASSERT_EQ(seen.size(), 3u);
  for (const Observation& one : seen) {
    EXPECT_EQ(one.unobserved()->reason, UnknownReason::kToolFault);
    EXPECT_EQ(one.subject.kind, SubjectKind::kScope);
  }
}

}  // namespace
}  // namespace muster::nccl_tests
