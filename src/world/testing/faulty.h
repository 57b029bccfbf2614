// Ports that break at the Nth call, in each of the ways in which the outside breaks. A test runs
// its subject for every N until a run no longer reaches it, and asks each time that nothing healthy
// was invented and nothing durable was lost.
#pragma once

#include <atomic>
#include <string>

#include "world/files.h"
#include "world/http.h"
#include "world/processes.h"

namespace muster::testing {

enum class FaultKind {
  kFail,  // an error, without effect
  kHang,  // a time-out: CommandResult::timed_out with what was printed so far, kTimeout from files
          // and HTTP
  kGarble,  // an answer whose bytes are nonsense; a write of which only half arrives, with an error
  kLate,    // the right answer, but only after the call's time was used up: `took` says so, the
            // effect took place, and writes and syncs answer kTimeout although they happened
};

// Breaks call number `at` (from 1) of the ports it is handed to; 0 breaks none. Calls are counted
// over all of them.
class FaultPlan {
 public:
  FaultPlan(FaultKind kind, int at, bool and_all_later = false)
      : kind_(kind), at_(at), and_all_later_(and_all_later) {}
  // Counts one call; true when this one breaks.
  bool Hit() {
    const int call = ++calls_;
    return at_ > 0 && (call == at_ || (and_all_later_ && call > at_));
  }
  FaultKind kind() const { return kind_; }
  int calls() const { return calls_; }
  bool reached() const { return at_ > 0 && calls_ >= at_; }

 private:
  FaultKind kind_;
  int at_;
  bool and_all_later_;
  std::atomic<int> calls_ = 0;
};

// Reads, writes, appends, syncs, truncations, lists, stats, folders, removals and locks all count.
class FaultyFiles final : public Files {
 public:
  FaultyFiles(Files& inner, FaultPlan& plan) : inner_(inner), plan_(plan) {}
  Result<std::string> Read(const std::string& path, uint64_t limit = 1ull << 30) override;
  Status WriteAtomic(const std::string& path, std::string_view bytes) override;
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Result<std::vector<FileInfo>> List(const std::string& folder) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Status MakeFolders(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override;

 private:
  Files& inner_;
  FaultPlan& plan_;
};

class FaultyProcesses final : public Processes {
 public:
  FaultyProcesses(Processes& inner, FaultPlan& plan) : inner_(inner), plan_(plan) {}
  Result<CommandResult> Run(const Command& command) override;
  Result<std::unique_ptr<Child>> Start(const Command& command,
                                       const std::string& log_path) override;

 private:
  Processes& inner_;
  FaultPlan& plan_;
};

class FaultyHttp final : public Http {
 public:
  FaultyHttp(Http& inner, FaultPlan& plan) : inner_(inner), plan_(plan) {}
  Result<HttpResponse> Do(const HttpRequest& request) override;
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override;

 private:
  Http& inner_;
  FaultPlan& plan_;
};

// What a broken tool prints: the first half of the text, then bytes that are no text.
std::string Garbled(std::string_view text);

}  // namespace muster::testing
