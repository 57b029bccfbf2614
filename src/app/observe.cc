#include "app/observe.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "base/log.h"

namespace muster {

namespace {

Reading Unreachable(const PlannedRead& read, const Error& error, Clock& clock) {
  Reading reading;
  reading.probe = read.probe->id;
  reading.host = read.host;
  reading.command = fmt::format("(host {})", read.host);
  reading.exit_code = -1;
  reading.at = clock.Now();
  reading.fault = Unobserved{UnknownReason::kUnreachable, error.ToString()};
  return reading;
}

}  // namespace

void Evidence::Add(Reading reading, Observations seen, bool keep) {
  observations.insert(observations.end(), std::make_move_iterator(seen.begin()),
                      std::make_move_iterator(seen.end()));
  if (keep) readings.push_back(std::move(reading));
}

void Evidence::Append(Evidence other) {
  readings.insert(readings.end(), std::make_move_iterator(other.readings.begin()),
                  std::make_move_iterator(other.readings.end()));
  observations.insert(observations.end(), std::make_move_iterator(other.observations.begin()),
                      std::make_move_iterator(other.observations.end()));
  derived.insert(derived.end(), std::make_move_iterator(other.derived.begin()),
                 std::make_move_iterator(other.derived.end()));
}

Observations Evidence::TakeAll() && {
  Observations all = std::move(observations);
  all.insert(all.end(), std::make_move_iterator(derived.begin()),
             std::make_move_iterator(derived.end()));
  return all;
}

Observations Evidence::All() const {
  Observations all = observations;
  all.insert(all.end(), derived.begin(), derived.end());
  return all;
}

void ForEachParallel(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const size_t extra =
      std::min<size_t>(count, static_cast<size_t>(std::max(1, threads))) - (count > 0 ? 1 : 0);
  std::vector<std::thread> pool;
  pool.reserve(extra);
  for (size_t i = 0; i < extra; ++i) pool.emplace_back(loop);
  loop();
  for (std::thread& thread : pool) thread.join();
}

Evidence Observe(Hosts& hosts, std::span<const PlannedRead> reads, const ObserveOptions& options,
                 Clock& clock, Progress& progress) {
  struct Slot {
    Reading reading;
    Observations seen;
  };
  const auto round = [&](const std::vector<const PlannedRead*>& wanted) {
    std::vector<Slot> slots(wanted.size());
    std::vector<Foreseen> foreseen;
    for (const PlannedRead* read : wanted) {
      foreseen.push_back({read->host, [read](const HostPorts& ports) {
                            static_cast<void>(read->probe->collect(ports));
                          }});
    }
    hosts.Foresee(foreseen);
    ForEachParallel(wanted.size(), hosts.Parallel(), [&](size_t i) {
      const PlannedRead& read = *wanted[i];
      if (progress.Stopped()) return;  // whoever stopped does not use the result
      auto ports = hosts.At(read.host);
      slots[i].reading =
          ports.ok() ? read.probe->collect(*ports) : Unreachable(read, ports.error(), clock);
      slots[i].reading.origin = hosts.origin();
      slots[i].seen = ParseReading(*read.probe, slots[i].reading);
      if (!options.keep_readings) slots[i].reading.text.clear();
      progress.ReadingDone(fmt::format("{} on {}", read.probe->id, read.host));
    });
    const Status forgotten = hosts.Forget();
    if (!forgotten.ok()) Log(LogLevel::kWarn, forgotten.error().ToString());
    Evidence evidence;
    for (Slot& slot : slots)
      evidence.Add(std::move(slot.reading), std::move(slot.seen), options.keep_readings);
    return evidence;
  };

  std::vector<const PlannedRead*> twice, once;
  for (const PlannedRead& read : reads) (read.twice ? twice : once).push_back(&read);
  const Duration began = clock.Monotonic();
  Evidence evidence = round(twice);
  evidence.Append(round(once));
  if (!twice.empty()) {
    const Duration passed = clock.Monotonic() - began;
    if (progress.Stopped()) return evidence;
    if (passed < options.window) clock.SleepFor(options.window - passed);
    evidence.Append(round(twice));
  }
  return evidence;
}

std::optional<Observations> Understand(const Reading& reading) {
  const Probe* probe = FindProbe(reading.probe);
  if (probe == nullptr) return std::nullopt;
  return ParseReading(*probe, reading);
}

}  // namespace muster
