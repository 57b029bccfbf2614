#include "measure/collective/localise.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "measure/collective/trial.h"

namespace muster {
namespace {

using Nodes = std::vector<std::string>;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What one search over a set of nodes found. `alike`: everything measured was slow in the same way,
// so no part of the set stands out.
struct Found {
  std::vector<SlowSuspect> suspects;
  bool alike = false;
};

// Finds the nodes and pairs that make sets slow, on all rails together or on one (as the trial is
// set).
class NodeSearch {
 public:
  NodeSearch(Trial& trial, const LocaliseOptions& options, Nodes nodes)
      : trial_(trial), options_(options), all_(std::move(nodes)) {}

  // Without a figure for healthy: the better half of the ring's disjoint pairs says it.
  void LearnHealthy() {
    if (trial_.healthy() > 0 || all_.size() < 3) return;
    std::vector<Nodes> pairs;
    for (size_t i = 0; i + 1 < all_.size(); i += 2) pairs.push_back({all_[i], all_[i + 1]});
    // Of three nodes one pair tells nothing about the others.
    if (all_.size() == 3) pairs = {{all_[0], all_[1]}};
    if (!trial_.Sample(pairs)) return;
    if (all_.size() == 3 &&
        !(trial_.Sample({{all_[1], all_[2]}}) && trial_.Sample({{all_[0], all_[2]}})))
      return;
    if (all_.size() == 3) pairs = {{all_[0], all_[1]}, {all_[1], all_[2]}, {all_[0], all_[2]}};
    // Ratios to 1 are the values themselves.
    trial_.SetHealthy(1);
    std::vector<double> values;
    for (const Nodes& pair : pairs) values.push_back(trial_.Ratio(pair));
    std::sort(values.begin(), values.end());
    values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
    trial_.SetHealthy(std::max(Median(values), 1e-9));
  }

  // Searches, takes what was found out of the set, and looks whether the rest is fast now.
  Found Run(bool& rest_is_fast) {
    rest_is_fast = false;
    Nodes rest = all_;
    Found found;
    while (static_cast<int>(found.suspects.size()) < options_.max_suspects && !trial_.stopped()) {
      const size_t before = found.suspects.size();
      Search(rest, found);
      if (found.alike || found.suspects.size() == before) break;
      rest = Without(rest, found.suspects, before);
      if (rest.size() < 2) break;
      const Speed speed = trial_.Ask(rest);
      rest_is_fast = speed == Speed::kFast;
      if (speed != Speed::kSlow) break;
    }
    return found;
  }

 private:
  static Nodes Ends(const Subject& subject) {
    const size_t at = subject.id.find("--");
    if (subject.kind != SubjectKind::kPair || at == std::string::npos) return {subject.id};
    return {subject.id.substr(0, at), subject.id.substr(at + 2)};
  }

  // A bad node goes; of a bad pair one end is enough.
  static Nodes Without(Nodes nodes, const std::vector<SlowSuspect>& suspects, size_t first) {
    for (size_t i = first; i < suspects.size(); ++i) {
      const std::string out = Ends(suspects[i].subject).front();
      std::erase(nodes, out);
    }
    return nodes;
  }

  void Search(const Nodes& set, Found& found) {
    if (trial_.stopped() || set.size() < 2) return;
    if (set.size() == 2) return ResolvePair(set[0], set[1], found);
    if (set.size() == 3) return ResolveThree(set, found);
    const auto middle = set.begin() + static_cast<ptrdiff_t>(set.size() / 2);
    const Nodes a(set.begin(), middle), b(middle, set.end());
    const auto speed = trial_.Ask({a, b});
    if (trial_.stopped()) return;
    if (speed[0] == Speed::kSlow && speed[1] == Speed::kSlow) return PairsOfRing(set, found);
    if (speed[0] == Speed::kSlow) return Search(a, found);
    if (speed[1] == Speed::kSlow) return Search(b, found);
    Between(a, b, found);
  }

