#include "app/derive.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/digest.h"

namespace muster {

namespace {

Observation DerivedFrom(const Observation& parent, Subject subject, std::string_view fact,
                        Value value, Unit unit, std::string excerpt) {
  Observation derived = parent;
  derived.subject = std::move(subject);
  derived.fact = fact;
  derived.seen = std::move(value);
  derived.unit = unit;
  derived.excerpt = std::move(excerpt);
  return derived;
}

// Links that the fabric has and the inventory does not, and links that it should have and does not.
void CompareLinks(const Site& site, const Observations& seen, Observations& out) {
  const Observation* any = nullptr;
  std::set<std::string> found, expected;
  for (const Observation& o : seen) {
    if (o.fact == "link.present" && o.value() != nullptr) {
      any = &o;
      found.insert(o.subject.id);
    }
  }
  if (any == nullptr) return;  // nothing was discovered: the criteria say "not observed"
  for (const Link& link : site.cluster.links) expected.insert(link.Id().id);
  std::string first;
  int64_t unexpected = 0;
  for (const std::string& id : found) {
    if (expected.contains(id)) continue;
    if (unexpected++ == 0) first = id;
  }
  out.push_back(DerivedFrom(
      *any, {SubjectKind::kFabric, "fabric"}, "fabric.unexpected_links", unexpected, Unit::kCount,
      unexpected == 0 ? "every discovered link is in the inventory" : "first: " + first));
  for (const std::string& id : expected) {
    if (!found.contains(id)) {
      out.push_back(DerivedFrom(*any, {SubjectKind::kLink, id}, "link.present", false, Unit::kNone,
                                "not among the discovered links"));
    }
  }
}

struct Component {
  std::string_view fact, name;
};
constexpr std::array kComponents = {
    Component{"node.driver_version", "driver"},
    Component{"node.cuda_version", "cuda"},
    Component{"hca.firmware", "firmware"},
    Component{"nccl.version", "nccl"},
};

struct Figure {
  std::string_view fact, name;
  bool worst_is_least;
};
constexpr std::array kFigures = {
    Figure{"collective.plateau", "busbw", true},
    Figure{"collective.plateau_ratio", "busbw_ratio", true},
    Figure{"rdma.pair_rate", "rdma_pair_rate", true},
    Figure{"train.mfu", "mfu", true},
    Figure{"train.step_time", "step_time", false},
    Figure{"serve.ttft_p99", "ttft_p99", false},
    Figure{"serve.tpot_p99", "tpot_p99", false},
    Figure{"serve.goodput", "goodput", true},
    Figure{"alert.latency", "alert_latency", false},
};

}  // namespace

Observations Derive(const Site& site, int gate, const std::vector<std::string>&,
                    const Observations& seen) {
  Observations out;
  if (gate == 2) CompareLinks(site, seen, out);
  return out;
}

std::map<std::string, std::string> ComponentsOf(const Observations& seen) {
  std::map<std::string, std::set<std::string>> values;
  std::set<std::string> links;
  for (const Observation& o : seen) {
    if (o.value() == nullptr) continue;
    if (o.fact == "link.present") {
      if (std::get<bool>(*o.value())) links.insert(o.subject.id);
      continue;
    }
    for (const Component& c : kComponents) {
      if (o.fact == c.fact) values[std::string(c.name)].insert(FormatValue(*o.value(), o.unit));
    }
  }
  std::map<std::string, std::string> components;
  for (const auto& [name, set] : values) components[name] = fmt::format("{}", fmt::join(set, ", "));
  if (!links.empty())
    components["topology"] = Sha256Hex(fmt::format("{}", fmt::join(links, "\n"))).substr(0, 16);
  return components;
}

std::map<std::string, Quantity> FiguresOf(const Observations& seen) {
  std::map<std::string, Quantity> figures;
  for (const Observation& o : seen) {
    if (o.value() == nullptr) continue;
    const double* number = std::get_if<double>(o.value());
    if (number == nullptr) continue;
    for (const Figure& f : kFigures) {
      if (o.fact != f.fact) continue;
      const auto [at, fresh] = figures.try_emplace(std::string(f.name), Quantity{*number, o.unit});
      if (!fresh)
        at->second.value = f.worst_is_least ? std::min(at->second.value, *number)
                                            : std::max(at->second.value, *number);
    }
  }
  return figures;
}

}  // namespace muster
