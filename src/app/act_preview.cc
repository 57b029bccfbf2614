#include "app/act_preview.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/acts.h"
#include "app/helm_preview.h"
#include "base/strings.h"

namespace muster {

namespace {

using Words = std::vector<std::string>;

constexpr size_t kKeptText = 64 << 10;
constexpr Duration kAtMost = std::chrono::minutes(2);

std::string_view BaseName(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

std::string_view FlagName(std::string_view word) { return word.substr(0, word.find('=')); }

// Flags that stand before the verb and take the next word with them.
bool TakesNextWord(std::string_view flag) {
  static const std::set<std::string_view> kFlags = {"--kubeconfig",
                                                    "--context",
                                                    "--kube-context",
                                                    "--cluster",
                                                    "--user",
                                                    "-n",
                                                    "--namespace",
                                                    "-s",
                                                    "--server",
                                                    "--token",
                                                    "--as",
                                                    "--as-group",
                                                    "--kube-token",
                                                    "--kube-apiserver",
                                                    "--request-timeout"};
  return kFlags.contains(flag);
}

// The place of the tool's verb; the end where there is none.
Words::const_iterator Verb(const Words& argv) {
  for (auto word = argv.begin() + 1; word != argv.end(); ++word) {
    if (!StartsWith(*word, "-")) return word;
    if (TakesNextWord(*word) && ++word == argv.end()) break;
  }
  return argv.end();
}

// `verb` in the place of the act's, `more` right behind it (behind a "--" they would be somebody
// else's words), and without the flags of `leave_out`, which change how it is done and not what.
Command Instead(const Words& argv, Words::const_iterator at, const Words& verb, const Words& more,
                const std::set<std::string_view>& leave_out) {
  Command command;
  command.argv.assign(argv.begin(), at);
  command.argv.insert(command.argv.end(), verb.begin(), verb.end());
  command.argv.insert(command.argv.end(), more.begin(), more.end());
  for (auto word = at + 1; word != argv.end(); ++word) {
    if (!leave_out.contains(FlagName(*word))) {
      command.argv.push_back(*word);
    } else if (FlagName(*word) == "--timeout" && *word == "--timeout" && word + 1 != argv.end()) {
      ++word;
    }
  }
  command.timeout = kAtMost;
  return command;
}

Result<Command> OfKubectl(const Words& argv) {
  const auto verb = Verb(argv);
  if (verb == argv.end()) return Fail(Code::kInvalid, "its command names no verb of kubectl");
  const bool own = std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
    return FlagName(word) == "--dry-run" || word == "--";
  });
  if (own)
    return Fail(Code::kInvalid, "a command with --dry-run or -- of its own is not rewritten");
  if (*verb == "apply") {
    const bool sub = verb + 1 != argv.end() && Contains(*(verb + 1), "last-applied");
    if (sub) return Fail(Code::kInvalid, "kubectl apply " + *(verb + 1) + " has no preview");
    Command command =
        Instead(argv, verb, {"diff"}, {}, {"--wait", "--timeout", "--overwrite", "--record"});
    command.env["KUBECTL_EXTERNAL_DIFF"] = "";  // its own, and no program of the caller's
    return command;
  }
  static const std::set<std::string_view> kDryRun = {
      "create", "patch", "label", "annotate", "delete", "replace", "taint", "cordon", "uncordon"};
  if (kDryRun.contains(*verb))
    return Instead(argv, verb, {*verb}, {"--dry-run=server"}, {"--wait", "--timeout"});
  return Fail(Code::kInvalid, fmt::format("kubectl {} has no preview", Printable(*verb)));
}

// How a chart is installed, not what.
const std::set<std::string_view>& HelmManner() {
  static const std::set<std::string_view> kFlags = {"--wait", "--wait-for-jobs", "--atomic",
                                                    "--cleanup-on-fail", "--rollback-on-failure"};
  return kFlags;
}

Result<Command> OfHelm(const Words& argv) {
  const auto verb = Verb(argv);
  if (verb == argv.end()) return Fail(Code::kInvalid, "its command names no verb of helm");
  const bool own = std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
    return FlagName(word) == "--dry-run" || word == "--" || FlagName(word) == "--post-renderer";
  });
  if (own)
    return Fail(Code::kInvalid,
                "a command with --dry-run, --post-renderer or -- of its own is not rewritten");
  if (*verb != "upgrade" && *verb != "install")
    return Fail(Code::kInvalid, fmt::format("helm {} has no preview", Printable(*verb)));
  // The plugin helm-diff; a release that is not there yet is all new.
  std::set<std::string_view> leave_out = {"--install", "-i", "--timeout", "--create-namespace"};
  leave_out.insert(HelmManner().begin(), HelmManner().end());
  return Instead(argv, verb, {"diff", "upgrade"}, {"--allow-unreleased", "--detailed-exitcode"},
                 leave_out);
}

