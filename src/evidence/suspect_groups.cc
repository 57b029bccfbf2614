#include "evidence/suspect_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace muster {

int Urgency(Level level) { return level == Level::kFail ? 0 : level == Level::kUnknown ? 1 : 2; }

namespace {

class Grouping {
 public:
  Grouping(std::span<const Verdict> verdicts, const SuspectRules& rules, const PortLinks& links)
      : rules_(rules), all_(verdicts), links_(links) {}

  std::map<Subject, SuspectGroup> Run() && {
    SortByCode();
    for (auto& [code, bad] : bad_) Attribute(code, bad);
    JoinRailAndNode();
    return std::move(groups_);
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

  void Attribute(const std::string& code, Bad bad) {
    std::erase_if(bad, [&](const Verdict* v) { return LaidAtTheFabricHost(*v); });
    if (bad.empty()) return;
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

  // The fabric's own things are seen from one host: when that does not answer, none of them is
  // suspect, it is.
  bool LaidAtTheFabricHost(const Verdict& v) {
    const SubjectKind kind = v.subject.kind;
    const bool of_fabric =
        kind == SubjectKind::kFabric || kind == SubjectKind::kSwitch || kind == SubjectKind::kLink;
    if (v.gate != 2 || !of_fabric || v.reason != UnknownReason::kUnreachable) return false;
    if (rules_.cluster.FindNode(rules_.fabric_host) == nullptr) return false;
    Add(NodeSubject(rules_.fabric_host), v);
    return true;
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
    for (const Verdict* v : judged_[code]) judged.insert(links_.Of(v->subject));
    for (const Verdict* v : bad) {
      const std::string link = links_.Of(v->subject);
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
      const std::string link = links_.Of(v->subject);
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

  SuspectGroup& Add(const Subject& subject, const Verdict& v) {
    SuspectGroup& group = groups_[subject];
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
    SuspectGroup& group = Add(subject, v);
    if (group.lead != &v) return;
    group.collapsed = true;
    group.parts = count.all;
    group.parts_bad = count.bad;
  }

  // One bad rail and one bad node meet in one adapter.
  void JoinRailAndNode() {
    std::vector<const SuspectGroup*> rails, nodes;
    for (const auto& [subject, group] : groups_) {
      if (subject.kind == SubjectKind::kRail) rails.push_back(&group);
      if (subject.kind == SubjectKind::kNode) nodes.push_back(&group);
    }
    if (rails.size() != 1 || nodes.size() != 1 || rails[0]->level != nodes[0]->level) return;
    const Node* node = rules_.cluster.FindNode(nodes[0]->subject.id);
    if (node == nullptr) return;
    for (const Nic& nic : node->nics) {
      if (RailSubject(nic.rail) != rails[0]->subject) continue;
      SuspectGroup joined = rails[0]->rank <= nodes[0]->rank ? *rails[0] : *nodes[0];
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

  const SuspectRules& rules_;
  std::span<const Verdict> all_;
  const PortLinks& links_;
  std::unordered_map<std::string, Bad> judged_;
  std::map<std::string, Bad> bad_;
  std::map<Subject, SuspectGroup> groups_;
};

}  // namespace

std::map<Subject, SuspectGroup> GroupVerdicts(std::span<const Verdict> verdicts,
                                              const SuspectRules& rules, const PortLinks& links) {
  return Grouping(verdicts, rules, links).Run();
}

}  // namespace muster
