#include "backend/host/repository_actuator.h"

#include <fmt/format.h>

#include "backend/host/act_details.h"
#include "backend/host/revert_script.h"
#include "base/strings.h"

namespace muster::host {

using namespace detail;

namespace {

bool Pushes(const Action& action) { return Param(action, "push") == "true"; }

}  // namespace

std::vector<ActKind> RepositoryActuator::Can() const {
  return site_.repositories.empty() ? std::vector<ActKind>{} : std::vector<ActKind>{K::kGitRevert};
}

Status RepositoryActuator::CheckAct(const Action& action) const {
  TRY_VOID(CheckAction(action));
  if (action.kind != K::kGitRevert)
    return Fail(Code::kInvalid, fmt::format("a repository does not do {}", ToString(action.kind)));
  TRY_VOID(TreeOf(action));
  if (!IsCommitName(Param(action, "commit")))
    return Fail(Code::kInvalid, fmt::format("commit: \"{}\", expected 7 to 64 hexadecimal digits; "
                                            "a branch or HEAD~1 is another commit tomorrow",
                                            Printable(Param(action, "commit"))));
  const std::string push = Param(action, "push");
  if (!push.empty() && push != "true" && push != "false")
    return Fail(Code::kInvalid,
                fmt::format("push: \"{}\", expected true or false", Printable(push)));
  return {};
}

Result<RepositoryActuator::Tree> RepositoryActuator::TreeOf(const Action& action) const {
  const std::string name = Param(action, "repository");
  const auto found = site_.repositories.find(name);
  if (found == site_.repositories.end())
    return Fail(Code::kInvalid,
                fmt::format("the site names no repository {} (repositories: {{{}: {{path: ...}}}})",
                            Printable(name), Printable(name)));
  const std::string& path = found->second.path;
  const bool absolute = path.starts_with('/') || options_.folder.empty();
  return Tree{absolute ? path : options_.folder + "/" + path,
              Pushes(action) ? found->second.remote : ""};
}

ActPlace RepositoryActuator::PlaceOf(const Action& action) const {
  return {here_, "the record of repository " + Param(action, "repository"), false,
          fmt::format("{}/{}/{}", options_.state_folder, Param(action, "repository"),
                      action.on.Host())};
}

std::vector<std::string> RepositoryActuator::Render(const Action& action) const {
  const auto tree = TreeOf(action);
  if (const Status fine = CheckAct(action); !fine.has_value() || !tree.ok())
    return {fmt::format("here: (refused) {}", fine.has_value() ? "" : fine.error().message)};
  std::vector<std::string> lines = {fmt::format(
      "here: git -C {} revert --no-edit {} (of a merge, -m 1), in a worktree beside it; then its "
      "branch moves forward",
      tree->path, Param(action, "commit"))};
  if (!tree->remote.empty())
    lines.push_back(fmt::format("here: git -C {} push {} (its branch, never by force)", tree->path,
                                tree->remote));
  return lines;
}

Result<std::string> RepositoryActuator::Git(const std::string& path, Words words) {
  Command command{{"git", "-C", path}};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.env["GIT_TERMINAL_PROMPT"] = "0";
  command.timeout = kShortWait;
  const auto ran = here_.Run(command);
  if (!ran.ok()) return Fail(Code::kUnavailable, "git: " + ran.error().ToString());
  if (ran->timed_out || ran->truncated)
    return Fail(Code::kUnavailable, fmt::format("git {} does not end in time", words.front()));
  if (ran->exit_code != 0)
    return Fail(Code::kUnavailable, fmt::format("git {} in {} (exit {}): {}", words.front(), path,
                                                ran->exit_code, TailOf(*ran)));
  return std::string(Trim(ran->out));
}

Result<std::string> RepositoryActuator::CommitOn(const std::string& path, const std::string& name,
                                                 const std::string& tip) {
  TRY(const std::string id, Git(path, {"rev-parse", "--verify", "--quiet", name + "^{commit}"})
                                .Context(fmt::format("there is no commit {}", name)));
  TRY_VOID(Git(path, {"merge-base", "--is-ancestor", id, tip})
               .Context(fmt::format("{} is not on the branch that is checked out", name)));
  return id;
}

Result<std::optional<std::string>> RepositoryActuator::Reverted(const std::string& path,
                                                                const std::string& id,
                                                                const std::string& tip) {
  TRY(const std::string text, Git(path, {"log", "--fixed-strings", "--grep=This reverts commit",
                                         kGitLogFormat, fmt::format("{}..{}", id, tip), "--"}));
  TRY(const auto log, ReadGitLog(text));
  return RevertOf(log, id);
}

Result<std::string> RepositoryActuator::TipOf(const Tree& tree, const std::string& branch) {
  if (tree.remote.empty()) return Git(tree.path, {"rev-parse", "refs/heads/" + branch});
  TRY(const std::string listed,
      Git(tree.path, {"ls-remote", "--exit-code", tree.remote, "refs/heads/" + branch}));
  const std::string tip = listed.substr(0, listed.find_first_of(" \t"));
  if (!IsCommitName(tip))
    return Fail(Code::kUnavailable,
                fmt::format("{} does not say where {} is", tree.remote, branch));
  // Others may have gone on from it: their commits are fetched, and no branch of ours moves.
  if (!Git(tree.path, {"cat-file", "-e", tip + "^{commit}"}).ok())
    TRY_VOID(Git(tree.path, {"fetch", "--quiet", "--no-write-fetch-head", tree.remote,
                             "refs/heads/" + branch}));
  return tip;
}

Result<Fingerprint> RepositoryActuator::Before(const Action& action) {
  TRY_VOID(CheckAct(action));
  TRY(const Tree tree, TreeOf(action));
  Fingerprint before;
  TRY(before["branch"], Git(tree.path, {"symbolic-ref", "--quiet", "--short", "HEAD"})
                            .Context("no branch is checked out there"));
  TRY(before["head"], Git(tree.path, {"rev-parse", "HEAD"}));
  TRY(before["commit"], CommitOn(tree.path, Param(action, "commit"), before["head"]));
  TRY(const std::string changed, Git(tree.path, {"status", "--porcelain", "--untracked-files=no"}));
  if (!changed.empty()) {
    const std::vector<std::string_view> lines = Lines(changed);
    return Fail(Code::kUnavailable,
                fmt::format("{} has changes that are in no commit: {}{}", tree.path,
                            Shorten(Printable(lines.front()), 120),
                            lines.size() > 1 ? fmt::format(" and {} more", lines.size() - 1) : ""));
  }
  if (tree.remote.empty()) return before;
  // What others have not pushed yet does not go along with a revert.
  TRY(const std::string tip, TipOf(tree, before["branch"]));
  if (tip != before["head"])
    return Fail(
        Code::kUnavailable,
        fmt::format("{} is at {} here and at {} on {}: pull or push it first", before["branch"],
                    before["head"].substr(0, 12), tip.substr(0, 12), tree.remote));
  return before;
}

DidResult RepositoryActuator::Do(const Order& order) {
  if (const Status fine = CheckAct(order.action); !fine.has_value())
    return {Did::kRefused, fine.error().message};
  const auto tree = TreeOf(order.action);
  const std::string commit = At(order.before, "commit"), branch = At(order.before, "branch");
  if (!tree.ok() || commit.empty() || branch.empty())
    return {Did::kRefused, "what was so before is not known"};
  const auto tip = TipOf(*tree, branch);
  if (!tip.ok()) return {Did::kRefused, tip.error().ToString()};
  const auto reverted = Reverted(tree->path, commit, *tip);
  if (!reverted.ok()) return {Did::kRefused, reverted.error().ToString()};
  ActPlace place = PlaceOf(order.action);
  for (int n = 1;; ++n) {
    const auto stored = place.ReadStored();
    if (!stored.ok()) return {Did::kRefused, stored.error().ToString()};
    if (const std::string older = OlderFence(order, *stored); !older.empty())
      return {Did::kRefused, older};
    if (*reverted) return {Did::kAccepted, "it is reverted already, by " + **reverted};
    Revert revert{tree->path, "", branch, At(order.before, "head"), commit, tree->remote, ""};
    revert.worktree = fmt::format("{}/{}/{}/worktree", options_.state_folder,
                                  Param(order.action, "repository"), order.action.on.Host());
    // git would take a relative one from the tree.
    if (!revert.worktree.starts_with('/')) {
      const auto here = here_.Run({{"pwd"}});
      if (!here.ok() || here->exit_code != 0) return {Did::kRefused, "the folder is not known"};
      revert.worktree = std::string(Trim(here->out)) + "/" + revert.worktree;
    }
    revert.note = fmt::format("Muster-Run: {}\nMuster-Order: {}", order.run, order.token);
    HostCommands run;
    run.commands = {RevertWords(revert)};
    const DidResult did = place.Do(order, *stored, std::move(run), options_.wait_s);
    if (did.did != Did::kRefused || did.detail != kHoldMoved || n == kMostHoldTries) return did;
  }
}

ProbeResult RepositoryActuator::Probe(const Order& order) {
  const auto tree = TreeOf(order.action);
  const std::string commit = At(order.before, "commit"), branch = At(order.before, "branch");
  if (!tree.ok() || commit.empty() || branch.empty())
    return {Happened::kUnknown, "what was so before is not known"};
  const auto record = PlaceOf(order.action).ReadRecord(order.token);
  if (!record.ok()) return {Happened::kUnknown, record.error().ToString()};
  if (record->state == ActRecord::State::kUnderWay) return {Happened::kUnknown, "it is under way"};
  const auto tip = TipOf(*tree, branch);
  if (!tip.ok()) return {Happened::kUnknown, tip.error().ToString()};
  const auto by = Reverted(tree->path, commit, *tip);
  if (!by.ok()) return {Happened::kUnknown, by.error().ToString()};
  const std::string where =
      tree->remote.empty() ? branch : fmt::format("{} of {}", branch, tree->remote);
  if (!*by)
    return {Happened::kNo,
            fmt::format("no revert of {} stands on {}{}", commit.substr(0, 12), where,
                        record->output.empty() ? "" : ": " + Printable(record->output))};
  const auto is = Git(tree->path, {"rev-parse", **by + "^{tree}"});
  const auto was = Git(tree->path, {"rev-parse", "--verify", "--quiet", commit + "~1^{tree}"});
  const bool same = is.ok() && was.ok() && *is == *was;
  return {Happened::kYes, fmt::format("{} reverts it on {}{}", (*by)->substr(0, 12), where,
                                      same ? ", and its tree is the one before" : "")};
}

Result<Hold> RepositoryActuator::ReadHold(const std::string&) {
  return Fail(Code::kUnavailable, "a repository holds no nodes");
}

Result<std::vector<RunningJob>> RepositoryActuator::JobsOn(const std::string&) {
  return Fail(Code::kUnavailable, "no work runs in a repository");
}

}  // namespace muster::host
