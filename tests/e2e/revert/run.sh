#!/usr/bin/env bash
# A runbook of a site's own whose way back is a git revert, with real git, a real remote and the real binary: the change is taken back when
# its proof fails, the procedure is tried once more and no more often, and a run that is killed at any moment reverts once.
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts.
suite=revert
. "$(dirname "$0")/../../lib/hosts.sh"
need_program "$muster"
command -v git >/dev/null || { skip git "there is no git"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-revert.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export MUSTER_STATE_DIR=$work/host MUSTER_SITE=$work/site/site.yaml HOME=$work
git config --global user.name "A. Person"; git config --global user.email person@example; git config --global init.defaultBranch main

# ---- a site that is this machine, with its configuration in git: what is rolled out is a copy of one file
git init -q --bare remote.git; git init -q config; git -C config remote add origin "$work/remote.git"
change() { printf '%s\n' "$2" >config/conf; git -C config add conf; git -C config commit -qm "$1"; git -C config push -q origin main; git -C config rev-parse HEAD; }
change "works" "good" >/dev/null
mkdir -p site/runbooks
cat >site/site.yaml <<S
apiVersion: muster/v1
kind: Site
name: here
type: host
cluster:
  nodes:
    - {name: n1, address: 127.0.0.1, gpu_family: none}
repositories:
  config: {path: $work/config, remote: origin}
S
cat >site/runbooks/rollout.yaml <<R
id: S1
slug: rollout
title: "A commit reaches the node"
family: own
on: node
source: "the site"
trigger: {kind: manual, means: "a commit is to be rolled out"}
inputs:
  - {name: commit, required: true, means: "the commit"}
prechecks:
  - {id: it-answers, command: ["true"]}
steps:
  - {id: cordon, act: cordon, timeout: 1m}
  - id: converge
    act: command
    with: {argv: "cp $work/config/conf $work/applied", probe_argv: "cmp -s $work/config/conf $work/applied"}
    probe: command
    timeout: 1m
    before:
      - is: jobs_none
    verify:
      - command: [test, -s, $work/applied]
    irreversible: "the rollback takes back the commit"
  - id: proof
    act: observe
    timeout: 1m
    verify:
      - command: [grep, -qx, good, $work/applied]
  - {id: return, act: return, timeout: 1m}
rollback:
  how: act
  why: "as it was before"
  step:
    id: revert
    act: git_revert
    with: {repository: config, commit: "{commit}", push: "true"}
    probe: revert_commit
    timeout: 1m
    verify:
      - command: [grep, -qx, good, $work/config/conf]
  then: return
blast:
  waves: ["1"]
rounds: 2
R
reverts() { git -C remote.git log --format=%B main | grep -c "^This reverts commit $1"; }
rm -f applied

# ---- the way back, and the procedure once more
bad=$(change "does not work" "bad")
act runbook lint site/runbooks/rollout.yaml; is the_runbook_is_well_formed $rc 0
act runbook plan S1 --on n1 --set commit="$bad" --out plan.json; is it_is_planned $rc 0
says the_plan_shows_what_would_be_reverted out.txt "git -C $work/config revert --no-edit .*$bad"
says and_that_it_would_be_pushed out.txt "git -C $work/config push origin"
says and_how_often_it_is_tried out.txt "2 rounds of the procedure"
act runbook run plan.json --approve; is it_is_taken_back_and_done_once_more $rc 0
is the_remote_has_one_revert "$(reverts "$bad")" 1
is the_tree_is_the_one_before "$(git -C remote.git rev-parse 'main^{tree}')" "$(git -C config rev-parse "$bad~1^{tree}")"
is the_second_round_rolled_out_what_is_good "$(cat applied)" good
act runbook journal; says the_journal_has_the_round out.txt 'round'
says the_revert_names_its_run <(git -C remote.git log -1 --format=%B main) '^Muster-Run: r-'
act node list; says nobody_holds_the_node out.txt 'n1'

# ---- killed at moments spread over the run: each commit is reverted once, and the node comes back
# By night more of them: who is killed in the middle of a cordon looks for two minutes whether it happened.
kills=4; [ -z "${MUSTER_NIGHTLY:-}" ] || kills=12
for n in $(seq "${MUSTER_KILLS:-$kills}"); do
  rm -rf site/.muster/runbooks/r-*; printf 'good\n' >applied
  bad=$(change "bad $n" "bad $n")
  act runbook plan S1 --on n1 --set commit="$bad" --out plan.json
  "$muster" runbook run plan.json --approve >killed.txt 2>&1 & run=$!
  sleep "$(awk "BEGIN { print 0.05 * $n }")"; kill -9 $run 2>/dev/null; wait $run 2>/dev/null
  tries=0
  while :; do
    act runbook resume --approve
    # It had ended before, or had not begun.
    [ $rc -ne 6 ] && [ $rc -ne 3 ] && [ $rc -ne 2 ] && break
    tries=$((tries + 1)); [ $tries -ge 2 ] && break
    act runbook run plan.json --approve; break
  done
  [ "$(reverts "$bad")" = 1 ] && [ "$(cat applied)" = good ] && [ -z "$(git -C config status --porcelain)" ] &&
    pass "killed_after_$((n * 50))ms_it_is_reverted_once" ||
    fail "killed_after_$((n * 50))ms_it_is_reverted_once" "exit $rc, $(reverts "$bad") reverts, applied $(cat applied): $(tail -qn 2 out.txt err.txt | tr '\n' ';')"
done

# ---- what stops it: the commit is under others, or somebody edits the tree
rm -rf site/.muster/runbooks/r-*; printf 'good\n' >applied
bad=$(change "bad" "bad"); change "on top of it" "worse" >/dev/null; was=$(git -C config rev-parse HEAD)
act runbook plan S1 --on n1 --set commit="$bad" --out plan.json
act runbook run plan.json --approve; is a_conflict_stops_for_a_person $rc 8
says the_journal_names_the_file <("$muster" runbook journal) 'newer commits changed the same lines of: conf'
is nothing_is_half_done "$(git -C config rev-parse HEAD) $(git -C config status --porcelain) $(git -C remote.git rev-parse main)" "$was  $was"
act node list; says the_node_stays_out out.txt 'n1 .*muster'
rm -rf site/.muster/runbooks/r-*; act node return n1; is a_person_gives_the_node_back $rc 0
bad=$(change "bad again" "bad"); was=$(git -C config rev-parse HEAD)
act runbook plan S1 --on n1 --set commit="$bad" --out plan.json
printf 'edited\n' >config/conf
act runbook run plan.json --approve; is an_edited_tree_stops_for_a_person $rc 8
says the_journal_names_the_edit <("$muster" runbook journal) 'has changes that are in no commit: .*conf'
is the_edit_is_as_it_was "$(cat config/conf) $(git -C config rev-parse HEAD) $(git -C remote.git rev-parse main)" "edited $was $was"
finish
