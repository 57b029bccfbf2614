#include "app/derive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "app/proofs.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {

Observation DerivedFrom(const Observation& parent, Origin origin, Subject subject,
                        std::string_view fact, Value value, Unit unit, std::string excerpt) {
  Observation derived = parent;
  derived.origin = origin;
  derived.subject = std::move(subject);
  derived.fact = fact;
  derived.seen = std::move(value);
  derived.unit = unit;
  derived.excerpt = std::move(excerpt);
  return derived;
}

// Links that the fabric has and the inventory does not, and links that it
// should have and does not.
void CompareLinks(const Site& site, const Observations& seen, Observations& out) {
  const Observation* newest = nullptr;
  Origin origin = Origin::kLive;
  std::set<std::string> found, spoken_of, expected;
  for (const Observation& o : seen) {
    if (o.fact != "link.present") continue;
    spoken_of.insert(o.subject.id);
    const bool* present = o.value() == nullptr ? nullptr : std::get_if<bool>(o.value());
    if (present == nullptr) continue;
    if (newest == nullptr || newest->observed_at < o.observed_at) newest = &o;
    origin = std::max(origin, o.origin);  // declared in the order live, replayed, rehearsed
    if (*present) found.insert(o.subject.id);
  }
  if (newest == nullptr) return;  // nothing was discovered: the criteria say "not observed"
  for (const Link& link : site.cluster.links) expected.insert(link.Id().id);
  std::string first;
  int64_t unexpected = 0;
  for (const std::string& id : found) {
    if (!expected.contains(id) && unexpected++ == 0) first = id;
  }
  const std::string parents = fmt::format("from link.present of {} links", found.size());
  out.push_back(DerivedFrom(
      *newest, origin, {SubjectKind::kFabric, "fabric"}, "fabric.unexpected_links", unexpected,
      Unit::kCount,
      unexpected == 0 ? fmt::format("{}: all are in the inventory", parents)
                      : fmt::format("{}: not in the inventory, first: {}", parents, first)));
  // A link of which something was said, also that it is not known, is not
  // missing.
  for (const std::string& id : expected) {
    if (!spoken_of.contains(id)) {
      out.push_back(DerivedFrom(*newest, origin, {SubjectKind::kLink, id}, "link.present", false,
                                Unit::kNone, parents + ": not among them"));
    }
  }
}

struct Component {
  std::string_view fact, name;
};
constexpr std::array kComponents = {
    Component{"node.driver_version", "driver"},
    Component{"node.kernel", "kernel"},
    Component{"node.os", "image"},
    Component{"node.cuda_version", "cuda"},
    Component{"hca.firmware", "firmware"},
    Component{"node.fabric_manager_version", "fabric_manager"},
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

// Attachments that name a device which no node hands out: pods that ask for them wait for ever.
void CompareAttachments(const Site& site, const Observations& seen, Observations& out) {
  const Observation *named = nullptr, *unread = nullptr;
  Origin origin = Origin::kLive;
  std::set<std::string> advertised;
  size_t nodes = 0;
  for (const Observation& o : seen) {
    if (o.fact == "attachment.resources" && o.unobserved() != nullptr) unread = &o;
    const std::string* text = o.value() == nullptr ? nullptr : std::get_if<std::string>(o.value());
    if (text == nullptr) continue;
    if (o.fact == "attachment.resources") named = &o;
    if (o.fact != "kube.rdma_resources") continue;
    ++nodes;
    origin = std::max(origin, o.origin);
    for (const std::string_view word : SplitBlank(*text)) {
      const std::string_view name = word.substr(0, word.find('='));
      if (!EndsWith(word, "=0")) advertised.insert(std::string(name));
    }
  }
  if (named == nullptr && unread != nullptr) {  // why the one is not known is why the other is not
    out.push_back(*unread);
    out.back().fact = "attachment.unadvertised";
    return;
  }
  if (named == nullptr || nodes == 0) return;  // one side is not known: "not observed"
  int64_t missing = 0;
  std::string told;
  for (const std::string_view word : SplitBlank(std::get<std::string>(*named->value()))) {
    if (advertised.contains(std::string(word))) continue;
    ++missing;
    told += " " + std::string(word);
  }
  out.push_back(DerivedFrom(
      *named, std::max(origin, named->origin), SiteSubject(site.name), "attachment.unadvertised",
      missing == 0 ? "none" : std::string(Trim(told)), Unit::kNone,
      fmt::format("{} resources of attachments that none of {} nodes has", missing, nodes)));
}

}  // namespace

Observations Derive(const Site& site, int gate, const std::vector<std::string>&,
                    const Observations& seen) {
  Observations out;
  if (gate == 2) CompareLinks(site, seen, out);
  if (gate == 4) CompareAttachments(site, seen, out);
  return out;
}

std::map<std::string, std::string> ComponentsOf(const Observations& seen) {
  std::map<std::string, std::set<std::string>> values;
  std::set<std::string> links, budgets;
  for (const Observation& o : seen) {
    if (o.value() == nullptr) continue;
    if (o.fact == "link.present") {
      const bool* present = std::get_if<bool>(o.value());
      if (present != nullptr && *present) links.insert(o.subject.id);
      continue;
    }
    // The figures that were signed, not the signature: a renewal of the same
    // figures changes nothing.
    if (o.fact == "facility.used_ratio")
      budgets.insert(fmt::format("{} {}", o.subject.id, FormatValue(*o.value(), o.unit)));
    for (const Component& c : kComponents) {
      if (o.fact == c.fact) values[std::string(c.name)].insert(FormatValue(*o.value(), o.unit));
    }
  }
  std::map<std::string, std::string> components;
  for (const auto& [name, set] : values) components[name] = fmt::format("{}", fmt::join(set, ", "));
  if (!budgets.empty()) components["facility"] = fmt::format("{}", fmt::join(budgets, ", "));
  if (!links.empty())
    components["topology"] = Sha256Hex(fmt::format("{}", fmt::join(links, "\n"))).substr(0, 16);
  return components;
}

std::map<std::string, Quantity> FiguresOf(const Observations& seen) {
  std::map<std::string, Quantity> figures;
  for (const Observation& o : seen) {
    if (o.value() == nullptr) continue;
    const double* number = std::get_if<double>(o.value());
    if (number == nullptr || !std::isfinite(*number)) continue;
    const bool own_job = o.origin == Origin::kLive && o.source != nullptr &&
                         StartsWith(o.source->command, kOwnSmallJob);
    for (const Figure& f : kFigures) {
      if (o.fact != f.fact || own_job) continue;
      const auto [at, fresh] = figures.try_emplace(std::string(f.name), Quantity{*number, o.unit});
      if (!fresh)
        at->second.value = f.worst_is_least ? std::min(at->second.value, *number)
                                            : std::max(at->second.value, *number);
    }
  }
  return figures;
}

}  // namespace muster
