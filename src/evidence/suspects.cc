#include "evidence/suspects.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"
#include "evidence/places.h"
#include "evidence/suspect_groups.h"

namespace muster {

namespace {

// When one look finds everything bad and another points at one place, the place is the answer.
constexpr int kSharedPenalty = 15;
// A rank below this takes a whole down with it: an unreachable node explains also what FAILs on it.
constexpr int kTakesAllDown = 10;

class Finder {
 public:
  Finder(std::span<const Verdict> verdicts, const SuspectRules& rules)
      : rules_(rules), links_(rules.cluster), groups_(GroupVerdicts(verdicts, rules, links_)) {}

  std::vector<Suspect> Run() {
    std::vector<Suspect> suspects;
    for (const SuspectGroup* group : Causes(Ranked())) suspects.push_back(Describe(*group));
    return suspects;
  }

 private:
  std::vector<SuspectGroup*> Ranked() {
    std::vector<SuspectGroup*> ordered;
    for (auto& [subject, group] : groups_) ordered.push_back(&group);
    std::sort(ordered.begin(), ordered.end(), [](const SuspectGroup* a, const SuspectGroup* b) {
      const auto key = [](const SuspectGroup* g) {
        const int rank = g->rank + (g->collapsed && IsShared(g->subject) ? kSharedPenalty : 0);
        return std::make_tuple(Urgency(g->level), rank, ~g->verdicts);
      };
      return key(a) != key(b) ? key(a) < key(b) : a->subject < b->subject;
    });
    return ordered;
  }

  // Those that no better one explains; what they explain is noted with them.
  std::vector<SuspectGroup*> Causes(const std::vector<SuspectGroup*>& ordered) const {
    // Only subjects that share a device, and those that all share, can explain one another.
    std::vector<SuspectGroup*> kept, everywhere;
    std::unordered_map<std::string_view, std::vector<SuspectGroup*>> at_device;
    const auto explained_by = [&](const std::vector<SuspectGroup*>& causes,
                                  const SuspectGroup& group) {
      const auto cause = std::find_if(causes.begin(), causes.end(),
                                      [&](const SuspectGroup* k) { return Explains(*k, group); });
      if (cause == causes.end()) return false;
      (*cause)->explained.insert((*cause)->explained.end(), group.codes.begin(), group.codes.end());
      return true;
    };
    for (SuspectGroup* group : ordered) {
      const auto devices = DevicesOf(group->subject);
      bool explained = explained_by(devices.empty() ? kept : everywhere, *group);
      for (size_t i = 0; i < devices.size() && !explained; ++i)
        explained = explained_by(at_device[devices[i]], *group);
      if (explained) continue;
      kept.push_back(group);
      if (devices.empty()) everywhere.push_back(group);
      for (const std::string_view device : devices) at_device[device].push_back(group);
    }
    return kept;
  }

  // Does what is wrong with `k` account for what is wrong with `g`? `k` comes first in the order of
  // suspects.
  bool Explains(const SuspectGroup& k, const SuspectGroup& g) const {
    const Subject &a = k.subject, &b = g.subject;
    const bool cause_first = k.rank <= g.rank || (g.collapsed && IsShared(b));
    if (IsShared(a)) {
      if (!cause_first) return false;
      // Shared things are one another's symptoms (a rank that never started, and a gang that is not
      // whole).
      if (IsShared(b)) return k.rank < g.rank;
      return g.level == Level::kUnknown || k.collapsed;
    }
    if (IsShared(b)) return cause_first && Within(a, b);
    if (SameLink(a, b)) return cause_first;
    if (b.kind == SubjectKind::kRail) return cause_first && OnRail(a, b);
    if (!Touch(a, b)) return false;
    const bool whole_of = a.kind == SubjectKind::kNode || a.kind == SubjectKind::kSwitch;
    const bool same_kind = a.kind == b.kind;
    if (same_kind) return false;
    if (b.kind == SubjectKind::kPair) return cause_first;
    if (whole_of)
      return g.level == Level::kUnknown || k.rank < kTakesAllDown || (k.collapsed && cause_first);
    // A part explains its whole.
    return b.kind == SubjectKind::kNode || b.kind == SubjectKind::kSwitch ? cause_first : false;
  }

  // Facility things are within the site only; all others within every shared thing.
  static bool Within(const Subject& part, const Subject& shared) {
    const bool facility = part.kind == SubjectKind::kBudget || part.kind == SubjectKind::kPdu;
    return !facility || shared.kind == SubjectKind::kSite;
  }

  bool SameLink(const Subject& a, const Subject& b) const {
    const auto link_of = [this](const Subject& s) -> std::string {
      if (s.kind == SubjectKind::kLink || s.kind == SubjectKind::kPort) return links_.Of(s);
      if (s.kind != SubjectKind::kHca) return {};
      const std::string* link = links_.Find(s.id + "/1");
      return link == nullptr ? std::string() : *link;
    };
    const std::string x = link_of(a);
    return !x.empty() && x == link_of(b);
  }

  bool OnRail(const Subject& a, const Subject& rail) const {
    if (a.kind == SubjectKind::kPair || a.kind == SubjectKind::kNode) return true;
    std::vector<std::string_view> adapters;
    if (a.kind == SubjectKind::kHca) adapters.push_back(a.id);
    if (a.kind == SubjectKind::kLink) {
      const auto [x, y] = EndsOf(a);
      adapters = {WithoutLast(x), WithoutLast(y)};
    }
    for (const std::string_view adapter : adapters) {
      const Node* node = rules_.cluster.FindNode(FirstPart(adapter));
      if (node == nullptr) continue;
      for (const Nic& nic : node->nics) {
        if (RailSubject(nic.rail) == rail && EndsWith(adapter, "/" + nic.device)) return true;
      }
    }
    return false;
  }

  static bool Touch(const Subject& a, const Subject& b) {
    for (const std::string_view x : DevicesOf(a)) {
      for (const std::string_view y : DevicesOf(b)) {
        if (x == y) return true;
      }
    }
    return false;
  }

  Suspect Describe(const SuspectGroup& group) const {
    Suspect suspect;
    suspect.subject = group.subject;
    suspect.level = group.level;
    suspect.codes = {group.lead->code};
    const auto add = [&](const std::string& code) {
      if (std::find(suspect.codes.begin(), suspect.codes.end(), code) == suspect.codes.end())
        suspect.codes.push_back(code);
    };
    for (const std::string& code : group.codes) add(code);
    for (const std::string& code : group.explained) add(code);
    suspect.why = group.lead->text;
    if (group.collapsed) {
      suspect.why = fmt::format("{} of {} alike; {}", group.parts_bad, group.parts, suspect.why);
    }
    if (suspect.codes.size() > 1) {
      const size_t more = suspect.codes.size() - 1;
      suspect.why += fmt::format("; explains {} more check{}", more, more == 1 ? "" : "s");
    }
    const Criterion* c = rules_.criterion(group.lead->code);
    if (c != nullptr && rules_.next) {
      suspect.next =
          rules_.next(*c, group.subject.kind == c->subject ? group.subject : group.lead->subject);
    }
    return suspect;
  }

  const SuspectRules& rules_;
  PortLinks links_;
  std::map<Subject, SuspectGroup> groups_;
};

}  // namespace

std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const SuspectRules& rules) {
  return Finder(verdicts, rules).Run();
}

}  // namespace muster
