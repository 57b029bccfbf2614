#include "kube/event.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kube {

namespace {

// As events.k8s.io would take it (1,024 bytes), and a name with its suffix (253).
constexpr size_t kMostMessage = 1000, kMostName = 200;

// Of a name that is too long, a part that may stand before a dot: it ends in a letter or digit.
std::string_view StemOf(std::string_view name) {
  if (name.size() <= kMostName) return name;
  name = name.substr(0, kMostName);
  while (EndsWith(name, "-") || EndsWith(name, ".")) name.remove_suffix(1);
  return name;
}

}  // namespace

Request CreateEvent(const Saying& saying, std::string_view suffix, TimePoint now) {
  const std::string ns = saying.ns.empty() ? "default" : saying.ns;
  const std::string at = WholeSeconds(now);
  return Create(
      kEvents, ns,
      Dump({{"metadata",
             {{"name", fmt::format("{}.{}", StemOf(saying.name), suffix)}, {"namespace", ns}}},
            {"involvedObject",
             {{"apiVersion", saying.about.ApiVersion()},
              {"kind", saying.about.kind},
              {"name", saying.name},
              {"namespace", saying.ns},
              {"uid", saying.uid}}},
            {"reason", saying.reason},
            {"message", Shorten(saying.message, kMostMessage)},
            {"type", saying.warning ? "Warning" : "Normal"},
            {"source", {{"component", "muster"}}},
            {"reportingComponent", "muster.dev/scheduler"},
            {"firstTimestamp", at},
            {"lastTimestamp", at},
            {"count", 1}}));
}

}  // namespace muster::kube
