#include "evidence/suspects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

// When one look finds everything bad and another points at one place, the place is the answer.
constexpr int kSharedPenalty = 15;
// A rank below this takes a whole down with it: an unreachable node explains also what FAILs on it.
constexpr int kTakesAllDown = 10;

// FAIL first, then UNKNOWN, then WARN.
int Urgency(Level level) { return level == Level::kFail ? 0 : level == Level::kUnknown ? 1 : 2; }

// What stands before "--" and after it, in a link or a pair.
std::pair<std::string_view, std::string_view> Ends(const Subject& subject) {
  const std::string_view id = subject.id;
  const size_t at = id.find("--");
  if (at == std::string_view::npos) return {id, {}};
  return {id.substr(0, at), id.substr(at + 2)};
}

// "node-07/mlx5_4/1" -> "node-07/mlx5_4", "leaf00/5" -> "leaf00".
std::string_view WithoutLast(std::string_view path) {
  const size_t at = path.rfind('/');
  return at == std::string_view::npos ? path : path.substr(0, at);
}
std::string_view FirstPart(std::string_view path) { return path.substr(0, path.find('/')); }

bool IsShared(const Subject& s) {
  return s.kind == SubjectKind::kSite || s.kind == SubjectKind::kFabric ||
         s.kind == SubjectKind::kScope || s.kind == SubjectKind::kGang ||
         s.kind == SubjectKind::kEndpoint;
}

// The two devices of a link or a pair.
std::vector<std::string_view> DevicesOfEnds(std::string_view id) {
  const size_t at = id.find("--");
  if (at == std::string_view::npos) return {FirstPart(id)};
  return {FirstPart(id.substr(0, at)), FirstPart(id.substr(at + 2))};
}

// The nodes and switches a subject touches. Borrows from it.
std::vector<std::string_view> DevicesOf(const Subject& s) {
  switch (s.kind) {
    case SubjectKind::kLink:
    case SubjectKind::kPair:
      return DevicesOfEnds(s.id);
    case SubjectKind::kNode:
    case SubjectKind::kSwitch:
    case SubjectKind::kGpu:
    case SubjectKind::kHca:
    case SubjectKind::kPort:
    case SubjectKind::kRank:
      return {FirstPart(s.id)};
    default:
      return {};
  }
}

struct Group {
  Subject subject;
  Level level = Level::kWarn;
  int rank = 1000;
  bool collapsed = false;  // its parts were found bad, not it
  size_t parts = 0, parts_bad = 0;
  const Verdict* lead = nullptr;
  std::set<std::string> codes;
  std::vector<std::string> explained;
  size_t verdicts = 0;
};

class Finder {
 public:
  Finder(std::span<const Verdict> verdicts, const SuspectRules& rules)
      : rules_(rules), all_(verdicts) {
    for (const Link& link : rules.cluster.links) {
      const Subject id = link.Id();
      link_of_port_.emplace(link.a.ToString(), id.id);
      link_of_port_.emplace(link.b.ToString(), id.id);
    }
  }

  std::vector<Suspect> Run() {
    SortByCode();
    for (auto& [code, bad] : bad_) Attribute(code, bad);
    JoinRailAndNode();
    std::vector<Group*> ordered;
    for (auto& [subject, group] : groups_) ordered.push_back(&group);
    std::sort(ordered.begin(), ordered.end(), [](const Group* a, const Group* b) {
      const auto key = [](const Group* g) {
        const int rank = g->rank + (g->collapsed && IsShared(g->subject) ? kSharedPenalty : 0);
        return std::make_tuple(Urgency(g->level), rank, ~g->verdicts);
      };
      return key(a) != key(b) ? key(a) < key(b) : a->subject < b->subject;
    });
    // Only subjects that share a device, and those that all share, can explain one another.
    std::vector<Group*> kept, everywhere;
    std::unordered_map<std::string_view, std::vector<Group*>> at_device;
    const auto explained_by = [&](const std::vector<Group*>& causes, const Group& group) {
      const auto cause = std::find_if(causes.begin(), causes.end(),
                                      [&](const Group* k) { return Explains(*k, group); });
      if (cause == causes.end()) return false;
      (*cause)->explained.insert((*cause)->explained.end(), group.codes.begin(), group.codes.end());
      return true;
    };
    for (Group* group : ordered) {
      const auto devices = DevicesOf(group->subject);
      bool explained = explained_by(devices.empty() ? kept : everywhere, *group);
      for (size_t i = 0; i < devices.size() && !explained; ++i)
        explained = explained_by(at_device[devices[i]], *group);
      if (explained) continue;
      kept.push_back(group);
      if (devices.empty()) everywhere.push_back(group);
      for (const std::string_view device : devices) at_device[device].push_back(group);
    }
    std::vector<Suspect> suspects;
    for (const Group* group : kept) suspects.push_back(Describe(*group));
    return suspects;
  }

