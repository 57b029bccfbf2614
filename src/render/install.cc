#include "render/install.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "render/yaml_text.h"

namespace muster::render {

namespace {

using Json = nlohmann::ordered_json;

void Put(const Json& json, RenderedJob& into) {
  RenderedObject object;
  object.api_version = json["apiVersion"].get<std::string>();
  object.kind = json["kind"].get<std::string>();
  object.name = json["metadata"]["name"].get<std::string>();
  if (json["metadata"].contains("namespace"))
    object.ns = json["metadata"]["namespace"].get<std::string>();
  object.json = json.dump();
  object.yaml = ToYamlText(json);
  into.objects.push_back(std::move(object));
}

Json Meta(const std::string& name, const std::string& ns = {}) {
  Json meta = {{"name", name}};
  if (!ns.empty()) meta["namespace"] = ns;
  meta["labels"] = {{"app.kubernetes.io/name", "muster"},
                    {"app.kubernetes.io/managed-by", "muster"}};
  return meta;
}

// The plural that the API conventions give a kind.
std::string Plural(const std::string& kind) {
  std::string plural = ToLower(kind);
  if (plural.back() == 'y') return plural.substr(0, plural.size() - 1) + "ies";
  return plural + (plural.back() == 's' ? "es" : "s");
}

bool WithoutNamespace(const std::string& group, const std::string& kind) {
  if (group == "scheduling.volcano.sh") return kind == "Queue";
  return group == "kueue.x-k8s.io" && kind != "LocalQueue" && kind != "Workload";
}

// A definition that keeps every field and checks none.
Json OpenDefinition(const ForeignKinds& foreign, const std::string& kind) {
  const std::string plural = Plural(kind);
  Json versions = Json::array();
  for (const std::string& name : foreign.versions) {
    versions.push_back({{"name", name},
                        {"served", true},
                        {"storage", name == foreign.versions.back()},
                        {"schema",
                         {{"openAPIV3Schema",
                           {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}},
                        {"subresources", {{"status", Json::object()}}}});
  }
  Json meta = Meta(plural + "." + foreign.group);
  meta["annotations"] = {
      {"muster.dev/definition",
       "open: fields are kept and not checked; replace it by the project's own"}};
  if (EndsWith(foreign.group, ".k8s.io")) {
    // The API server asks for it on groups of the community; this is no approved API of ours.
    meta["annotations"]["api-approved.kubernetes.io"] =
        "unapproved, a stand-in for the project's own";
  }
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", meta},
          {"spec",
           {{"group", foreign.group},
            {"scope", WithoutNamespace(foreign.group, kind) ? "Cluster" : "Namespaced"},
            {"names",
             {{"kind", kind},
              {"plural", plural},
              {"singular", ToLower(kind)},
              {"listKind", kind + "List"}}},
            {"versions", versions}}}};
}

Json Rules(const InstallRole& role, bool own_namespace) {
  Json rules = Json::array();
  for (const Permission& p : role.permissions) {
    if (p.in_own_namespace != own_namespace) continue;
    rules.push_back({{"apiGroups", {p.group}}, {"resources", p.resources}, {"verbs", p.verbs}});
  }
  return rules;
}

void PutRole(const InstallRequest& request, const InstallRole& role, RenderedJob& into) {
  const std::string name = "muster-" + role.id;
  const auto binding = [&](const char* kind, const char* role_kind, const Json& meta) {
    return Json{
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", kind},
        {"metadata", meta},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role_kind}, {"name", name}}},
        {"subjects",
         Json::array({{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", request.ns}}})}};
  };
  Json meta = Meta(name);
  meta["annotations"] = {{"muster.dev/for", role.what}};
  Put({{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "ClusterRole"},
       {"metadata", meta},
       {"rules", Rules(role, false)}},
      into);
  // Whoever submits or proves is a person or a team's own account, and not every scheduler makes
  // Volcano's pods: those roles are bound by an administrator.
  if (role.id == "submitter" || role.id == "prover" || role.id == "prober" ||
      role.id == "exporter-reader" || role.id == "volcano-jobs" || role.id == "kueue-admission")
    return;
  Put({{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", Meta(name, request.ns)}},
      into);
  if (role.id == "kubelet-reader") return;  // bound only where somebody decides so
  Put(binding("ClusterRoleBinding", "ClusterRole", Meta(name)), into);
  const Json own = Rules(role, true);
  if (own.empty()) return;
  Put({{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "Role"},
       {"metadata", Meta(name, request.ns)},
       {"rules", own}},
      into);
  Put(binding("RoleBinding", "Role", Meta(name, request.ns)), into);
}

// The kubelet asks the pod's own port; one that does not lead is ready too.
Json Probe(const char* path, int port, int period_s, int failures) {
  return {{"httpGet", {{"path", path}, {"port", port}}},
          {"periodSeconds", period_s},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

Json Deployment(const InstallRequest& request) {
  const int port = request.metrics_port > 0 ? request.metrics_port : kHealthPort;
  const Json labels = {{"app.kubernetes.io/name", "muster"},
                       {"app.kubernetes.io/component", "scheduler"}};
  Json container = {
      {"name", "scheduler"},
      {"image", request.image},
      {"args",
       {"sched", "serve", "--kubernetes", "--lease", request.ns + "/muster-scheduler", "--listen",
        fmt::format("0.0.0.0:{}", port)}},
      // Without a name: one that another manager leaves beside it would be a second of that name.
      {"ports", Json::array({{{"containerPort", port}}})},
      {"livenessProbe", Probe("/healthz", port, 10, 3)},
      {"readinessProbe", Probe("/readyz", port, 5, 2)},
      {"securityContext",
       {{"allowPrivilegeEscalation", false},
        {"readOnlyRootFilesystem", true},
        {"capabilities", {{"drop", {"ALL"}}}}}},
      {"resources",
       {{"requests", {{"cpu", "500m"}, {"memory", "256Mi"}}}, {"limits", {{"memory", "1Gi"}}}}}};
  const Json apart = {{"maxSkew", 1},
                      {"topologyKey", "kubernetes.io/hostname"},
                      {"whenUnsatisfiable", "ScheduleAnyway"},
                      {"labelSelector", {{"matchLabels", labels}}}};
  Json meta = Meta("muster-scheduler", request.ns);
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", meta},
          {"spec",
           {{"replicas", request.replicas},
            {"selector", {{"matchLabels", labels}}},
            {"template",
             {{"metadata", {{"labels", labels}}},
              {"spec",
               {{"serviceAccountName", "muster-scheduler"},
                {"priorityClassName", "system-cluster-critical"},
                {"securityContext",
                 {{"runAsNonRoot", true},
                  {"runAsUser", 65532},
                  {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
                {"topologySpreadConstraints", Json::array({apart})},
                {"containers", Json::array({container})}}}}}}}};
}

void PutMetrics(const InstallRequest& request, RenderedJob& into) {
  if (request.metrics_port <= 0) return;
  const Json labels = {{"app.kubernetes.io/name", "muster"},
                       {"app.kubernetes.io/component", "scheduler"}};
  Json meta = Meta("muster-scheduler", request.ns);
  Put({{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", meta},
       {"spec",
        {{"selector", labels},
         {"ports", Json::array({{{"name", "metrics"}, {"port", request.metrics_port}}})}}}},
      into);
  if (!request.service_monitor) return;
  Put({{"apiVersion", "monitoring.coreos.com/v1"},
       {"kind", "ServiceMonitor"},
       {"metadata", meta},
       {"spec",
        {{"selector", {{"matchLabels", {{"app.kubernetes.io/name", "muster"}}}}},
         {"endpoints", Json::array({{{"port", "metrics"}, {"interval", "15s"}}})}}}},
      into);
}

// NAME@sha256: and 64 hex digits, or the placeholder that says what belongs there.
bool IsPinned(const std::string& image) {
  if (image == kImagePlaceholder) return true;
  const size_t at = image.find("@sha256:");
  if (at == 0 || at == std::string::npos || image.size() != at + 8 + 64) return false;
  return image.find_first_not_of("0123456789abcdef", at + 8) == std::string::npos &&
         image.find_first_of(" \t\n\"'") == std::string::npos;
}

}  // namespace

Result<RenderedJob> RenderInstall(const InstallRequest& request) {
  if (!IsPinned(request.image)) {
    return Fail(Code::kInvalid,
                fmt::format("image \"{}\": expected NAME@sha256: and 64 hex digits; a "
                            "tag can become another image",
                            Shorten(Printable(request.image), 80)));
  }
  if (request.ns.empty() || request.ns.size() > 63 || request.ns.front() == '-' ||
      request.ns.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    return Fail(Code::kInvalid, "namespace: expected a-z, 0-9 and -");
  if (request.replicas < 1 || request.replicas > 16)
    return Fail(Code::kInvalid, "replicas: expected 1 to 16");
  if (request.metrics_port < 0 || request.metrics_port > 65535)
    return Fail(Code::kInvalid, "--metrics-port: expected 1 to 65535");
  RenderedJob out;
  Json ns = Meta(request.ns);
  ns["labels"]["pod-security.kubernetes.io/enforce"] = "restricted";
  Put({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", ns}}, out);
  for (const ForeignKinds& foreign : request.foreign) {
    for (const std::string& kind : foreign.kinds) Put(OpenDefinition(foreign, kind), out);
  }
  for (const Priority& p : request.priorities) {
    Put({{"apiVersion", "scheduling.k8s.io/v1"},
         {"kind", "PriorityClass"},
         {"metadata", Meta(p.name)},
         {"value", p.value},
         {"globalDefault", false},
         {"preemptionPolicy", p.preempts ? "PreemptLowerPriority" : "Never"},
         {"description", p.what}},
        out);
  }
  for (const InstallRole& role : request.roles) PutRole(request, role, out);
  Put(Deployment(request), out);
  const Json labels = {{"app.kubernetes.io/component", "scheduler"}};
  if (request.replicas > 1) {
    Put({{"apiVersion", "policy/v1"},
         {"kind", "PodDisruptionBudget"},
         {"metadata", Meta("muster-scheduler", request.ns)},
         {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", labels}}}}}},
        out);
  }
  PutMetrics(request, out);
  return out;
}

}  // namespace muster::render
