#include "diagnose/ranking.h"

#include <algorithm>
#include <tuple>

namespace muster::diagnose {

namespace {

// A consequence may be printed this long before its cause is noticed elsewhere.
constexpr Duration kNoticed = std::chrono::minutes(10);

bool Names(const std::vector<std::string>& explains, std::string_view id) {
  return std::any_of(explains.begin(), explains.end(), [&](const std::string& name) {
    return name.ends_with('*') ? id.starts_with(name.substr(0, name.size() - 1)) : id == name;
  });
}

// What goes wrong inside one machine: it comes from that machine, whatever fails elsewhere. What a
// program says of its GPU is printed under a pod's name, which cannot be compared with a host's.
bool IsLocal(const Cause& cause) {
  return (cause.layer == "gpu" || cause.layer == "pcie" || cause.layer == "driver" ||
          cause.layer == "node") &&
         !cause.id.starts_with("app.");
}

// Both name a `what` ("host", "gpu") and none in common.
bool Elsewhere(const Candidate& a, const Candidate& b, std::string_view what) {
  bool known = false;
  for (const Fact* x : a.facts) {
    const std::string_view mine = x->Get(what);
    if (mine.empty()) return false;
    for (const Fact* y : b.facts) {
      const std::string_view theirs = y->Get(what);
      if (theirs.empty() || theirs == mine) return false;
      known = true;
    }
  }
  return known;
}

// By their times; by their lines where one text has both and no times. A row of a table says how
// things are, not when they began: it is not before a line that has a time.
bool Before(const Candidate& a, const Candidate& b) {
  const Finding &x = a.finding, &y = b.finding;
  if (x.first && y.first && *x.first != *y.first) return *x.first < *y.first;
  if (x.first.has_value() != y.first.has_value()) return false;
  const Place &p = a.facts.front()->at, &q = b.facts.front()->at;
  return p.file == q.file && p.line < q.line;
}

// May `cause` be where `other` comes from?
bool Explains(const Candidate& cause, const Candidate& other) {
  const Cause& a = *cause.finding.cause;
  const Cause& b = *other.finding.cause;
  if (&a == &b || a.kind == CauseKind::kQuestion) return false;
  if (IsLocal(a) && IsLocal(b) && Elsewhere(cause, other, "host")) return false;
  if (a.layer == "gpu" && b.layer == "gpu" && Elsewhere(cause, other, "gpu")) return false;
  const bool named = Names(a.explains, b.id);
  const bool any_root = a.kind == CauseKind::kRoot && b.kind == CauseKind::kConsequence;
  if (!named && !any_root) return false;
  // Of two that can each bring about the other, what came first did; of the same line, the surer.
  if (named && Names(b.explains, a.id) &&
      (Before(other, cause) || (!Before(cause, other) && other.weight >= cause.weight)))
    return false;
  return !(cause.finding.first && other.finding.first &&
           *cause.finding.first > *other.finding.first + kNoticed);
}

// Is `id` in the chain of what explains `c`?
bool ComesFrom(const std::vector<Candidate>& candidates, const Candidate& c, std::string_view id) {
  const Candidate* at = &c;
  for (size_t steps = 0; at != nullptr && steps <= candidates.size(); ++steps) {
    const std::string& next = at->finding.explained_by;
    if (next.empty() || next == id) return next == id;
    at = nullptr;
    for (const Candidate& other : candidates)
      if (other.finding.cause->id == next && (at == nullptr || !other.finding.explained_by.empty()))
        at = &other;
  }
  return false;
}

void FindExplained(std::vector<Candidate>& candidates) {
  // Chains end: whoever is explained may explain others, but nobody explains what it comes from.
  // The surest are asked last, so that where all explain each other the surest stands for itself.
  for (size_t i = candidates.size(); i-- > 0;) {
    Candidate& b = candidates[i];
    const Candidate* best = nullptr;
    for (const Candidate& a : candidates) {
      if (&a == &b || !Explains(a, b) || ComesFrom(candidates, a, b.finding.cause->id)) continue;
      if (best == nullptr || a.weight > best->weight) best = &a;
    }
    if (best != nullptr) b.finding.explained_by = best->finding.cause->id;
  }
}

// A root that ends jobs stands before one that makes them slow: where both are shown, the first is
// what was asked about. Below this weight a root ends nothing for sure.
constexpr int kEnds = 40;

int Group(const Candidate& c, bool ended) {
  if (c.finding.cause->kind == CauseKind::kQuestion) return 4;
  if (!c.finding.explained_by.empty()) return 3;
  if (c.finding.cause->kind != CauseKind::kRoot) return 2;
  return ended && c.finding.cause->slow ? 1 : 0;
}

void Sort(std::vector<Candidate>& candidates) {
  const bool ended = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return c.finding.cause->kind == CauseKind::kRoot && c.finding.explained_by.empty() &&
           !c.finding.cause->slow && c.weight >= kEnds;
  });
  const auto group = [&](const Candidate& c) { return Group(c, ended); };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     return std::tuple(group(a), -a.weight, a.finding.order) <
                            std::tuple(group(b), -b.weight, b.finding.order);
                   });
  // Of two that are about as sure, the earlier one.
  for (size_t pass = 0; pass + 1 < candidates.size(); ++pass)
    for (size_t i = 0; i + 1 < candidates.size(); ++i) {
      const Candidate &a = candidates[i], &b = candidates[i + 1];
      if (group(a) == group(b) && a.weight - b.weight <= 8 && a.finding.first && b.finding.first &&
          *b.finding.first + std::chrono::seconds(1) < *a.finding.first && a.weight >= b.weight)
        std::swap(candidates[i], candidates[i + 1]);
    }
}

}  // namespace

void Rank(std::vector<Candidate>& candidates) {
  FindExplained(candidates);
  Sort(candidates);
}

}  // namespace muster::diagnose
