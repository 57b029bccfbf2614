#include "app/helm_preview.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/edit.h"
#include "kube/json.h"

namespace muster {

using Words = std::vector<std::string>;

namespace {

Result<std::string> Said(Processes& processes, const Command& command) {
  TRY(const CommandResult ran, processes.Run(command));
  if (ran.exit_code == 0 && !ran.timed_out && !ran.truncated) return ran.out;
  return Fail(Code::kUnavailable, fmt::format("exit {}: {}", ran.exit_code,
                                              Shorten(std::string(Trim(ran.err + ran.out)), 600)));
}

// "" where there is no such release yet.
Result<std::string> ManifestNow(const Words& helm, const std::string& name, const std::string& ns,
                                Processes& processes, Duration at_most) {
  Command command;
  command.argv = helm;
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

Result<HelmChange> AskHelm(const Command& dry_run, const Words& helm, Processes& processes) {
  TRY(const std::string said, Said(processes, dry_run));
  const auto release = kube::Json::parse(said, nullptr, false);
  const std::string name = kube::TextAt(release, "name"), ns = kube::TextAt(release, "namespace");
  const std::string then = kube::TextAt(release, "manifest");
  if (name.empty() || ns.empty() || !kube::At(release, "manifest").is_string())
    return Fail(Code::kParse, "its dry run gives no release in JSON: Helm 3.13 or newer does");
  TRY(const std::string now, ManifestNow(helm, name, ns, processes, dry_run.timeout));

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
