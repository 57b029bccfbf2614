#include "app/install/install.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "kube/connection.h"
#include "kube/known_kinds.h"
#include "yaml/yaml.h"

namespace muster::install {

namespace {

using render::RenderedObject;

std::vector<std::string> WordsIn(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : SplitBlank(text)) words.emplace_back(word);
  return words;
}

render::InstallRole ReadRole(const YamlNode& item, std::string_view file, YamlFindings& findings) {
  YamlReader r(item, file, findings);
  render::InstallRole role;
  role.id = r.Text("id");
  role.what = r.Text("what");
  r.Text("source");
  for (const YamlNode& one : r.Items("permissions")) {
    YamlReader p(one, file, findings);
    render::Permission permission;
    permission.group = p.TextOr("group", "");
    permission.resources = WordsIn(p.Text("resource"));
    permission.verbs = p.TextsOr("verbs");
    permission.why = p.Text("why");
    const std::string scope = p.TextOr("scope", "cluster");
    permission.in_own_namespace = scope == "lease";
    if (scope != "lease" && scope != "cluster") p.Say("scope: expected cluster or lease");
    // A wildcard would make the table say nothing.
    for (const auto* list : {&permission.resources, &permission.verbs}) {
      if (list->empty()) p.Say("expected at least one resource and one verb");
      if (std::find(list->begin(), list->end(), "*") != list->end()) p.Say("a wildcard");
    }
    p.Done();
    role.permissions.push_back(std::move(permission));
  }
  r.Done();
  return role;
}

bool IsDefinition(const RenderedObject& object) {
  return object.kind == "CustomResourceDefinition";
}

// What of an object with this name is there: nothing, ours, or somebody else's.
enum class Whose { kNobody, kOurs, kOthers };
Result<Whose> LookAt(kube::Client& client, const RenderedObject& object) {
  const kube::Answer answer = client.Await(
      kube::Get(kube::ResourceFor(object.api_version, object.kind), object.ns, object.name));
  if (answer.status == 404) return Whose::kNobody;
  if (!answer.ok()) return Fail(*answer.error);
  return Contains(answer.body, "\"muster.dev/definition\"") ? Whose::kOurs : Whose::kOthers;
}

// A definition is served a moment after it was accepted.
Status AwaitServed(kube::Client& client, const RenderedObject& definition) {
  const Duration until = client.clock().Monotonic() + std::chrono::seconds(30);
  const kube::Resource resource = kube::ResourceFor(definition.api_version, definition.kind);
  do {
    const kube::Answer answer = client.Await(kube::Get(resource, "", definition.name));
    if (answer.ok() && Contains(answer.body, "\"type\":\"Established\",\"status\":\"True\""))
      return {};
    // The order of a condition's fields is the server's.
    if (answer.ok() && Contains(answer.body, "Established") &&
        Contains(answer.body, "InitialNamesAccepted"))
      return {};
    client.clock().SleepFor(std::chrono::milliseconds(200));
  } while (client.clock().Monotonic() < until);
  return Fail(Code::kTimeout, definition.name + " was accepted and is not served after 30 s");
}

}  // namespace

