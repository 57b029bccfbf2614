#include "app/submit/cluster.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/apply.h"
#include "kube/connection.h"

namespace muster::submit {

namespace {

const render::RenderedObject* WorkloadOfJob(const render::RenderedJob& job) {
  const auto found = std::find_if(job.objects.begin(), job.objects.end(),
                                  [](const render::RenderedObject& o) { return o.is_workload; });
  return found == job.objects.end() ? nullptr : &*found;
}

// Until it ended, or the person stopped looking. A look that fails for want of an answer is made
// again; three in a row end it.
Result<Standing> Follow(kube::Client& client, const render::RenderedObject& workload,
                        const Steps& steps, const Callbacks& say) {
  Standing standing;
  int silent = 0;
  while (true) {
    const auto looked = Look(client, workload);
    if (looked.ok()) {
      silent = 0;
      standing = *looked;
      if (say.live) say.live(standing.Line());
    } else if (!looked.error().retryable || ++silent == 3) {
      return Fail(looked.error());
    }
    if (standing.ended() || (say.stopped && say.stopped())) return standing;
    client.clock().SleepFor(steps.every);
  }
}

Status Prove(kube::Client& client, const Plan& plan, const Steps& steps, const Callbacks& say,
             Outcome& outcome) {
  if (!plan.twin)
    return Fail(Code::kInvalid, "--prove needs a rendered job: a class and a shape, no files");
  const render::RenderedObject* const workload = WorkloadOfJob(*plan.twin);
  if (say.note) say.note("the twin looks at the contract first: " + workload->name);
  TRY_VOID(ApplyAll(client, *plan.twin));
  auto standing = Follow(client, *workload, steps, say);
  // Proven gone, whatever it found: its pods hold the GPUs that the job wants.
  TRY_VOID(RemoveAll(client, *plan.twin, std::chrono::seconds(60)).Context("removing the twin"));
  TRY(outcome.twin, std::move(standing));
  outcome.proven = outcome.twin.phase == Phase::kSucceeded;
  if (outcome.proven) return {};
  return Fail(Code::kRefused,
              fmt::format("the twin did not keep the contract ({}); the job was not submitted",
                          outcome.twin.Line()));
}

}  // namespace

Result<Outcome> SubmitTo(const World& world, const ClusterWords& where, const Plan& plan,
                         const Steps& steps, const Callbacks& say) {
  TRY(const kube::ClusterConfig config,
      kube::FindCluster(world.files, kube::ClusterEnvironment(), where.kubeconfig, where.context));
  kube::Connection connection(world, config);
  kube::Client& client = connection.client();
  Outcome outcome;
  outcome.server = config.server;
  TRY(const std::vector<Change> changes, Preview(client, plan.job));
  for (const Change& change : changes) {
    outcome.changed |= !change.diff.empty();
    if (say.change) say.change(change.title, change.exists, change.diff);
  }
  if (steps.preview_only) return outcome;
  if (steps.prove) TRY_VOID(Prove(client, plan, steps, say, outcome));
  TRY_VOID(ApplyAll(client, plan.job));
  outcome.applied = true;
  const render::RenderedObject* const workload = WorkloadOfJob(plan.job);
  if (workload == nullptr) return outcome;
  if (!steps.follow) {
    TRY(outcome.standing, Look(client, *workload));
    return outcome;
  }
  TRY(outcome.standing, Follow(client, *workload, steps, say));
  return outcome;
}

}  // namespace muster::submit
