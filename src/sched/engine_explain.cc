// Why a job waits: the constraint that binds it, with figures; what can never be is refused at
// once.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sched/amount.h"
#include "sched/engine.h"

namespace muster::sched {

namespace {

std::string TextOf(const LabelPairs& select) {
  std::string text;
  for (const auto& [key, value] : select)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}
std::string TextOf(const Taint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value,
                     taint.effect);
}
// The same causes, whatever their figures.
bool SameCauses(const std::vector<Because>& a, const std::vector<Because>& b) {
  const auto is_figure = [](const auto& entry) {
    return !std::holds_alternative<std::string>(entry.second) || entry.first == "short";
  };
  const auto same = [&](const Because& x, const Because& y) {
    auto i = x.detail.begin(), j = y.detail.begin();
    while (true) {
      i = std::find_if_not(i, x.detail.end(), is_figure);
      j = std::find_if_not(j, y.detail.end(), is_figure);
      if (i == x.detail.end() || j == y.detail.end())
        return x.code == y.code && i == x.detail.end() && j == y.detail.end();
      if (*i++ != *j++) return false;
    }
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool SameTaskNames(const Gang& a, const Gang& b) {
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const GangGroup& x, const GangGroup& y) { return x.name == y.name; });
}

}  // namespace

const Engine::ClassStanding& Engine::StandingOf(int shape_class) {
  if (standings_.size() <= static_cast<size_t>(shape_class))
    standings_.resize(static_cast<size_t>(classes_.size()));
  ClassStanding& s = standings_[static_cast<size_t>(shape_class)];
  if (s.version == cluster_.standing_version()) return s;
  s = ClassStanding{};
  s.version = cluster_.standing_version();
  const ShapeClass& c = classes_[shape_class];
  for (int node = 0; node < cluster_.node_count(); ++node) {
    if (!cluster_.present(node) || !Matches(cluster_.Spec(node), c.select)) continue;
    ++s.selected;
    if (const Taint* taint = Untolerated(cluster_.Spec(node), c.tolerate)) {
      if (s.taint.empty()) s.taint = TextOf(*taint);
      continue;
    }
    ++s.tolerated;
    const int fit = cluster_.FitEmpty(c.shape, node);
    if (fit > 0) ++s.able, s.room += fit, s.most = std::max(s.most, fit);
    if (cluster_.usable(node)) ++s.usable, s.usable_room += fit;
  }
  return s;
}

// A count of devices that no present node could ever take, while a usable one could take another.
bool Engine::RejectIfNeverFits(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  for (const GangGroup& group : gang.groups) {
    const ClassStanding& standing = StandingOf(group.shape_class);
    if (standing.able > 0 || standing.usable == 0) continue;
    const ShapeClass& c = classes_[group.shape_class];
    for (size_t k = 0; k < group.shape.devices.size(); ++k) {
      std::set<int64_t> valid;
      Shape other = group.shape;
      for (int node = 0; node < cluster_.node_count(); ++node) {
        if (!cluster_.usable(node) || !Matches(cluster_.Spec(node), c.select) ||
            Untolerated(cluster_.Spec(node), c.tolerate) != nullptr)
          continue;
        const int64_t most = cluster_.Capacity(group.shape.devices[k].resource, node);
        for (int64_t count = 1; count <= most; ++count) {
          other.devices[k].amount = count;
          if (!valid.contains(count) && cluster_.FitEmpty(other, node) > 0) valid.insert(count);
        }
      }
      if (valid.empty()) continue;
      Detail detail = {{"task", group.name},
                       {"resource", cluster_.resources()[group.shape.devices[k].resource]},
                       {"asked", group.shape.devices[k].amount},
                       {"valid", std::vector<int64_t>(valid.begin(), valid.end())}};
      Emit(RejectDecision{gang.name, {"SHAPE", std::move(detail)}});
      DropPending(job);
      --pending_count_;
      gangs_[static_cast<size_t>(job)].state = JobState::kRejected;
      return true;
    }
  }
  return false;
}

// True when no amount of waiting for others would help: the nodes themselves are the cause.
bool Engine::AddStaticCause(const Gang& gang, size_t group, int shape_class, int needed,
                            std::vector<Because>& because) {
  const ClassStanding& s = StandingOf(shape_class);
  const std::string& task = gang.groups[group].name;
  if (needed == 0) return false;
  if (s.selected == 0 && StandingOf(gang.groups[group].shape_class).selected > 0) {
    because.push_back(
        {"LIMIT",
         {{"queue", queues_.Name(gang.queue)}, {"task", task}, {"flavor_nodes", int64_t{0}}}});
  } else if (StandingOf(shape_class).selected == 0) {
    because.push_back(
        {"SELECTOR", {{"task", task}, {"select", TextOf(classes_[shape_class].select)}}});
  } else if (s.tolerated == 0) {
    because.push_back({"TAINT", {{"task", task}, {"taint", s.taint}}});
  } else if (s.able == 0) {
    because.push_back({"SHAPE", {{"task", task}, {"nodes", int64_t{s.tolerated}}}});
  } else if (s.usable_room < needed && s.room >= needed) {
    because.push_back({"HEALTH",
                       {{"task", task},
                        {"needed", int64_t{needed}},
                        {"usable", s.usable_room},
                        {"nodes_out", int64_t{s.tolerated - s.usable}}}});
  } else if (s.room < needed) {
    because.push_back(
        {"GANG", {{"task", task}, {"needed", int64_t{needed}}, {"capacity", s.room}}});
  } else {
    return false;
  }
  return true;
}

