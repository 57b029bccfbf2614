// Counters are read as what happened between two samples. One sample is a question, not a fault; a
// counter at its maximum is dead, not quiet; a counter that shrank was reset by somebody.
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/reader.h"

namespace muster::diagnose {

void AddCounterFacts(FactStore& facts) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::vector<const Fact*>> series;
  for (const Fact* f : facts.Of("counter.sample"))
    series[{std::string(f->Get("device")), std::string(f->Get("port")),
            std::string(f->Get("name"))}]
        .push_back(f);
  std::vector<Fact> made;
  for (const auto& [key, samples] : series) {
    const auto& [device, port, name] = key;
    const Fact& last = *samples.back();
    const double value = last.Number("value").value_or(0), most = last.Number("max").value_or(0);
    const auto add = [&](std::string id, std::string text, const Attributes& more = {}) {
      Fact fact{std::move(id),
                {{"device", device}, {"port", port}, {"name", name}},
                last.at,
                std::move(text),
                last.time,
                0,
                1};
      fact.Set("host", last.Get("host"));
      fact.Set("value", last.Get("value"));
      for (const auto& [k, v] : more) fact.Set(k, v);
      made.push_back(std::move(fact));
    };
    if (most > 0 && value >= most) {
      add("counter.saturated", fmt::format("{} of {} port {} is {}: at its maximum, it counts no "
                                           "more",
                                           name, device, port, last.Get("value")));
      continue;
    }
    if (samples.size() == 1) {
      if (value > 0) add("counter.single", last.text);
      continue;
    }
    const double before = samples.front()->Number("value").value_or(0);
    if (value > before)
      add("counter.growing",
          fmt::format("{} of {} port {} went from {:.0f} to {:.0f}", name, device, port, before,
                      value),
          {{"delta", fmt::format("{:.0f}", value - before)}});
    else if (value < before)
      add("counter.reset", fmt::format("{} of {} port {} fell from {:.0f} to {:.0f}: somebody "
                                       "cleared it",
                                       name, device, port, before, value));
  }
  for (Fact& fact : made) facts.Add(std::move(fact));
}

}  // namespace muster::diagnose