 private:
  using Bad = std::vector<const Verdict*>;
  struct Count {
    size_t bad = 0, all = 0;
    bool Most() const { return all >= 2 && bad * 2 > all; }
    bool All() const { return all >= 2 && bad == all; }
  };

  // WARNs are looked at only when nothing is worse.
  void SortByCode() {
    bool worse = false;
    for (const Verdict& v : all_)
      worse = worse || v.level == Level::kFail || v.level == Level::kUnknown;
    for (const Verdict& v : all_) {
      if (v.level == Level::kNotApplicable) continue;
      judged_[v.code].push_back(&v);
      const bool bad = v.level == Level::kFail || v.level == Level::kUnknown ||
                       (v.level == Level::kWarn && !worse);
      if (bad) bad_[v.code].push_back(&v);
    }
  }

  void Attribute(const std::string& code, const Bad& bad) {
    switch (bad.front()->subject.kind) {
      case SubjectKind::kGpu:
      case SubjectKind::kHca:
        return Parts(code, bad);
      case SubjectKind::kPort:
      case SubjectKind::kLink:
        return Links(code, bad);
      case SubjectKind::kNode:
      case SubjectKind::kRail:
        return Peers(code, bad);
      case SubjectKind::kPair:
        return Pairs(code, bad);
      default:
        for (const Verdict* v : bad) Add(v->subject, *v);
    }
  }

  // GPUs and adapters: the node when most of its GPUs, or all its adapters, are bad.
  void Parts(const std::string& code, const Bad& bad) {
    std::map<std::string_view, Count> hosts;
    for (const Verdict* v : judged_[code]) ++hosts[v->subject.Host()].all;
    for (const Verdict* v : bad) ++hosts[v->subject.Host()].bad;
    const bool gpus = bad.front()->subject.kind == SubjectKind::kGpu;
    const auto whole = [&](const Verdict& v) {
      const Count& count = hosts[v.subject.Host()];
      if (count.all == 1) return HostWide(v);
      return gpus ? count.Most() : count.All();
    };
    Count nodes{0, hosts.size()};
    for (const auto& [host, count] : hosts)
      nodes.bad += (gpus ? count.Most() : count.All()) ? 1 : 0;
    const bool shared = AreAll(nodes) && !Fleetwise(code);
    for (const Verdict* v : bad) {
      const Count& count = hosts[v->subject.Host()];
      if (!whole(*v)) {
        Add(v->subject, *v);
      } else if (shared) {
        Collapse(Shared(v->gate), *v, nodes);
      } else {
        Collapse(NodeSubject(v->subject.Host()), *v, count);
      }
    }
  }

  // A tool that failed on the host says nothing of one GPU on it.
  static bool HostWide(const Verdict& v) {
    if (!v.reason) return false;
    switch (*v.reason) {
      case UnknownReason::kToolFault:
      case UnknownReason::kUnreachable:
      case UnknownReason::kNotPermitted:
      case UnknownReason::kUnparsable:
        return true;
      default:
        return false;
    }
  }