  // Both halves are fast and the whole is not: something between them. Where the halves meet in the
  // ring comes first.
  void Between(const Nodes& a, const Nodes& b, Found& found) {
    const std::vector<Nodes> seams = {{a.back(), b.front()}, {b.back(), a.front()}};
    const auto speed = trial_.Ask(seams);
    const size_t before = found.suspects.size();
    for (size_t i = 0; i < seams.size(); ++i) {
      if (speed[i] == Speed::kSlow) ResolvePair(seams[i][0], seams[i][1], found);
    }
    if (found.suspects.size() > before || trial_.stopped()) return;
    // Every pair of one half with the other, as many at once as there are nodes in the smaller: a
    // round-robin tournament.
    for (size_t shift = 0; shift < std::max(a.size(), b.size()) && !trial_.stopped(); ++shift) {
      std::vector<Nodes> pairs;
      const Nodes& few = a.size() <= b.size() ? a : b;
      const Nodes& many = a.size() <= b.size() ? b : a;
      for (size_t i = 0; i < few.size(); ++i)
        pairs.push_back({few[i], many[(i + shift) % many.size()]});
      const auto of_round = trial_.Ask(pairs);
      for (size_t i = 0; i < pairs.size(); ++i) {
        if (of_round[i] == Speed::kSlow) ResolvePair(pairs[i][0], pairs[i][1], found);
      }
      if (found.suspects.size() > before) return;
    }
    // A half may have looked fast by chance.
    Nodes both = a;
    both.insert(both.end(), b.begin(), b.end());
    PairsOfRing(both, found);
  }

  // More than one thing is wrong, or all is: neighbours in the ring, in two rounds of disjoint
  // pairs (three for an odd ring).
  void PairsOfRing(const Nodes& set, Found& found) {
    std::vector<Nodes> pairs;
    for (size_t i = 0; i < set.size(); ++i) pairs.push_back({set[i], set[(i + 1) % set.size()]});
    const auto speed = trial_.Ask(pairs);
    if (trial_.stopped()) return;
    const auto slow = static_cast<size_t>(std::count(speed.begin(), speed.end(), Speed::kSlow));
    if (slow == pairs.size() && trial_.trusted().empty()) {
      found.alike = true;
      return;
    }
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (speed[i] == Speed::kSlow) ResolvePair(pairs[i][0], pairs[i][1], found);
      if (static_cast<int>(found.suspects.size()) >= options_.max_suspects) return;
    }
  }

  bool Blamed(const Found& found, const std::string& node) const {
    return std::any_of(found.suspects.begin(), found.suspects.end(),
                       [&node](const SlowSuspect& s) { return s.subject == NodeSubject(node); });
  }

  // Nodes that were fast in some set, farthest in the ring from both first, so that no shared
  // neighbour misleads.
  Nodes Partners(const std::string& a, const std::string& b) const {
    Nodes partners;
    for (const std::string& node : all_) {
      if (node != a && node != b && trial_.trusted().contains(node)) partners.push_back(node);
    }
    const size_t turn = partners.size() / 2;
    std::rotate(partners.begin(), partners.begin() + static_cast<ptrdiff_t>(turn), partners.end());
    return partners;
  }

  // A slow pair: is it one of the two, both, or only the two together?
  void ResolvePair(const std::string& a, const std::string& b, Found& found) {
    if (Blamed(found, a) || Blamed(found, b)) return;
    const Nodes partners = Partners(a, b);
    if (partners.empty()) {
      if (all_.size() == 2) {
        BlamePair(a, b, found, "there is no third node to tell the two apart");
      } else {
        for (const std::string& node : all_) {
          if (node != a && node != b) return ResolveThree({a, b, node}, found);
        }
      }
      return;
    }
    const std::string& first = partners.front();
    const std::string& second = partners[partners.size() > 1 ? 1 : 0];
    const auto speed = trial_.Ask({{a, first}, {b, second}});
    if (trial_.stopped()) return;
    const bool a_slow = speed[0] == Speed::kSlow && IsNode(a, first, partners);
    const bool b_slow = speed[1] == Speed::kSlow && IsNode(b, second, partners);
    if (a_slow) BlameNode(a, found);
    if (b_slow) BlameNode(b, found);
    if (a_slow || b_slow) return;
    if (trial_.Confirm({a, b}, 2) == Speed::kSlow)
      BlamePair(a, b, found, "both are fast with others");
  }

