#include "diagnose/diagnosis.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/healing.h"
#include "diagnose/message.h"
#include "diagnose/ranking.h"
#include "diagnose/second_opinion.h"

namespace muster::diagnose {

namespace {

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

// How many of the names that a pattern asks for a fact has.
size_t Known(std::string_view pattern, const Fact& fact) {
  size_t known = 0;
  for (size_t at = pattern.find('{'); at != std::string_view::npos;
       at = pattern.find('{', at + 1)) {
    const size_t end = pattern.find('}', at);
    if (end == std::string_view::npos) break;
    known += !fact.Get(pattern.substr(at + 1, end - at - 1)).empty();
  }
  return known;
}

struct Title {
  std::string text;
  size_t known = 0;  // of its names
};

// "{why}" is what the line itself says of it, in the catalogue's words; "{line}", and a "{what}"
// that was not captured, is the line.
Title TitleOf(const Knowledge& knowledge, const Cause& cause, const Fact& fact) {
  constexpr size_t kOwn = 2;  // a sign's own title says more than two names of the cause's
  const std::string_view own = fact.Get(kOwnTitle);
  const std::string_view pattern = own.empty() ? cause.title : own;
  Fact whole = fact;
  if (Contains(pattern, "{line}")) whole.Set("line", MessageOf(fact.text));
  if (Contains(pattern, "{why}") && fact.Get("why").empty()) {
    // What the shown line says in these very words is not said twice.
    const Reason* reason = knowledge.ReasonIn(fact);
    if (reason != nullptr && !Contains(ToLower(whole.Get("line")), reason->says))
      whole.Set("why", reason->says);
  }
  Title title{Fill(pattern, whole), Known(pattern, whole) + (own.empty() ? 0 : kOwn)};
  if (fact.id == kAnyComplaint) title.known += static_cast<size_t>(Tells(fact.text));
  if (!Contains(pattern, "{what}") || !fact.Get("what").empty() || !Contains(title.text, "?"))
    return title;
  whole.Set("what", MessageOf(fact.text));
  return {Fill(pattern, whole), title.known};
}

// Of what no rule knows, what its reason asks for comes before what its layer asks for.
std::string NextOf(const Knowledge& knowledge, const Cause& cause, const Fact& fact) {
  std::string next = Fill(cause.next, fact);
  if (cause.kind != CauseKind::kQuestion || fact.Get("says").empty()) return next;
  const Reason* reason = knowledge.ReasonIn(fact);
  return reason == nullptr || reason->next.empty() ? next : reason->next + "; " + next;
}

// What is left to complain of; all of it, and `healed`, when everything went away.
Candidate MakeCandidate(const Knowledge& knowledge, const Cause& cause, const FactStore& facts,
                        const std::string& on, std::vector<Witness> witnesses) {
  Candidate c;
  if (!cause.heals.empty()) {
    Healing healing(cause, facts);
    for (const Witness& w : witnesses) healing.Complaint(*w.fact);
    const auto gone = [&](const Witness& w) { return healing.Healed(w.fact->object); };
    c.healed = std::all_of(witnesses.begin(), witnesses.end(), gone);
    if (!c.healed) std::erase_if(witnesses, gone);
  }
  size_t known = 0;
  for (const auto& [fact, weight] : witnesses) {
    // Of witnesses of one weight the first that knows the most of what the title names.
    Title title = TitleOf(knowledge, cause, *fact);
    if (c.facts.empty() || weight > c.weight || (weight == c.weight && title.known > known)) {
      c.finding.title = std::move(title.text);
      c.finding.next = NextOf(knowledge, cause, *fact);
      known = title.known;
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

// One device under two names ("0000:a1:00" and "0000:a1:00.0"), and the lines of a file that name
// none where the others of the file name just one: all of one subject.
void JoinNames(BySubject& by_subject) {
  const auto join = [&](const std::string& from, const std::string& to) {
    std::vector<Witness>& all = by_subject[to];
    all.insert(all.end(), by_subject[from].begin(), by_subject[from].end());
    by_subject.erase(from);
  };
  std::vector<std::string> names;
  for (const auto& [on, witnesses] : by_subject) names.push_back(on);
  for (const std::string& on : names)
    if (on.ends_with(".0") && by_subject.contains(on.substr(0, on.size() - 2)))
      join(on, on.substr(0, on.size() - 2));
  if (by_subject.size() != 2) return;
  const auto& [a, in_a] = *by_subject.begin();
  const auto& [b, in_b] = *by_subject.rbegin();
  if (Unnamed(a) == Unnamed(b) || in_a.front().fact->at.file != in_b.front().fact->at.file) return;
  const std::string less = Unnamed(a) > Unnamed(b) ? a : b, more = Unnamed(a) > Unnamed(b) ? b : a;
  join(less, more);
}

void Collect(const Knowledge& knowledge, const Cause& cause, const FactStore& facts,
             std::vector<Candidate>& out) {
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
  if (by_subject.size() > 1) JoinNames(by_subject);
  for (auto& [on, witnesses] : by_subject)
    out.push_back(MakeCandidate(knowledge, cause, facts, on, std::move(witnesses)));
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

// What is said near a finding's lines, where no finding that stands for itself shows it.
void LookBeside(const Beside& beside, std::vector<Candidate>& candidates) {
  std::set<Place> shown;
  for (const Candidate& c : candidates)
    if (c.finding.explained_by.empty() && c.finding.cause->kind != CauseKind::kQuestion)
      for (const EvidenceLine& line : c.finding.evidence) shown.insert(line.at);
  for (Candidate& c : candidates)
    for (const EvidenceLine& line : c.finding.evidence) {
      std::vector<NearLine> near = beside.Of(line.at);
      std::erase_if(near, [&](const NearLine& n) { return shown.contains(n.at); });
      c.finding.beside = MostTelling(near, {line.at, line.text}, kMostBeside);
      for (NearLine& n : c.finding.beside) n.text = Shorten(Printable(Trim(n.text)), kTextBytes);
      if (!c.finding.beside.empty()) break;
    }
}

// What the words of a text are like is asked only where nothing else speaks.
void DropGuesses(std::vector<Candidate>& candidates) {
  const auto guess = [](const Candidate& c) {
    return std::all_of(c.facts.begin(), c.facts.end(),
                       [](const Fact* fact) { return SaidByWordsAlone(*fact); });
  };
  if (!std::all_of(candidates.begin(), candidates.end(), guess)) std::erase_if(candidates, guess);
}

// A subject without the parts that no line told.
std::string NameOf(std::string_view on) {
  constexpr size_t kMostBytes = 60;
  std::vector<std::string> parts;
  for (const std::string_view part : SplitBlank(on))
    if (part != "?") parts.emplace_back(part);
  return Shorten(Join(parts, " "), kMostBytes);
}

// The first names of many.
std::string Few(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 4;
  const std::span<const std::string> some(names.data(), std::min(names.size(), kMostNames));
  return Join({some.begin(), some.end()}, ", ") + (some.size() < names.size() ? ", ..." : "");
}

std::string Summary(const Diagnosis& d, const Evidence& evidence) {
  if (d.outcome == Outcome::kFinding) {
    const Finding& first = d.findings.front();
    size_t others = 0, follow = 0;
    std::vector<std::string> same;  // where else the first is found
    for (const Finding& f : d.findings) {
      if (f.cause->kind == CauseKind::kQuestion || &f == &first) continue;
      if (!f.explained_by.empty())
        ++follow;
      else if (f.cause == first.cause && !NameOf(f.on).empty())
        same.push_back(NameOf(f.on));
      else
        ++others;
    }
    std::string text = first.title;
    if (!same.empty()) text += fmt::format("; {} more of this: {}", same.size(), Few(same));
    if (others > 0) text += fmt::format("; {} more that stand for themselves", others);
    if (follow > 0) text += fmt::format("; {} that follow", follow);
    return text;
  }
  std::vector<std::string> read;
  for (const auto& [what, count] : evidence.recognised) read.push_back(what);
  if (d.outcome == Outcome::kNothing)
    return fmt::format("nothing is wrong in what was given ({})", Join(read, ", "));
  if (!d.findings.empty())
    return fmt::format("not enough to judge; the first place to look is the {} layer: {}",
                       d.findings.front().cause->layer, d.findings.front().title);
  return read.empty() ? "nothing here is known to Muster"
                      : fmt::format("not enough to judge ({})", Join(read, ", "));
}

}  // namespace

Diagnosis Judge(const Knowledge& knowledge, const Evidence& evidence) {
  std::vector<Candidate> candidates;
  for (const Cause& cause : knowledge.causes) Collect(knowledge, cause, evidence.facts, candidates);
  for (Candidate& c : candidates) Weigh(evidence.facts, c);
  Diagnosis d;
  for (const Candidate& c : candidates)
    if (c.healed)
      d.bring.push_back(fmt::format("{}: {}, and what comes later says that it went away: {}",
                                    c.finding.evidence.front().at.ToString(), c.finding.title,
                                    c.finding.cause->settle));
  std::erase_if(candidates, [](const Candidate& c) { return c.healed; });
  DropGuesses(candidates);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.weight > b.weight; });
  if (candidates.size() > kMostFindings) candidates.resize(kMostFindings);
  Rank(candidates);
  LookBeside(evidence.beside, candidates);
  for (Candidate& c : candidates) d.findings.push_back(std::move(c.finding));
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
  const bool open = !d.findings.empty() || !d.bring.empty();
  d.outcome = found                      ? Outcome::kFinding
              : !open && evidence.proven ? Outcome::kNothing
                                         : Outcome::kNotEnough;
  if (!open && d.outcome == Outcome::kNotEnough)
    d.bring.push_back("a log of the job (NCCL_DEBUG=INFO), the kernel log of its nodes");
  if (d.bring.size() > 16) d.bring.resize(16);
  d.summary = Summary(d, evidence);
  return d;
}

}  // namespace muster::diagnose