void Engine::AddQuotaCauses(const Gang& gang, const std::vector<Assignment>& assignments,
                            std::vector<Because>& because) {
  const auto counts = CountsFor(gang, LeastRanks(gang));
  if (assignments.empty()) {
    because.push_back({"QUOTA", {{"queue", queues_.Name(gang.queue)}, {"flavor", "none"}}});
    return;
  }
  for (const Assignment& assignment : assignments) {
    if (QuotaFits(gang.queue, assignment, counts)) return;
  }
  std::map<int, int64_t> asked;
  for (size_t g = 0; g < counts.size(); ++g) {
    for (const Charge& charge : assignments[0].groups[g].charges)
      asked[charge.item] += charge.amount * counts[g];
  }
  for (const auto& [item, amount] : asked) {
    const int64_t available = queues_.Available(gang.queue, item);
    if (queues_.Admits(gang.queue, item, amount)) continue;
    const QuotaItem& what = queues_.Item(item);
    const int64_t potential = queues_.Potential(gang.queue, item);
    Detail detail = {
        {"queue", queues_.Name(gang.queue)}, {"flavor", what.flavor}, {"resource", what.resource}};
    if (potential < amount) {
      detail.emplace_back("asked", FormatAmount(what.resource, amount));
      detail.emplace_back("most", FormatAmount(what.resource, potential));
      because.push_back({"LIMIT", std::move(detail)});
    } else {
      detail.emplace_back("short", FormatAmount(what.resource, amount - available));
      because.push_back({"QUOTA", std::move(detail)});
    }
  }
}

void Engine::AddRoomCauses(const Gang& gang, const Assignment& assignment,
                           std::vector<Because>& because) {
  const auto counts = CountsFor(gang, LeastRanks(gang));
  Placer placer(cluster_, classes_);
  const PlaceAsk ask = AskFor(gang, assignment, counts);
  if (placer.Fits(ask)) return;
  bool found = false;
  for (size_t g = 0; g < counts.size(); ++g) {
    if (AddStaticCause(gang, g, assignment.groups[g].run_class, counts[g], because)) {
      found = true;
      continue;
    }
    const int64_t fit = placer.Total(assignment.groups[g].run_class);
    if (fit >= counts[g]) continue;
    because.push_back(
        {"GANG", {{"task", gang.groups[g].name}, {"needed", int64_t{counts[g]}}, {"fit", fit}}});
    found = true;
  }
  if (found) return;
  const GangTopology& wish = gang.topology;
  const int level = wish.required >= 0    ? wish.required
                    : wish.slice_size > 0 ? wish.slice_level
                                          : -1;
  const auto name = [&](int l) {
    return l == static_cast<int>(cluster_.levels().size())
               ? std::string("node")
               : cluster_.levels()[static_cast<size_t>(l)];
  };
  if (level >= 0) {
    size_t widest = 0;
    for (size_t g = 0; g < counts.size(); ++g)
      if (counts[g] > counts[widest]) widest = g;
    because.push_back(
        {"TOPOLOGY",
         {{"level", name(level)},
          {"needed", int64_t{wish.required >= 0 ? counts[widest] : wish.slice_size}},
          {"largest", placer.LargestAt(assignment.groups[widest].run_class, level)}}});
    return;
  }
  int64_t needed = 0;
  for (const int count : counts) needed += count;
  because.push_back({"GANG", {{"needed", needed}, {"tasks", int64_t(counts.size())}}});
}

// There is quota and room; both are kept for somebody. Of several promises, for the one whose nodes
// alone are enough to keep the job out.
void Engine::AddReservedCause(int job, std::vector<Because>& because) {
  const Reservation* keeps = nullptr;
  for (const auto& [holder, reservation] : reservations_) {
    if (!Binds(reservation, job)) continue;
    if (keeps == nullptr) keeps = &reservation;
    classes_.SetMask(cluster_, reservation.nodes);
    const bool alone = !CouldStart(job, kAnywhere);
    Unmask();
    if (!alone) continue;
    keeps = &reservation;
    break;
  }
  if (keeps != nullptr) {
    because.push_back(
        {"RESERVED",
         {{"for", gangs_[static_cast<size_t>(keeps->job)].name}, {"start", keeps->start}}});
    return;
  }
  if (blocker_ >= 0 && blocker_ != job) {
    because.push_back({"RESERVED", {{"for", gangs_[static_cast<size_t>(blocker_)].name}}});
    return;
  }
  because.push_back({"ORDER", {{"queue", queues_.Name(gangs_[static_cast<size_t>(job)].queue)}}});
}