Result<InstallTable> ParseInstallTable(std::string_view yaml, std::string_view file) {
  TRY(const YamlNode root, ParseYaml(yaml, file));
  YamlFindings findings;
  YamlReader top(root, file, findings);
  InstallTable table;
  for (const YamlNode& item : top.Items("roles"))
    table.roles.push_back(ReadRole(item, file, findings));
  for (const YamlNode& item : top.Items("priorities")) {
    YamlReader r(item, file, findings);
    render::Priority p;
    p.name = r.Text("name");
    p.what = r.Text("what");
    p.value = static_cast<int>(std::clamp<int64_t>(r.Int("value"), -1'000'000, 1'000'000'000));
    p.preempts = r.BoolOr("preempts", true);
    r.Text("source");
    r.Done();
    table.priorities.push_back(std::move(p));
  }
  for (const YamlNode& item : top.Items("foreign")) {
    YamlReader r(item, file, findings);
    render::ForeignKinds kinds;
    kinds.project = r.Text("project");
    kinds.group = r.Text("group");
    kinds.versions = r.TextsOr("versions");
    kinds.kinds = r.TextsOr("kinds");
    r.Text("source");
    if (kinds.versions.empty() || kinds.kinds.empty()) r.Say("expected versions and kinds");
    r.Done();
    table.foreign.push_back(std::move(kinds));
  }
  top.Done();
  TRY_VOID(ToStatus(findings));
  return table;
}

Result<InstallTable> LoadInstallTable() {
  const auto text = FindEmbedded("permissions.yaml");
  if (!text) return Fail(Code::kInternal, "permissions.yaml is not in this binary");
  return ParseInstallTable(*text, "permissions.yaml");
}

Result<render::InstallRequest> MakeInstall(const InstallWords& words) {
  TRY(InstallTable table, LoadInstallTable());
  render::InstallRequest request;
  request.ns = words.ns;
  request.image = words.image.empty() ? std::string(render::kImagePlaceholder) : words.image;
  request.replicas = words.replicas;
  request.metrics_port = words.metrics_port;
  request.service_monitor = words.service_monitor;
  request.roles = std::move(table.roles);
  request.priorities = std::move(table.priorities);
  for (const std::string& project : words.foreign) {
    bool found = false;
    std::string known;
    for (const render::ForeignKinds& kinds : table.foreign) {
      if (!Contains(known, kinds.project)) known += " " + kinds.project;
      if (project != "all" && project != kinds.project) continue;
      found = true;
      request.foreign.push_back(kinds);
    }
    if (!found) {
      return Fail(Code::kInvalid, fmt::format("--foreign {}: expected all, or one of{}",
                                              Shorten(Printable(project), 40), known));
    }
  }
  return request;
}

Result<std::vector<std::string>> WriteInstall(Files& files, const render::RenderedJob& objects,
                                              const std::string& folder) {
  const std::string list_path = folder + "/kustomization.yaml";
  const auto there = files.List(folder);
  if (there.ok() && !there->empty() && !files.Stat(list_path).ok()) {
    return Fail(Code::kConflict, folder +
                                     " holds files that are not an install of Muster: name an "
                                     "empty folder");
  }
  TRY_VOID(files.MakeFolders(folder));
  if (there.ok()) {  // what an earlier call wrote, and this one may not write again
    for (const FileInfo& old : *there) {
      if (EndsWith(old.name, ".yaml")) TRY_VOID(files.Remove(folder + "/" + old.name));
    }
  }
  std::vector<std::string> paths;
  std::string list =
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
  for (size_t i = 0; i < objects.objects.size(); ++i) {
    const RenderedObject& object = objects.objects[i];
    const std::string name = fmt::format("{:02}-{}-{}.yaml", i, ToLower(object.kind), object.name);
    TRY_VOID(files.WriteAtomic(folder + "/" + name, object.yaml));
    list += "  - " + name + "\n";
    paths.push_back(folder + "/" + name);
  }
  TRY_VOID(files.WriteAtomic(list_path, list));
  paths.push_back(list_path);
  return paths;
}

Result<InstallOutcome> ApplyInstall(const World& world, const submit::ClusterWords& where,
                                    const render::InstallRequest& request, bool preview_only,
                                    const std::function<void(const submit::Change&)>& show) {
  if (request.image == render::kImagePlaceholder)
    return Fail(Code::kInvalid,
                "--apply needs --image NAME@sha256:...: the placeholder runs nowhere");
  TRY(const render::RenderedJob all, render::RenderInstall(request));
  TRY(const kube::ClusterConfig config,
      kube::FindCluster(world.files, kube::ClusterEnvironment(), where.kubeconfig, where.context));
  kube::Connection connection(world, config);
  kube::Client& client = connection.client();
  InstallOutcome outcome;
  bool fresh_namespace = false;
  for (const RenderedObject& object : all.objects) {
    const std::string title = object.kind + " " + object.name;
    if (IsDefinition(object)) {
      TRY(const Whose whose, LookAt(client, object));
      if (whose == Whose::kOthers) {
        outcome.kept.push_back(title);
        continue;
      }
    }
    if (object.kind == "ServiceMonitor") {
      RenderedObject definition;
      definition.api_version = "apiextensions.k8s.io/v1";
      definition.kind = "CustomResourceDefinition";
      definition.name = "servicemonitors.monitoring.coreos.com";
      TRY(const Whose whose, LookAt(client, definition));
      if (whose == Whose::kNobody) {
        outcome.kept.push_back(title + " (its definition is not in the cluster)");
        continue;
      }
    }
    // A dry run inside a namespace that is still to be made can only fail.
    if (preview_only && fresh_namespace && !object.ns.empty()) {
      submit::Change change{title, false, "+ " + title + "\n"};
      if (show) show(change);
      outcome.changes.push_back(std::move(change));
      continue;
    }
    const render::RenderedJob one{{object}};
    TRY(std::vector<submit::Change> changes, submit::Preview(client, one).Context(title));
    for (submit::Change& change : changes) {
      if (object.kind == "Namespace") fresh_namespace = !change.exists;
      if (show) show(change);
      outcome.changes.push_back(std::move(change));
    }
    if (preview_only) continue;
    TRY_VOID(submit::ApplyAll(client, one).Context(title));
    if (IsDefinition(object)) TRY_VOID(AwaitServed(client, object));
    outcome.applied.push_back(title);
  }
  return outcome;
}

Result<std::string> WriteKubectlPlugin(Files& files, const std::string& self,
                                       const std::string& folder) {
  if (self.empty() || self.find_first_of("'\n") != std::string::npos)
    return Fail(Code::kInvalid, "the path of this program cannot stand in a script");
  const std::string path = folder + "/kubectl-muster";
  if (const auto old = files.Read(path, 4096); old.ok() && !Contains(*old, "muster"))
    return Fail(Code::kConflict, path + " is there and is not ours");
  TRY_VOID(files.MakeFolders(folder));
  TRY_VOID(files.WriteAtomic(
      path,
      fmt::format("#!/bin/sh\n# kubectl muster WORDS is muster WORDS.\nexec '{}' \"$@\"\n", self)));
  return path;
}

}  // namespace muster::install