// helm's plugin is not on every machine, helm's own dry run is.
bool LacksHelmDiff(const CommandResult& ran) {
  return ran.exit_code != 0 && Contains(ran.err, "unknown command \"diff\"");
}

// The program and, wherever in the act's words it was said, which cluster it is.
Words OfCluster(const Words& argv) {
  Words words = {argv.front()};
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string_view name = FlagName(argv[i]);
    if (!StartsWith(name, "--kube")) continue;
    words.push_back(argv[i]);
    const bool alone = name.size() == argv[i].size() && name != "--kube-insecure-skip-tls-verify";
    if (alone && i + 1 < argv.size()) words.push_back(argv[++i]);
  }
  return words;
}

Result<HelmChange> WithoutPlugin(const Words& argv, Processes& processes) {
  const bool own = std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
    return FlagName(word) == "--output" || StartsWith(word, "-o");
  });
  if (own)
    return Fail(Code::kInvalid, "a command with --output of its own is not asked as a dry run");
  const auto verb = Verb(argv);
  return AskHelm(Instead(argv, verb, {*verb}, {"--dry-run=server", "--output=json"}, HelmManner()),
                 OfCluster(argv), processes);
}

void AskWithoutPlugin(const Act& act, Processes& processes, ActPreview& preview) {
  const auto change = WithoutPlugin(act.argv, processes);
  preview.known = change.ok();
  preview.changes = change.ok() && change->changes;
  preview.text = change.ok() ? Shorten(change->text, kKeptText)
                             : "helm has no plugin helm-diff, and " + change.error().ToString();
}

}  // namespace

Result<Command> PreviewCommand(const Act& act) {
  if (act.argv.empty()) return Fail(Code::kInvalid, "the act has no command");
  const std::string_view program = BaseName(act.argv[0]);
  if (program == "kubectl") return OfKubectl(act.argv);
  if (program == "helm") return OfHelm(act.argv);
  if (act.kind == "ansible")
    return Fail(Code::kInvalid, "a playbook's tasks may change things in check mode too");
  return Fail(Code::kInvalid, fmt::format("nobody can say beforehand what {} changes",
                                          Printable(std::string(program))));
}

ActPreview PreviewByTool(const Act& act, Processes& processes) {
  ActPreview preview;
  preview.name = act.name;
  const auto command = PreviewCommand(act);
  if (!command.ok()) {
    preview.text = command.error().message;
    return preview;
  }
  preview.argv = command->argv;
  const auto ran = processes.Run(*command);
  if (!ran.ok()) {
    preview.text = ran.error().code == Code::kNotFound
                       ? fmt::format("{} is not on this machine", command->argv[0])
                       : ran.error().ToString();
    return preview;
  }
  if (BaseName(preview.argv[0]) == "helm" && LacksHelmDiff(*ran)) {
    AskWithoutPlugin(act, processes, preview);
    return preview;
  }
  const bool diff =
      std::find(preview.argv.begin(), preview.argv.end(), "diff") != preview.argv.end();
  // kubectl diff: 1 is a difference, more is trouble. helm diff --detailed-exitcode: 2 is one.
  const int difference = BaseName(preview.argv[0]) == "helm" ? 2 : 1;
  const bool differs = diff && ran->exit_code == difference;
  preview.known = !ran->timed_out && !ran->truncated && (ran->exit_code == 0 || differs);
  preview.changes = preview.known && (differs || !diff);
  preview.text = preview.known ? Shorten(ran->out, kKeptText)
                               : fmt::format("exit {}: {}", ran->exit_code,
                                             Shorten(std::string(Trim(ran->err + ran->out)), 600));
  return preview;
}

ActPreview PreviewAct(const Act& act, Processes& processes) {
  std::string detail;
  if (AskProbe(act, processes, detail) != Happened::kYes) return PreviewByTool(act, processes);
  ActPreview preview;
  preview.name = act.name;
  preview.known = true;
  preview.text = "its probe says that it is done already" + (detail.empty() ? "" : ": " + detail);
  return preview;
}

}  // namespace muster
