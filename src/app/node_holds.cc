#include "app/node_holds.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/site_looker.h"
#include "base/strings.h"

namespace muster {

namespace {

Result<Actuator*> NeedActuator(SiteContext& site) {
  if (site.actuator != nullptr) return site.actuator.get();
  return Fail(Code::kInvalid, fmt::format("a site of type {} can be looked at, not acted on",
                                          ToString(site.site().kind)));
}

Status CheckNode(const SiteContext& site, const std::string& node) {
  if (site.site().cluster.FindNode(node) != nullptr) return {};
  return Fail(Code::kNotFound, fmt::format("the site has no node {}", Printable(node)));
}

Order HandOrder(ActKind kind, const std::string& node, const Lease& lease, uint64_t fence,
                TimePoint now) {
  Order order;
  order.action = {kind, NodeSubject(node), {}};
  order.run = lease.run;
  order.step = ToString(kind);
  order.token = fmt::format("{}/{}/{}", lease.run, node, ToString(kind));
  order.fence = fence;
  order.lease = lease;
  order.intended_at = now;
  return order;
}

// What it did is asked of the probe, whatever it answered.
Status DoAndLook(Actuator& actuator, const Order& order) {
  const DidResult did = actuator.Do(order);
  const ProbeResult probe = actuator.Probe(order);
  if (did.did == Did::kRefused) return Fail(Code::kRefused, did.detail);
  if (probe.happened == Happened::kYes) return {};
  return Fail(Code::kUnavailable, fmt::format("{}: {} ({})", order.action.ToString(),
                                              ToString(probe.happened), probe.detail));
}

}  // namespace

Result<std::vector<NodeHold>> ListNodes(SiteContext& site) {
  TRY(Actuator* const actuator, NeedActuator(site));
  TRY(const Actuator::Fleet fleet, actuator->ReadFleet());
  TRY(const auto marks, ReconcileSite(site.world, RunbookPaths(site.paths), *actuator));
  std::vector<NodeHold> nodes;
  for (const Node& node : site.site().cluster.nodes) {
    NodeHold hold;
    hold.node = node.name;
    const auto found = std::find_if(fleet.nodes.begin(), fleet.nodes.end(),
                                    [&](const auto& held) { return held.node == node.name; });
    hold.answers = found != fleet.nodes.end();
    if (hold.answers) hold.hold = found->hold;
    if (auto jobs = actuator->JobsOn(node.name); jobs.ok()) hold.jobs = std::move(*jobs);
    for (const engine::MarkFinding& mark : marks) {
      if (mark.node == node.name) hold.mark = mark;
    }
    nodes.push_back(std::move(hold));
  }
  return nodes;
}

Status CordonNode(SiteContext& site, const std::string& node, const HandOptions& options) {
  TRY(Actuator* const actuator, NeedActuator(site));
  TRY_VOID(CheckNode(site, node));
  if (options.reason.empty()) return Fail(Code::kInvalid, "a cordon has its reason (--reason)");
  if (options.ttl <= Duration::zero())
    return Fail(Code::kInvalid, "a cordon has its end (--ttl 4h): none is for ever");
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(site.world.clock.Now());
  TRY(const Hold hold, actuator->ReadHold(node));
  if (!hold.schedulable || hold.lease)
    return Fail(
        Code::kRefused,
        fmt::format("{} is held already: {}", node,
                    hold.lease ? hold.lease->owner + ": " + hold.lease->reason : hold.note));
  Lease lease{
      options.by,        std::string(engine::kByHandRun) + NewRunName(now, site.world.random),
      options.reason,    true,
      hold.note,         now,
      now + options.ttl, 0};
  const RunbookPaths paths(site.paths);
  TRY_VOID(site.world.files.MakeFolders(paths.root));  // the first word that is said on this site
  engine::FileLocks locks = SiteLocks(site.world, paths, *actuator);
  TRY(lease.fence, locks.Take(lease.run, node, {{"node/" + node, 1}}));
  const Status done =
      DoAndLook(*actuator, HandOrder(ActKind::kCordon, node, lease, lease.fence, now));
  if (!done.ok()) (void)locks.Release(lease.run, node);
  return done;
}

constexpr Duration kDrainAgain = std::chrono::seconds(10);

Status DrainNode(SiteContext& site, const std::string& node, const HandOptions& options,
                 Progress& progress) {
  TRY(Actuator* const actuator, NeedActuator(site));
  TRY_VOID(CheckNode(site, node));
  TRY(Hold hold, actuator->ReadHold(node));
  const bool by_hand = hold.lease && StartsWith(hold.lease->run, engine::kByHandRun);
  if (!by_hand) {
    TRY_VOID(CordonNode(site, node, options));
    TRY(hold, actuator->ReadHold(node));
  }
  if (!hold.lease) return Fail(Code::kConflict, "somebody changed the node meanwhile");
  engine::FileLocks locks = SiteLocks(site.world, RunbookPaths(site.paths), *actuator);
  TRY(const uint64_t fence, locks.Take(hold.lease->run, node, {{"node/" + node, 1}}));
  const TimePoint began = site.world.clock.Now();
  Order order = HandOrder(ActKind::kDrain, node, *hold.lease, fence, began);
  if (options.force) order.action.params["force"] = "true";
  TRY(order.before, actuator->Before(order.action));
  const DidResult did = actuator->Do(order);
  if (did.did == Did::kRefused) return Fail(Code::kRefused, did.detail);
  std::string said;
  TimePoint asked = began;
  while (true) {
    // A checkpoint that became durable meanwhile, or a budget that has room, lets more go.
    if (!options.force && site.world.clock.Now() >= asked + kDrainAgain) {
      (void)actuator->Do(order);
      asked = site.world.clock.Now();
    }
    const ProbeResult probe = actuator->Probe(order);
    if (probe.happened == Happened::kYes) return {};
    if (site.world.clock.Now() >= began + options.timeout)
      return Fail(Code::kTimeout, fmt::format("{} is cordoned, and not empty after {}: {}", node,
                                              FormatDuration(options.timeout), probe.detail));
    if (probe.detail != said) progress.Note(probe.detail);
    said = probe.detail;
    site.world.clock.SleepFor(std::chrono::milliseconds(500));
  }
}

Status ReturnNode(SiteContext& site, const std::string& node, const HandOptions& options,
                  Progress& progress) {
  TRY(Actuator* const actuator, NeedActuator(site));
  TRY_VOID(CheckNode(site, node));
  TRY(const Hold hold, actuator->ReadHold(node));
  if (!hold.lease)
    return Fail(Code::kRefused,
                hold.schedulable
                    ? fmt::format("{} is at work", node)
                    : fmt::format("{} was cordoned by somebody else ({}): it is theirs "
                                  "to return",
                                  node, hold.note));
  const RunbookPaths paths(site.paths);
  TRY(const auto marks, ReconcileSite(site.world, paths, *actuator));
  for (const engine::MarkFinding& mark : marks) {
    if (mark.node != node || mark.kind != engine::MarkKind::kFine) continue;
    return Fail(Code::kRefused, fmt::format("run {} works on it: muster runbook resume {}, or "
                                            "rollback",
                                            mark.run, mark.run));
  }
  progress.Note("gate 3 on " + node);
  SiteLooker looker(site.paths.site_file, site.world, options.open, hold.lease->run,
                    paths.root + "/by-hand");
  Check check;
  check.form = Check::Form::kGate;
  check.gate = 3;
  const engine::Looked looked = looker.Look(check, NodeSubject(node), {});
  if (looked.level != Level::kPass && looked.level != Level::kWarn)
    return Fail(Code::kRefused, fmt::format("{} stays out, gate 3 is {}: {}", node,
                                            ToString(looked.level), looked.text));
  engine::FileLocks locks = SiteLocks(site.world, paths, *actuator);
  TRY(const uint64_t fence, locks.Take(hold.lease->run, node, {{"node/" + node, 1}}));
  TRY_VOID(DoAndLook(
      *actuator, HandOrder(ActKind::kReturn, node, *hold.lease, fence, site.world.clock.Now())));
  return locks.Release(hold.lease->run, node);
}

}  // namespace muster