  // Slow with one partner could be that pair alone, or the partner: a second one decides.
  bool IsNode(const std::string& node, const std::string& used, const Nodes& partners) {
    for (const std::string& other : partners) {
      if (other == used) continue;
      return trial_.Ask(Nodes{node, other}) == Speed::kSlow;
    }
    return true;
  }

  void ResolveThree(const Nodes& set, Found& found) {
    const std::vector<Nodes> pairs = {{set[0], set[1]}, {set[1], set[2]}, {set[2], set[0]}};
    const auto speed = trial_.Ask(pairs);
    if (trial_.stopped()) return;
    const auto slow = [&speed](size_t i) { return speed[i] == Speed::kSlow; };
    const int count = slow(0) + slow(1) + slow(2);
    if (count == 3) {
      const Nodes partners = Partners("", "");
      if (partners.empty()) {
        found.alike = true;
        return;
      }
      for (const std::string& node : set) {
        if (trial_.Ask(Nodes{node, partners.front()}) == Speed::kSlow) BlameNode(node, found);
      }
      return;
    }
    for (size_t i = 0; i < 3; ++i) {
      // Node i + 1 is in pairs i and i + 1.
      if (count == 2 && slow(i) && slow((i + 1) % 3)) BlameNode(set[(i + 1) % 3], found);
      if (count == 1 && slow(i))
        BlamePair(pairs[i][0], pairs[i][1], found, "both are fast with the third");
    }
  }

  void BlameNode(const std::string& node, Found& found) {
    if (Blamed(found, node)) return;
    std::vector<std::string> ratios;
    double sum = 0;
    int pairs = 0, slow = 0;
    for (const std::string& other : all_) {
      const Nodes pair = {node, other};
      if (other == node || !trial_.Known(pair)) continue;
      const double ratio = trial_.Ratio(pair);
      ++pairs;
      slow += ratio < options_.slow_ratio ? 1 : 0;
      sum += ratio;
      if (ratios.size() < 6) ratios.push_back(fmt::format("{:.2f}", ratio));
    }
    found.suspects.push_back(
        {NodeSubject(node), pairs > 0 ? sum / pairs : 0,
         fmt::format("{} of {} pairs with it slow ({} of {:.4g}); {} nodes fast without it", slow,
                     pairs, Join(ratios, ", "), trial_.healthy(), trial_.trusted().size())});
  }

  void BlamePair(const std::string& a, const std::string& b, Found& found, std::string_view why) {
    const Subject pair = PairSubject(a, b);
    for (const SlowSuspect& known : found.suspects) {
      if (known.subject == pair) return;
    }
    const double ratio = trial_.Ratio({a, b});
    found.suspects.push_back(
        {pair, ratio, fmt::format("together {:.2f} of {:.4g}; {}", ratio, trial_.healthy(), why)});
  }

  Trial& trial_;
  const LocaliseOptions& options_;
  const Nodes all_;
};

class Localiser {
 public:
  Localiser(const Nodes& nodes, const CollectiveMeter& meter, const LocaliseOptions& options)
      : nodes_(nodes), meter_(meter), options_(options), trial_(meter, options, out_) {}

  Localisation Run() {
    if (nodes_.size() < 2) {
      out_.note = "one node: nothing runs between nodes";
      return std::move(out_);
    }
    Rails();
    if (out_.suspects.empty() && !trial_.stopped()) AllRails();
    return std::move(out_);
  }

 private:
  // One rail at a time over all nodes: a rail that stands out is named, and on it the node whose
  // adapter is the cause.
  void Rails() {
    if (!meter_.rail || options_.rails.size() < 2) return;
    std::vector<double> values;
    for (int rail : options_.rails) {
      trial_.OnRail(rail, 1);
      if (!trial_.Sample({nodes_})) return;
      values.push_back(out_.runs.back().value);
    }
    const double healthy = Median(values);
    for (size_t i = 0; i < values.size() && healthy > 0; ++i) {
      if (values[i] >= options_.slow_ratio * healthy) continue;
      OneRail(options_.rails[i], healthy);
      if (trial_.stopped()) return;
    }
    if (out_.suspects.empty()) trial_.OnRail(std::nullopt, 0);
  }

