// Progress on stderr: one live line on a terminal, one plain line a gate elsewhere.
#pragma once

#include <mutex>
#include <string>

#include "app/progress.h"
#include "cli/context.h"

namespace muster::cli {

class LiveLine final : public Progress {
 public:
  explicit LiveLine(Context& context) : context_(context) {}
  ~LiveLine() override;
  void GateBegins(int gate, std::string_view name, size_t total) override;
  void ReadingDone(std::string_view what) override;
  void Note(std::string_view text) override;
  void GateEnds(int gate, Level level, std::string_view summary) override;
  bool Stopped() const override { return context_.interrupted && context_.interrupted(); }

 private:
  void Draw(std::string_view tail);
  void Clear();

  Context& context_;
  std::mutex mutex_;
  std::string head_;
  size_t done_ = 0, total_ = 0;
  Duration drawn_at_{};
  bool drawn_ = false;
};

}  // namespace muster::cli
