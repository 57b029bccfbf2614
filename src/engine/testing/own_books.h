// Runbooks as a site writes them, for what none of the catalogue's does: a way back through git,
// and the procedure once more after it. Led through the same cases as the catalogue's.
#pragma once

namespace muster::engine::testing {

// The whole change is one commit; when its proof fails the commit is reverted, and it is tried
// again.
inline constexpr const char* kOwnChange = R"(id: S1
slug: own-change
title: "A change of the site's own configuration"
family: own
on: node
expected: 10m
why: "the node follows the site's repository"
source: "the site"
trigger:
  kind: manual
  means: "a commit is to reach the nodes"
inputs:
  - {name: commit, required: true, means: "the commit that changes the configuration"}
prechecks:
  - id: node-answers
    criteria: [NOD-001]
  - id: not-foreign
    is: not_foreign
steps:
  - id: cordon
    title: "Nothing new on the node"
    act: cordon
    timeout: 1m
  - id: drain
    title: "Let the work end"
    act: drain
    timeout: 60m
    on_timeout: ask
  - id: converge
    act: command
    with: {argv: "site-converge {commit}", probe_argv: "site-converged {commit}"}
    probe: command
    timeout: 10m
    before:
      - is: jobs_none
    verify:
      - criteria: [NOD-001]
    irreversible: "the rollback takes back the commit"
  - id: proof
    act: observe
    timeout: 20m
    verify:
      - gate: 3
  - id: return
    act: return
    timeout: 2m
rollback:
  how: act
  why: "the nodes follow the repository back"
  step:
    id: revert
    title: "The commit is taken back"
    act: git_revert
    with: {repository: config, commit: "{commit}", push: "true"}
    probe: revert_commit
    timeout: 2m
    attempts: 2
    verify:
      - criteria: [NOD-010]
  then: return
blast:
  waves: ["1", "1"]
rounds: 2
)";

// No node is isolated; each step has its own undo.
inline constexpr const char* kOwnSetting = R"(id: S2
slug: own-setting
title: "A setting that needs no drain"
family: own
on: node
expected: 5m
source: "the site"
trigger:
  kind: manual
  means: "a setting is to change"
inputs:
  - {name: commit, required: true, means: "the commit that changes it"}
prechecks:
  - id: node-answers
    criteria: [NOD-001]
steps:
  - id: take
    act: service_start
    with: {unit: site-pull}
    timeout: 5m
    undo: git_revert
    undo_with: {repository: config, commit: "{commit}"}
  - id: proof
    act: observe
    timeout: 10m
    verify:
      - criteria: [NOD-001, NOD-010]
rollback:
  how: undo
  why: "the commit is taken back, and the next pull brings it"
  verify:
    - criteria: [NOD-011]
blast:
  waves: ["1"]
rounds: 3
)";

}  // namespace muster::engine::testing
