#include "backend/host/revert_script.h"

namespace muster::host {

namespace {

constexpr const char* kScript = R"sh(tree=$1 work=$2 branch=$3 head=$4 commit=$5 remote=$6 note=$7
GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true
export GIT_TERMINAL_PROMPT GIT_EDITOR
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
stop() { echo "$1"; exit "${2:-3}"; }
at() { git -C "$tree" "$@"; }
there() { git -C "$work" -c user.name=muster -c user.email=muster@localhost "$@"; }
d=$(at rev-parse --absolute-git-dir 2>&1) || stop "no repository: $d"
exec 8>>"$d/muster.lock" || stop "nothing can be written in $d"
flock -w 60 8 || stop "another revert is under way in this repository"
[ "$(at symbolic-ref -q --short HEAD)" = "$branch" ] || stop "another branch than $branch is checked out now"
[ "$(at rev-parse HEAD)" = "$head" ] || stop "$branch has moved since it was looked at"
[ -z "$(at status --porcelain --untracked-files=no)" ] || stop "the tree has changes that are in no commit"
for f in MERGE_HEAD REVERT_HEAD CHERRY_PICK_HEAD rebase-merge rebase-apply; do
  [ ! -e "$d/$f" ] || stop "somebody is in the middle of something there ($f)"
done
away() { at worktree remove --force "$work" >/dev/null 2>&1; rm -rf "$work"; at worktree prune; }
away
trap away EXIT
at worktree add -q --detach "$work" "$head" 2>&1 || stop "no worktree can be made"
parents=$(at rev-list --parents -n 1 "$commit" | wc -w)
if [ "$parents" -gt 2 ]; then set -- -m 1; else set --; fi
if ! said=$(there revert --no-edit "$@" "$commit" 2>&1); then
  in=$(there diff --name-only --diff-filter=U | paste -s -d ' ' -)
  there revert --abort >/dev/null 2>&1
  if [ -n "$in" ]; then stop "it cannot be reverted: newer commits changed the same lines of: $in"; fi
  stop "it cannot be reverted: $(echo "$said" | tail -n 1)"
fi
{ there log -1 --format=%B; printf '%s\n' "$note"; } | there commit -q --amend -F - 2>&1 || stop "git takes no commit"
new=$(there rev-parse HEAD)
if [ -n "$remote" ]; then
  there push -q "$remote" "HEAD:refs/heads/$branch" 2>&1 || stop "$remote does not take it, and nothing was changed"
fi
if ! said=$(at merge -q --ff-only "$new" 2>&1); then
  [ -z "$remote" ] || stop "$remote has it as $new, and this tree cannot follow: $said" 4
  stop "the tree cannot move forward to it: $said"
fi
echo "reverted by $new"
)sh";

}  // namespace

Words RevertWords(const Revert& revert) {
  return {"/bin/sh",     "-c",        kScript,       "sh",          revert.tree, revert.worktree,
          revert.branch, revert.head, revert.commit, revert.remote, revert.note};
}

}  // namespace muster::host