  // Ports count for their link. A device all of whose links are bad stands for them.
  void Links(const std::string& code, const Bad& bad) {
    std::set<std::string> judged, broken;
    std::map<std::string, const Verdict*> worst;
    for (const Verdict* v : judged_[code]) judged.insert(LinkOf(v->subject));
    for (const Verdict* v : bad) {
      const std::string link = LinkOf(v->subject);
      broken.insert(link);
      const Verdict*& w = worst[link];
      if (w == nullptr || Urgency(v->level) < Urgency(w->level)) w = v;
    }
    if (judged.size() >= 3 && broken.size() == judged.size()) {
      for (const Verdict* v : bad) Collapse(Shared(v->gate), *v, {broken.size(), judged.size()});
      return;
    }
    std::map<std::string, Count> devices;
    for (const std::string& link : judged) {
      for (const std::string_view d : DevicesOfEnds(link)) ++devices[std::string(d)].all;
    }
    for (const std::string& link : broken) {
      for (const std::string_view d : DevicesOfEnds(link)) ++devices[std::string(d)].bad;
    }
    std::map<std::string, std::string> blamed;  // link -> device
    std::vector<std::pair<std::string, Count>> whole;
    for (const auto& [device, count] : devices) {
      if (count.All()) whole.emplace_back(device, count);
    }
    std::stable_sort(whole.begin(), whole.end(),
                     [](const auto& a, const auto& b) { return a.second.bad > b.second.bad; });
    for (const auto& [device, count] : whole) {
      for (const std::string& link : broken) {
        for (const std::string_view d : DevicesOfEnds(link)) {
          if (d == device) blamed.try_emplace(link, device);
        }
      }
    }
    for (const Verdict* v : bad) {
      const std::string link = LinkOf(v->subject);
      const auto it = blamed.find(link);
      if (it != blamed.end()) {
        Collapse(Device(it->second), *v, devices[it->second]);
      } else {
        // A port that no link of the inventory has stays a port.
        const bool known = v->subject.kind == SubjectKind::kLink || link != v->subject.id;
        Add(known ? Subject{SubjectKind::kLink, link} : v->subject, *v);
      }
    }
  }

  std::string LinkOf(const Subject& subject) const {
    if (subject.kind == SubjectKind::kLink) return subject.id;
    const auto it = link_of_port_.find(subject.id);
    return it == link_of_port_.end() ? subject.id : it->second;
  }
  Subject Device(const std::string& name) const {
    const bool is_switch = rules_.cluster.FindSwitch(name) != nullptr;
    return {is_switch ? SubjectKind::kSwitch : SubjectKind::kNode, name};
  }

  // Nodes among nodes, rails among rails.
  void Peers(const std::string& code, const Bad& bad) {
    // One that was seen to fail is not alike those that could then not be seen.
    const auto failed = static_cast<size_t>(std::count_if(
        bad.begin(), bad.end(), [](const Verdict* v) { return v->level == Level::kFail; }));
    const Count count{failed > 0 ? failed : bad.size(), judged_[code].size()};
    for (const Verdict* v : bad) {
      if (AreAll(count) && !Fleetwise(code)) {
        Collapse(SharedByPeers(*v, count), *v, count);
      } else {
        Add(v->subject, *v);
      }
    }
  }

  void Pairs(const std::string& code, const Bad& bad) {
    std::map<std::string_view, Count> nodes;
    for (const Verdict* v : judged_[code]) {
      for (const std::string_view n : DevicesOf(v->subject)) ++nodes[n].all;
    }
    for (const Verdict* v : bad) {
      for (const std::string_view n : DevicesOf(v->subject)) ++nodes[n].bad;
    }
    const Count count{bad.size(), judged_[code].size()};
    for (const Verdict* v : bad) {
      std::string_view culprit;
      for (const std::string_view n : DevicesOf(v->subject)) {
        if (nodes[n].All() && (culprit.empty() || nodes[n].bad > nodes[culprit].bad)) culprit = n;
      }
      if (count.bad >= 3 && count.All()) {
        Collapse(Shared(v->gate), *v, count);
      } else if (!culprit.empty()) {
        Collapse(NodeSubject(culprit), *v, nodes[culprit]);
      } else {
        Add(v->subject, *v);
      }
    }
  }

  // What is true of all (two or more), or of most of at least three.
  static bool AreAll(const Count& count) { return count.All() || (count.bad >= 3 && count.Most()); }
  // In "all the same" every member of a tie misses: that speaks of the members.
  bool Fleetwise(const std::string& code) const {
    const Criterion* c = rules_.criterion(code);
    return c != nullptr && c->measure == Measure::kAllEqual;
  }
  Subject Shared(int gate) const {
    if (gate == 2) return {SubjectKind::kFabric, "fabric"};
    return SiteSubject(rules_.site);
  }

