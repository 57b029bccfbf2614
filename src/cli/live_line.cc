#include "cli/live_line.h"

#include <ostream>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/table.h"

namespace muster::cli {

namespace {
constexpr Duration kRedraw = std::chrono::milliseconds(80);
}

LiveLine::~LiveLine() { Clear(); }

void LiveLine::Clear() {
  if (drawn_) context_.err << "\r\x1b[2K" << std::flush;
  drawn_ = false;
}

void LiveLine::Draw(std::string_view tail) {
  if (!context_.err_is_terminal) return;
  const Duration now = context_.world.clock.Monotonic();
  if (drawn_ && now - drawn_at_ < kRedraw) return;
  drawn_at_ = now;
  const std::string count = total_ == 0 ? "" : fmt::format("  {}/{}", done_, total_);
  const std::string line = fmt::format("{}{}  {}", head_, count, Printable(tail));
  context_.err << "\r\x1b[2K"
               << Shorten(line, static_cast<size_t>(std::max(20, context_.width - 1)))
               << std::flush;
  drawn_ = true;
}

void LiveLine::GateBegins(int gate, std::string_view name, size_t total) {
  const std::lock_guard lock(mutex_);
  head_ = fmt::format("gate {} {}", gate, name);
  done_ = 0;
  total_ = total;
  Draw("");
}

void LiveLine::ReadingDone(std::string_view what) {
  const std::lock_guard lock(mutex_);
  ++done_;
  Draw(what);
}

void LiveLine::Note(std::string_view text) {
  const std::lock_guard lock(mutex_);
  drawn_at_ = {};
  Draw(text);
}

void LiveLine::GateEnds(int, Level level, std::string_view summary) {
  const std::lock_guard lock(mutex_);
  Clear();
  Context plain = context_;
  plain.color = context_.err_is_terminal && context_.color;
  context_.err << fmt::format("{}  {}  {}\n", LevelWord(plain, level), head_, Printable(summary))
               << std::flush;
}

}  // namespace muster::cli