  void OneRail(int rail, double healthy) {
    trial_.OnRail(rail, healthy);
    // Noise alone makes a rail look slow once in a while.
    if (trial_.Confirm(nodes_, 3) != Speed::kSlow) return;
    const double ratio = trial_.Ratio(nodes_);
    const std::string alone =
        fmt::format("alone over {} nodes {:.2f} of {:.4g}, the median of {} rails", nodes_.size(),
                    ratio, healthy, options_.rails.size());
    bool rest_is_fast = false;
    Found found;
    if (nodes_.size() > 2) found = NodeSearch(trial_, options_, nodes_).Run(rest_is_fast);
    out_.healthy = healthy;
    out_.conclusive = rest_is_fast || found.suspects.empty();
    if (found.alike || found.suspects.empty()) {
      out_.suspects.push_back({RailSubject(rail), ratio, alone + "; no node of it stands out"});
      return;
    }
    for (SlowSuspect& suspect : found.suspects) {
      const bool node = suspect.subject.kind == SubjectKind::kNode;
      const auto adapter =
          node && options_.adapter ? options_.adapter(suspect.subject.id, rail) : std::nullopt;
      if (adapter) suspect.subject = *adapter;
      suspect.evidence = fmt::format("rail {} only: {}", rail, suspect.evidence);
      out_.suspects.push_back(std::move(suspect));
    }
    out_.suspects.push_back({RailSubject(rail), ratio, alone});
  }

  void AllRails() {
    trial_.OnRail(std::nullopt, options_.healthy);
    NodeSearch search(trial_, options_, nodes_);
    search.LearnHealthy();
    out_.healthy = trial_.healthy();
    if (trial_.stopped()) return;
    if (nodes_.size() == 2) return TwoNodes();
    if (trial_.Ask(nodes_) != Speed::kSlow) {
      if (!trial_.stopped())
        out_.note = fmt::format("not reproduced: all nodes together give {:.2f} of healthy",
                                trial_.Ratio(nodes_));
      return;
    }
    bool rest_is_fast = false;
    const Found found = search.Run(rest_is_fast);
    out_.suspects = found.suspects;
    out_.conclusive = rest_is_fast;
    // A cause seen on a node explains the pairs it is in.
    std::stable_sort(
        out_.suspects.begin(), out_.suspects.end(), [](const SlowSuspect& a, const SlowSuspect& b) {
          return (a.subject.kind == SubjectKind::kNode) > (b.subject.kind == SubjectKind::kNode);
        });
    if (!out_.note.empty()) return;
    if (found.alike) {
      out_.note =
          "every pair is slow alike: look at what all share (settings, firmware, spine), not at a "
          "node";
    } else if (out_.suspects.empty()) {
      out_.note = "the whole is slow, but no pair of it is";
    } else if (!rest_is_fast) {
      out_.note = "without the suspects the rest is still slow, or too small to tell";
    }
  }

  void TwoNodes() {
    const Speed speed = trial_.healthy() > 0 ? trial_.Ask(nodes_) : Speed::kSlow;
    if (speed == Speed::kFast) {
      out_.note = "not reproduced: the pair is fast";
      return;
    }
    if (trial_.stopped()) return;
    const double ratio = trial_.Ratio(nodes_);
    out_.suspects.push_back(
        {PairSubject(nodes_[0], nodes_[1]), ratio, "there is no third node to tell the two apart"});
    out_.note = "two nodes: add a third to tell a node from the pair";
  }

  const Nodes& nodes_;
  const CollectiveMeter& meter_;
  const LocaliseOptions& options_;
  Localisation out_;
  Trial trial_;
};

}  // namespace

Localisation LocaliseSlowCollective(const std::vector<std::string>& nodes,
                                    const CollectiveMeter& meter, const LocaliseOptions& options) {
  return Localiser(nodes, meter, options).Run();
}

}  // namespace muster