  // Two nodes that both see a slow or wrong network have the path between them in common.
  Subject SharedByPeers(const Verdict& v, const Count& count) const {
    if (v.gate == 6 && v.subject.kind == SubjectKind::kNode && count.all == 2) {
      std::vector<std::string_view> ends;
      for (const Verdict* other : judged_.at(v.code)) ends.push_back(other->subject.id);
      return PairSubject(ends[0], ends[1]);
    }
    return Shared(v.gate);
  }

  Group& Add(const Subject& subject, const Verdict& v) {
    Group& group = groups_[subject];
    group.subject = subject;
    group.codes.insert(v.code);
    ++group.verdicts;
    const Criterion* c = rules_.criterion(v.code);
    const int rank = c == nullptr ? 50 : c->rank;
    if (std::make_pair(Urgency(v.level), rank) < std::make_pair(Urgency(group.level), group.rank)) {
      group.level = v.level;
      group.rank = rank;
      group.lead = &v;
    }
    if (group.lead == nullptr) group.lead = &v;
    return group;
  }
  void Collapse(const Subject& subject, const Verdict& v, const Count& count) {
    Group& group = Add(subject, v);
    if (group.lead != &v) return;
    group.collapsed = true;
    group.parts = count.all;
    group.parts_bad = count.bad;
  }

  // One bad rail and one bad node meet in one adapter.
  void JoinRailAndNode() {
    std::vector<const Group*> rails, nodes;
    for (const auto& [subject, group] : groups_) {
      if (subject.kind == SubjectKind::kRail) rails.push_back(&group);
      if (subject.kind == SubjectKind::kNode) nodes.push_back(&group);
    }
    if (rails.size() != 1 || nodes.size() != 1 || rails[0]->level != nodes[0]->level) return;
    const Node* node = rules_.cluster.FindNode(nodes[0]->subject.id);
    if (node == nullptr) return;
    for (const Nic& nic : node->nics) {
      if (RailSubject(nic.rail) != rails[0]->subject) continue;
      Group joined = rails[0]->rank <= nodes[0]->rank ? *rails[0] : *nodes[0];
      joined.subject = HcaSubject(node->name, nic.device);
      joined.rank = std::min(rails[0]->rank, nodes[0]->rank);
      joined.codes.insert(rails[0]->codes.begin(), rails[0]->codes.end());
      joined.codes.insert(nodes[0]->codes.begin(), nodes[0]->codes.end());
      const Subject rail = rails[0]->subject, host = nodes[0]->subject;
      groups_.erase(rail);
      groups_.erase(host);
      // What was wrong with the adapter itself stays its own.
      if (const auto own = groups_.find(joined.subject); own != groups_.end()) {
        own->second.codes.insert(joined.codes.begin(), joined.codes.end());
      } else {
        groups_[joined.subject] = std::move(joined);
      }
      return;
    }
  }

  // Does what is wrong with `k` account for what is wrong with `g`? `k` comes first in the order of
  // suspects.
  bool Explains(const Group& k, const Group& g) const {
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
    const auto link = [this](const Subject& s) -> std::string {
      if (s.kind == SubjectKind::kLink || s.kind == SubjectKind::kPort) return LinkOf(s);
      if (s.kind != SubjectKind::kHca) return {};
      const auto it = link_of_port_.find(s.id + "/1");
      return it == link_of_port_.end() ? std::string() : it->second;
    };
    const std::string x = link(a);
    return !x.empty() && x == link(b);
  }

  bool OnRail(const Subject& a, const Subject& rail) const {
    if (a.kind == SubjectKind::kPair || a.kind == SubjectKind::kNode) return true;
    std::vector<std::string_view> adapters;
    if (a.kind == SubjectKind::kHca) adapters.push_back(a.id);
    if (a.kind == SubjectKind::kLink) {
      const auto [x, y] = Ends(a);
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

  Suspect Describe(const Group& group) const {
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
  std::span<const Verdict> all_;
  std::unordered_map<std::string, std::string> link_of_port_;
  std::unordered_map<std::string, Bad> judged_;
  std::map<std::string, Bad> bad_;
  std::map<Subject, Group> groups_;
};

}  // namespace

std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const SuspectRules& rules) {
  return Finder(verdicts, rules).Run();
}

}  // namespace muster