// Nothing that runs holds it up: its nodes, its shape or the limits of its queue do.
bool Engine::IsHopeless(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto& assignments = Assignments(kind, job);
  if (assignments.empty()) return true;
  const auto counts = CountsFor(gang, LeastRanks(gang));
  return std::none_of(assignments.begin(), assignments.end(), [&](const Assignment& assignment) {
    std::map<int, int64_t> asked;
    std::vector<Because> because;
    for (size_t g = 0; g < counts.size(); ++g) {
      const ClassStanding& s = StandingOf(assignment.groups[g].run_class);
      if (s.usable_room < counts[g]) return false;
      for (const Charge& charge : assignment.groups[g].charges)
        asked[charge.item] += charge.amount * counts[g];
    }
    return std::all_of(asked.begin(), asked.end(), [&](const auto& entry) {
      return queues_.Potential(gang.queue, entry.first) >= entry.second;
    });
  });
}

// What holds up each of its kind alike; empty where quota and room are there.
std::vector<Because> Engine::ExplainKind(int job) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  std::vector<Because> because;
  PendingKind& kind =
      pending_.kinds[static_cast<size_t>(pending_.kind_of[static_cast<size_t>(job)])];
  const auto& assignments = Assignments(kind, job);
  if (!CouldStart(job, kAnywhere)) {
    AddQuotaCauses(gang, assignments, because);
    // Of several choices of flavors, the first that quota admits.
    const auto counts = CountsFor(gang, LeastRanks(gang));
    auto admitted =
        std::find_if(assignments.begin(), assignments.end(),
                     [&](const Assignment& each) { return QuotaFits(gang.queue, each, counts); });
    if (admitted == assignments.end()) admitted = assignments.begin();
    if (!assignments.empty()) AddRoomCauses(gang, *admitted, because);
  }
  return because;
}

// `by_kind`: what was found at this very state.
Engine::Causes Engine::Explain(int job, std::unordered_map<int, KindCauses>& by_kind) {
  const Gang& gang = gangs_[static_cast<size_t>(job)];
  if (WaitsItsTurn(job)) {
    const int head = pending_.by_queue[static_cast<size_t>(gang.queue)].begin()->job;
    return std::make_shared<const std::vector<Because>>(
        std::vector<Because>{{"ORDER",
                              {{"queue", queues_.Name(gang.queue)},
                               {"behind", gangs_[static_cast<size_t>(head)].name}}}});
  }
  KindCauses& kind = by_kind[pending_.kind_of[static_cast<size_t>(job)]];
  if (kind.job < 0 || !SameTaskNames(gangs_[static_cast<size_t>(kind.job)], gang))
    kind = {job, std::make_shared<const std::vector<Because>>(ExplainKind(job)), nullptr};
  if (!kind.causes->empty()) return kind.causes;
  std::vector<Because> because;
  AddReservedCause(job, because);
  return std::make_shared<const std::vector<Because>>(std::move(because));
}

void Engine::SayPending() {
  std::sort(to_explain_.begin(), to_explain_.end(), [&](int a, int b) {
    return gangs_[static_cast<size_t>(a)].sequence < gangs_[static_cast<size_t>(b)].sequence;
  });
  to_explain_.erase(std::unique(to_explain_.begin(), to_explain_.end()), to_explain_.end());
  std::vector<int> jobs;
  jobs.swap(to_explain_);
  std::unordered_map<int, KindCauses> by_kind;
  for (const int job : jobs) {
    if (gangs_[static_cast<size_t>(job)].state != JobState::kPending) continue;
    const Causes because = Explain(job, by_kind);
    KindCauses& kind = by_kind[pending_.kind_of[static_cast<size_t>(job)]];
    const Causes before = std::exchange(said_[static_cast<size_t>(job)], because);
    // Thousands of a kind that were last told the same share it: one of them is compared.
    const bool compared = before == kind.same && because == kind.causes;
    if (before != nullptr && (compared || SameCauses(*before, *because))) {
      if (because == kind.causes) kind.same = before;
      continue;
    }
    auto change = explains_ ? WouldStartIf(job, *because) : std::vector<Event>();
    Emit(PendingDecision{gangs_[static_cast<size_t>(job)].name, *because, std::move(change)});
  }
}

void Engine::Answer() {
  std::vector<Event> asks;
  asks.swap(asks_);
  for (const Event& ask : asks) {
    if (const auto* why = std::get_if<AskWhy>(&ask.body)) {
      AnswerDecision answer;
      answer.ask = "why", answer.about = why->name;
      const Gang* gang = FindJob(why->name);
      static constexpr const char* kStates[] = {"pending", "running", "finished", "rejected"};
      answer.state = gang == nullptr ? "unknown" : kStates[static_cast<size_t>(gang->state)];
      if (gang != nullptr && gang->state == JobState::kPending) {
        const int job = static_cast<int>(gang - gangs_.data());
        std::unordered_map<int, KindCauses> none;
        answer.because = *Explain(job, none);
        answer.would_start_if = WouldStartIf(job, answer.because);
      }
      Emit(std::move(answer));
    } else if (const auto* what_if = std::get_if<AskWhatIf>(&ask.body)) {
      AnswerWhatIf(*what_if);
    }
  }
}

}  // namespace muster::sched
