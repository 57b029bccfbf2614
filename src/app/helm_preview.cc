#include "app/helm_preview.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/edit.h"
#include "kube/json.h"

namespace muster {

namespace {

using Words = std::vector<std::string>;

std::string_view FlagName(std::string_view word) { return word.substr(0, word.find('=')); }

// How the act is done, not what: a dry run waits for nothing.
bool IsManner(std::string_view flag) {
  static const std::set<std::string_view> kManner = {"--wait", "--wait-for-jobs", "--atomic",
                                                     "--cleanup-on-fail", "--rollback-on-failure"};
  return kManner.contains(flag);
}

Command DryRun(const HelmAct& act) {
  Command command;
  const auto at = act.argv.begin() + static_cast<ptrdiff_t>(act.verb);
  command.argv.assign(act.argv.begin(), at + 1);
  command.argv.insert(command.argv.end(), {"--dry-run=server", "--output=json"});
  std::copy_if(at + 1, act.argv.end(), std::back_inserter(command.argv),
               [](const std::string& word) { return !IsManner(FlagName(word)); });
  return command;
}

// Which cluster it is, wherever in the act's words it was said.
Words ClusterFlags(const Words& argv) {
  Words flags;
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string_view name = FlagName(argv[i]);
    if (!StartsWith(name, "--kube")) continue;
    flags.push_back(argv[i]);
    const bool alone = name.size() == argv[i].size() && name != "--kube-insecure-skip-tls-verify";
    if (alone && i + 1 < argv.size()) flags.push_back(argv[++i]);
  }
  return flags;
}

Result<std::string> Said(Processes& processes, const Command& command) {
  TRY(const CommandResult ran, processes.Run(command));
  if (ran.exit_code == 0 && !ran.timed_out && !ran.truncated) return ran.out;
  return Fail(Code::kUnavailable, fmt::format("exit {}: {}", ran.exit_code,
                                              Shorten(std::string(Trim(ran.err + ran.out)), 600)));
}

// "" where there is no such release yet.
Result<std::string> ManifestNow(const HelmAct& act, const std::string& name, const std::string& ns,
                                Processes& processes, Duration at_most) {
  Command command;
  command.argv = {act.argv.front()};
  const Words cluster = ClusterFlags(act.argv);
  command.argv.insert(command.argv.end(), cluster.begin(), cluster.end());
  command.argv.insert(command.argv.end(), {"get", "manifest", name, "--namespace", ns});
  command.timeout = at_most;
  auto said = Said(processes, command);
  if (!said.ok() && Contains(said.error().message, "release: not found")) return std::string();
  return said;
}

}  // namespace

std::string WithoutSecrets(std::string_view manifest) {
  std::string out;
  for (size_t at = 0; at < manifest.size();) {
    size_t next = manifest.find("\n---", at);
    next = next == std::string_view::npos ? manifest.size() : next + 1;
    const std::string_view document = manifest.substr(at, next - at);
    at = next;
    const auto lines = Split(document, '\n');
    const bool secret = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
      return StartsWith(line, "kind:") && Trim(line.substr(5)) == "Secret";
    });
    if (!secret) {
      out += document;
      continue;
    }
    bool inside = false;
    for (const std::string_view line : lines) {
      if (line.empty()) continue;
      const bool top = line.front() != ' ' && line.front() != '#' && line.front() != '\t';
      const std::string_view key = top ? line.substr(0, line.find(':')) : std::string_view();
      if (top) inside = key == "data" || key == "stringData";
      if (inside && !top) continue;
      out += inside ? fmt::format("{}: (hidden)\n", key) : fmt::format("{}\n", line);
    }
  }
  return out;
}

Result<HelmChange> AskHelm(const HelmAct& act, Processes& processes, Duration at_most) {
  const bool own = std::any_of(act.argv.begin(), act.argv.end(), [](const std::string& word) {
    return FlagName(word) == "--output" || StartsWith(word, "-o");
  });
  if (own)
    return Fail(Code::kInvalid, "a command with --output of its own is not asked as a dry run");
  Command dry_run = DryRun(act);
  dry_run.timeout = at_most;
  TRY(const std::string said, Said(processes, dry_run));
  const auto release = kube::Json::parse(said, nullptr, false);
  const std::string name = kube::TextAt(release, "name"), ns = kube::TextAt(release, "namespace");
  const std::string then = kube::TextAt(release, "manifest");
  if (name.empty() || ns.empty() || !kube::At(release, "manifest").is_string())
    return Fail(Code::kParse, "its dry run gives no release in JSON: Helm 3.13 or newer does");
  TRY(const std::string now, ManifestNow(act, name, ns, processes, at_most));

  HelmChange change;
  change.changes = Trim(now) != Trim(then);
  const std::string title = fmt::format("{}/{}", ns, name);
  change.text = change.changes ? UnifiedDiff(title, WithoutSecrets(now), WithoutSecrets(then))
                               : fmt::format("the manifests of release {} stay as they are", title);
  if (change.text.empty())
    change.text = fmt::format("of release {} only values of Secrets change", title);
  const size_t hooks = kube::ListAt(release, "hooks").size();
  if (hooks > 0) change.text += fmt::format("\nits {} hooks run as well", hooks);
  return change;
}

}  // namespace muster
