// The ledger of a run: a hash-chained journal in which everything that a verdict rests on is
// written before the verdict, and every act's intent before the act. After a kill at any write it
// is read back as a prefix, and the run resumes.
#pragma once

#include <memory>
#include <string>

#include "app/run.h"
#include "world/files.h"

namespace muster {

class RunLedger {
 public:
  virtual ~RunLedger() = default;
  virtual Status GateBegins(int gate, TimePoint at) = 0;
  virtual Status ActIntent(int gate, const ActRecord& act) = 0;   // durable when it returns
  virtual Status ActOutcome(int gate, const ActRecord& act) = 0;  // durable when it returns
  virtual Status Seen(int gate, const Evidence& evidence) = 0;
  virtual Status Judged(const GateResult& result) = 0;  // durable when it returns
  virtual Status Resumed(TimePoint at, std::string_view note) = 0;
  virtual Status Close(Level level, TimePoint at) = 0;  // durable when it returns
};

// Starts a new ledger at `path`; the header is durable when it returns.
Result<std::unique_ptr<RunLedger>> CreateLedger(Files& files, const std::string& path,
                                                const RunHeader& header);
// Continues one; a torn tail is cut (and told in run.note), damage elsewhere is kCorrupt with the
// byte offset.
Result<std::unique_ptr<RunLedger>> ContinueLedger(Files& files, const std::string& path, Run& run);
// Reads one without touching it.
Result<Run> ReadLedger(Files& files, const std::string& path);

}  // namespace muster
