// The journal's two speeds: verifying a long history (the goal is 200 MB/s or better), and
// committing records.
#include <string>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "journal/reader.h"
#include "journal/writer.h"
#include "world/posix/posix_files.h"
#include "world/testing/memory_files.h"

namespace {

using muster::journal::Opened;
using muster::journal::RecordView;
using muster::journal::Writer;
using muster::journal::WriterOptions;

constexpr char kPath[] = "/journal";
constexpr size_t kTotalBytes = 64u << 20;

std::string Journal(size_t payload_bytes) {
  muster::testing::MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  const std::string payload(payload_bytes, 'x');
  for (size_t bytes = 0; bytes < kTotalBytes; bytes += payload_bytes) {
    CHECK(opened.writer->Append(1, payload).ok(), "a record is appended");
  }
  CHECK(opened.writer->Sync().ok(), "a batch is written");
  return *files.Read(kPath);
}

void VerifyJournal(benchmark::State& state) {
  const std::string bytes = Journal(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto summary = muster::journal::Scan(bytes, [](const RecordView&) {});
    CHECK(summary.ok() && !summary->torn, "the journal is whole");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(bytes.size()));
}
BENCHMARK(VerifyJournal)->Arg(200)->Arg(1000)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);

// Argument: records in one batch. On the disk of the current folder, with a real fdatasync for each
// batch.
void CommitRecords(benchmark::State& state) {
  muster::PosixFiles files;
  const std::string path = "journal_bench.journal";
  const std::string payload(300, 'x');
  {
    Opened opened = *Writer::Open(files, path);
    for (auto _ : state) {
      for (int64_t i = 0; i < state.range(0); ++i) {
        CHECK(opened.writer->Append(1, payload).ok(), "a record is appended");
      }
      CHECK(opened.writer->Sync().ok(), "a batch is durable");
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
  for (const char* end : {"", ".lock", ".reserve"}) {
    CHECK(files.Remove(path + end).ok(), "the benchmark's files are removed");
  }
}
BENCHMARK(CommitRecords)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
