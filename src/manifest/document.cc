#include "manifest/document.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

struct KindRow {
  std::string_view group, name;
  ManifestKind kind;
};
constexpr std::array kKinds = {
    KindRow{"", "Pod", ManifestKind::kPod},
    KindRow{"", "Service", ManifestKind::kService},
    KindRow{"", "ConfigMap", ManifestKind::kConfigMap},
    KindRow{"batch", "Job", ManifestKind::kJob},
    KindRow{"apps", "Deployment", ManifestKind::kDeployment},
    KindRow{"apps", "StatefulSet", ManifestKind::kStatefulSet},
    KindRow{"batch.volcano.sh", "Job", ManifestKind::kVolcanoJob},
    KindRow{"scheduling.volcano.sh", "PodGroup", ManifestKind::kVolcanoPodGroup},
    KindRow{"scheduling.volcano.sh", "Queue", ManifestKind::kVolcanoQueue},
    KindRow{"kueue.x-k8s.io", "ResourceFlavor", ManifestKind::kResourceFlavor},
    KindRow{"kueue.x-k8s.io", "ClusterQueue", ManifestKind::kClusterQueue},
    KindRow{"kueue.x-k8s.io", "Cohort", ManifestKind::kCohort},
    KindRow{"kueue.x-k8s.io", "LocalQueue", ManifestKind::kLocalQueue},
    KindRow{"kueue.x-k8s.io", "WorkloadPriorityClass", ManifestKind::kWorkloadPriorityClass},
    KindRow{"scheduling.k8s.io", "PriorityClass", ManifestKind::kPriorityClass},
    KindRow{"kueue.x-k8s.io", "Topology", ManifestKind::kKueueTopology},
    KindRow{"kueue.x-k8s.io", "Workload", ManifestKind::kKueueWorkload},
    KindRow{"scheduling.k8s.io", "Workload", ManifestKind::kNativeWorkload},
    KindRow{"scheduling.k8s.io", "PodGroup", ManifestKind::kNativePodGroup},
    KindRow{"scheduling.x-k8s.io", "PodGroup", ManifestKind::kCoschedulingPodGroup},
    KindRow{"scheduling.sigs.k8s.io", "PodGroup", ManifestKind::kCoschedulingPodGroup},
    KindRow{"scheduling.run.ai", "PodGroup", ManifestKind::kKaiPodGroup},
    KindRow{"scheduling.run.ai", "Queue", ManifestKind::kKaiQueue},
    KindRow{"kubeflow.org", "MPIJob", ManifestKind::kMpiJob},
    KindRow{"kubeflow.org", "PyTorchJob", ManifestKind::kPytorchJob},
    KindRow{"trainer.kubeflow.org", "TrainJob", ManifestKind::kTrainJob},
    KindRow{"ray.io", "RayCluster", ManifestKind::kRayCluster},
    KindRow{"ray.io", "RayJob", ManifestKind::kRayJob},
    KindRow{"jobset.x-k8s.io", "JobSet", ManifestKind::kJobSet},
    KindRow{"k8s.cni.cncf.io", "NetworkAttachmentDefinition", ManifestKind::kNetworkAttachment},
    KindRow{"kubelet.config.k8s.io", "KubeletConfiguration", ManifestKind::kKubeletConfiguration},
    KindRow{"autoscaling", "HorizontalPodAutoscaler", ManifestKind::kAutoscaler},
    KindRow{"keda.sh", "ScaledObject", ManifestKind::kAutoscaler},
    KindRow{"keda.sh", "ScaledJob", ManifestKind::kAutoscaler},
};

Status AddDocument(YamlNode root, ManifestFile& into) {
  const auto bad = [&](const YamlNode& node, std::string what) {
    return Fail(Code::kInvalid,
                fmt::format("{}:{}:{}: {}", into.path, node.at.line, node.at.column, what));
  };
  if (root.kind != YamlNode::Kind::kMapping)
    return bad(root, "expected a Kubernetes object (a mapping with apiVersion and kind)");
  Document doc;
  doc.file = into.path;
  doc.kind_name = TextOf(Key(root, "kind"));
  const std::string& api_version = TextOf(Key(root, "apiVersion"));
  if (doc.kind_name.empty() || api_version.empty()) {
    return bad(root, fmt::format("an object without {}, expected apiVersion and kind",
                                 api_version.empty() ? "apiVersion" : "kind"));
  }
  if (EndsWith(doc.kind_name, "List") && Key(root, "items").kind == YamlNode::Kind::kSequence) {
    for (YamlEntry& entry : root.entries) {
      if (entry.key != "items") continue;
      for (YamlNode& item : entry.value.items) TRY_VOID(AddDocument(std::move(item), into));
    }
    return {};
  }
  const size_t slash = api_version.find('/');
  doc.group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  doc.version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  doc.kind = KindOf(doc.group, doc.kind_name);
  doc.name = TextOf(At(root, "metadata.name"));
  if (doc.name.empty()) doc.name = TextOf(At(root, "metadata.generateName"));
  doc.ns = TextOf(At(root, "metadata.namespace"));
  doc.root = std::move(root);
  into.documents.push_back(std::move(doc));
  return {};
}

}  // namespace

std::string_view ToString(ManifestKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "object";
}

ManifestKind KindOf(std::string_view group, std::string_view kind) {
  for (const KindRow& row : kKinds) {
    if (row.group == group && row.name == kind) return row.kind;
  }
  return ManifestKind::kOther;
}

const YamlNode& Document::spec() const { return Key(root, "spec"); }
std::string Document::Title() const {
  return name.empty() ? kind_name : fmt::format("{} {}", kind_name, name);
}

Result<ManifestFile> ParseManifestFile(std::string text, std::string path) {
  ManifestFile file{std::move(path), std::move(text), {}};
  TRY(std::vector<YamlNode> roots, ParseYamlDocuments(file.text, file.path));
  for (YamlNode& root : roots) TRY_VOID(AddDocument(std::move(root), file));
  return file;
}

const YamlNode& NullNode() {
  static const YamlNode kNull;
  return kNull;
}

const YamlNode& Key(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.Find(key);
  return found == nullptr ? NullNode() : *found;
}

const YamlNode& At(const YamlNode& node, std::string_view path) {
  const YamlNode* at = &node;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    at = &Key(*at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

const std::string& TextOf(const YamlNode& node) {
  static const std::string kEmpty;
  return node.kind == YamlNode::Kind::kScalar ? node.text : kEmpty;
}

int64_t IntOf(const YamlNode& node, int64_t otherwise) {
  if (node.kind != YamlNode::Kind::kScalar) return otherwise;
  const auto value = ParseInt(node.text);
  return value.ok() ? *value : otherwise;
}

bool IsTrue(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && !node.quoted && node.text == "true";
}

const YamlNode& Label(const YamlNode& object, std::string_view key) {
  return Key(At(object, "metadata.labels"), key);
}
const YamlNode& Annotation(const YamlNode& object, std::string_view key) {
  return Key(At(object, "metadata.annotations"), key);
}

}  // namespace muster
