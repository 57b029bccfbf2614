#include "diagnose/diagnosis.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/healing.h"

namespace muster::diagnose {

namespace {

// A consequence may be printed this long before its cause is noticed elsewhere.
constexpr Duration kNoticed = std::chrono::minutes(10);

struct Candidate {
  Finding finding;
  int weight = 0;
  std::vector<const Fact*> facts;
  bool healed = false;  // something later says that it went away
};

bool AnyHolds(const FactStore& facts, const SignRef& sign) {
  for (const Fact* fact : facts.Of(sign.fact))
    if (sign.Holds(*fact)) return true;
  return false;
}

// One fact that is a sign of a cause, and how sure it alone makes us.
struct Witness {
  const Fact* fact;
  int weight;
};

// What is left to complain of; all of it, and `healed`, when everything went away.
Candidate MakeCandidate(const Cause& cause, const FactStore& facts, const std::string& on,
                        std::vector<Witness> witnesses) {
  Candidate c;
  if (!cause.heals.empty()) {
    Healing healing(cause, facts);
    for (const Witness& w : witnesses) healing.Complaint(*w.fact);
    const auto gone = [&](const Witness& w) { return healing.Healed(w.fact->object); };
    c.healed = std::all_of(witnesses.begin(), witnesses.end(), gone);
    if (!c.healed) std::erase_if(witnesses, gone);
  }
  for (const auto& [fact, weight] : witnesses) {
    if (c.facts.empty() || weight > c.weight) {
      c.finding.title = Fill(cause.title, *fact);
      c.finding.next = Fill(cause.next, *fact);
    }
    c.weight = std::max(c.weight, weight);
    c.facts.push_back(fact);
  }
  c.finding.on = on;
  c.finding.cause = &cause;
  return c;
}

using BySubject = std::map<std::string, std::vector<Witness>>;

size_t Unnamed(std::string_view on) {
  return static_cast<size_t>(std::count(on.begin(), on.end(), '?'));
}

// A line that two signs of one cause read is one witness: of the subject that it names best.
void OneSubjectForALine(BySubject& by_subject) {
  std::map<Place, size_t> fewest;
  for (const auto& [on, witnesses] : by_subject)
    for (const Witness& w : witnesses) {
      const auto [it, made] = fewest.emplace(w.fact->at, Unnamed(on));
      if (!made) it->second = std::min(it->second, Unnamed(on));
    }
  for (auto& [on, witnesses] : by_subject)
    std::erase_if(witnesses, [&, unnamed = Unnamed(on)](const Witness& w) {
      return w.fact->at.line > 0 && unnamed > fewest.at(w.fact->at);
    });
  std::erase_if(by_subject, [](const auto& subject) { return subject.second.empty(); });
}

void Collect(const Cause& cause, const FactStore& facts, std::vector<Candidate>& out) {
  if (std::any_of(cause.unless.begin(), cause.unless.end(),
                  [&](const SignRef& sign) { return AnyHolds(facts, sign); }))
    return;
  if (!std::all_of(cause.all.begin(), cause.all.end(),
                   [&](const SignRef& sign) { return AnyHolds(facts, sign); }))
    return;
  BySubject by_subject;
  bool unnamed = false;
  for (const SignRef& sign : cause.signs) {
    for (const Fact* fact : facts.Of(sign.fact)) {
      if (!sign.Holds(*fact)) continue;
      const std::string on = Fill(cause.on, *fact);
      if (by_subject.size() >= kMostFindings && !by_subject.contains(on)) continue;
      by_subject[on].push_back({fact, sign.weight > 0 ? sign.weight : cause.weight});
      unnamed = unnamed || Unnamed(on) > 0;
    }
  }
  if (unnamed && by_subject.size() > 1) OneSubjectForALine(by_subject);
  for (auto& [on, witnesses] : by_subject)
    out.push_back(MakeCandidate(cause, facts, on, std::move(witnesses)));
}

// Values that a sign was to compare and could not.
void FindUnparsable(const Cause& cause, const FactStore& facts, std::set<std::string>& out) {
  for (const SignRef& sign : cause.signs)
    for (const Fact* fact : facts.Of(sign.fact))
      for (const Condition& condition : sign.where)
        if (condition.Unparsable(*fact))
          out.insert(fmt::format("{}: \"{}\" is no number", fact->at.ToString(),
                                 Printable(fact->Get(condition.attr))));
}

void Weigh(const FactStore& facts, Candidate& c) {
  std::sort(c.facts.begin(), c.facts.end(),
            [](const Fact* a, const Fact* b) { return a->order < b->order; });
  c.finding.order = c.facts.front()->order;
  std::set<std::string> witnesses;
  for (const Fact* fact : c.facts) {
    if (fact->time && (!c.finding.first || *fact->time < *c.finding.first))
      c.finding.first = fact->time;
    witnesses.insert(fact->id + " " + fact->at.file);
    if (c.finding.evidence.size() < kMostEvidence &&
        std::none_of(c.finding.evidence.begin(), c.finding.evidence.end(),
                     [&](const EvidenceLine& e) { return e.at == fact->at; }))
      c.finding.evidence.push_back({fact->at, fact->text, fact->count});
  }
  c.weight += static_cast<int>(std::min<size_t>(6, 2 * (witnesses.size() - 1)));
  for (const AgainstRef& against : c.finding.cause->against)
    if (AnyHolds(facts, against.sign)) {
      c.weight -= against.lowers;
      c.finding.against.push_back(against.says);
    }
  c.weight = std::clamp(c.weight, 1, 99);
  c.finding.confidence = c.weight / 100.0;
}

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

// By their times; by their lines where one text has both and no times.
bool Before(const Candidate& a, const Candidate& b) {
  const Finding &x = a.finding, &y = b.finding;
  if (x.first && y.first && *x.first != *y.first) return *x.first < *y.first;
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

void FindExplained(std::vector<Candidate>& candidates) {
  // Chains end: whoever is explained may explain others, but nobody explains who explains it.
  for (Candidate& b : candidates) {
    const Candidate* best = nullptr;
    for (const Candidate& a : candidates) {
      if (&a == &b || !Explains(a, b) || a.finding.explained_by == b.finding.cause->id) continue;
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

std::string Summary(const Diagnosis& d, const Evidence& evidence) {
  if (d.outcome == Outcome::kFinding) {
    const Finding& first = d.findings.front();
    size_t others = 0, follow = 0;
    for (const Finding& f : d.findings) {
      if (f.cause->kind == CauseKind::kQuestion) continue;
      if (!f.explained_by.empty())
        ++follow;
      else
        ++others;
    }
    std::string text = first.title;
    if (others > 1) text += fmt::format("; {} more that stand for themselves", others - 1);
    if (follow > 0) text += fmt::format("; {} that follow", follow);
    return text;
  }
  std::vector<std::string> read;
  for (const auto& [what, count] : evidence.recognised) read.push_back(what);
  if (d.outcome == Outcome::kNothing)
    return fmt::format("nothing is wrong in what was given ({})", Join(read, ", "));
  return read.empty() ? "nothing here is known to Muster"
                      : fmt::format("not enough to judge ({})", Join(read, ", "));
}

}  // namespace

Diagnosis Judge(const Knowledge& knowledge, const Evidence& evidence) {
  std::vector<Candidate> candidates;
  for (const Cause& cause : knowledge.causes) Collect(cause, evidence.facts, candidates);
  for (Candidate& c : candidates) Weigh(evidence.facts, c);
  Diagnosis d;
  for (const Candidate& c : candidates)
    if (c.healed)
      d.bring.push_back(fmt::format("{}: {}, and what comes later says that it went away: {}",
                                    c.finding.evidence.front().at.ToString(), c.finding.title,
                                    c.finding.cause->settle));
  std::erase_if(candidates, [](const Candidate& c) { return c.healed; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
  if (candidates.size() > kMostFindings) candidates.resize(kMostFindings);
  FindExplained(candidates);
  Sort(candidates);
  for (Candidate& c : candidates) {
    if (c.finding.cause->kind == CauseKind::kQuestion)
      d.bring.push_back(c.finding.title + ": " + c.finding.cause->settle);
    d.findings.push_back(std::move(c.finding));
  }
  for (const Fact* damage : evidence.facts.Of("damage"))
    d.bring.push_back(fmt::format("{}: {}", damage->at.ToString(), damage->Get("what")));
  std::set<std::string> unparsable;
  for (const Cause& cause : knowledge.causes) FindUnparsable(cause, evidence.facts, unparsable);
  d.bring.insert(d.bring.end(), unparsable.begin(), unparsable.end());
  for (const std::string& file : evidence.unrecognised)
    d.bring.push_back(file + ": holds nothing that is known here");
  const bool found = std::any_of(d.findings.begin(), d.findings.end(), [](const Finding& f) {
    return f.cause->kind != CauseKind::kQuestion;
  });
  d.outcome = found                                ? Outcome::kFinding
              : d.bring.empty() && evidence.proven ? Outcome::kNothing
                                                   : Outcome::kNotEnough;
  if (d.bring.empty() && d.outcome == Outcome::kNotEnough)
    d.bring.push_back("a log of the job (NCCL_DEBUG=INFO), the kernel log of its nodes");
  if (d.bring.size() > 16) d.bring.resize(16);
  d.summary = Summary(d, evidence);
  return d;
}

}  // namespace muster::diagnose
