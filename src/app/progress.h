// What a long use case tells while it works. The command line draws it as a live line on a
// terminal, the API as events, tests as a list; the use case does not know which.
#pragma once

#include <string_view>

#include "evidence/verdict.h"

namespace muster {

class Progress {
 public:
  virtual ~Progress() = default;
  // A gate begins; `total` readings are planned (0 = not known).
  virtual void GateBegins(int gate, std::string_view name, size_t total) = 0;
  // One more reading of the gate is there; called from several threads.
  virtual void ReadingDone(std::string_view what) = 0;
  // Something worth a line of its own ("gang of 32 ranks started").
  virtual void Note(std::string_view text) = 0;
  virtual void GateEnds(int gate, Level level, std::string_view summary) = 0;
  // True once a person asked to stop: no new reading, act, proof or gate is begun. Asked from
  // several threads; never turns back to false.
  virtual bool Stopped() const { return false; }
};

// Says nothing.
class SilentProgress final : public Progress {
 public:
  void GateBegins(int, std::string_view, size_t) override {}
  void ReadingDone(std::string_view) override {}
  void Note(std::string_view) override {}
  void GateEnds(int, Level, std::string_view) override {}
};

}  // namespace muster
