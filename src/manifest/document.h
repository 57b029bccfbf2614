// Manifests as text becomes objects: every document of a file, told apart by group AND kind (four
// kinds are called PodGroup), with the place of every field. Nothing is understood here yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "yaml/yaml.h"

namespace muster {

enum class ManifestKind {
  kOther,  // a Kubernetes object of a kind that means nothing to us
  kPod,
  kService,
  kConfigMap,
  kJob,  // batch/v1
  kDeployment,
  kStatefulSet,
  kVolcanoJob,
  kVolcanoPodGroup,
  kVolcanoQueue,
  kResourceFlavor,
  kClusterQueue,
  kCohort,
  kLocalQueue,
  kWorkloadPriorityClass,
  kPriorityClass,
  kKueueTopology,
  kKueueWorkload,
  kNativeWorkload,  // scheduling.k8s.io
  kNativePodGroup,
  kCoschedulingPodGroup,  // scheduler-plugins
  kKaiPodGroup,
  kKaiQueue,
  kMpiJob,
  kPytorchJob,
  kTrainJob,
  kRayCluster,
  kRayJob,
  kJobSet,
  kNetworkAttachment,
  kKubeletConfiguration,
  kAutoscaler,  // HorizontalPodAutoscaler, KEDA ScaledObject and ScaledJob
};
std::string_view ToString(ManifestKind kind);

struct Document {
  std::string file;
  YamlNode root;
  std::string group, version, kind_name;  // "batch.volcano.sh", "v1alpha1", "Job"; core: group ""
  ManifestKind kind = ManifestKind::kOther;
  std::string name;
  std::string ns;  // metadata.namespace; empty = not said

  const YamlNode& spec() const;
  std::string Title() const;  // "Job pytorch-ddp"
};

struct ManifestFile {
  std::string path;
  std::string text;
  std::vector<Document> documents;
};

// Every document of a YAML or JSON text; the items of a List stand for themselves. kInvalid:
// "file:line:column: what, expected what", for text that is no YAML, and for a document that is no
// Kubernetes object (apiVersion and kind).
Result<ManifestFile> ParseManifestFile(std::string text, std::string path);

ManifestKind KindOf(std::string_view group, std::string_view kind);

// ---- looking into trees; a path that is not there gives a null node ----

const YamlNode& NullNode();
// "spec.template.spec": keys between dots.
const YamlNode& At(const YamlNode& node, std::string_view path);
// One key as it is, dots included: labels and annotations.
const YamlNode& Key(const YamlNode& node, std::string_view key);
// The text of a scalar; empty for anything else.
const std::string& TextOf(const YamlNode& node);
// A whole number, quoted or not; `otherwise` for anything else.
int64_t IntOf(const YamlNode& node, int64_t otherwise);
bool IsTrue(const YamlNode& node);
const YamlNode& Label(const YamlNode& object, std::string_view key);       // metadata.labels
const YamlNode& Annotation(const YamlNode& object, std::string_view key);  // metadata.annotations

}  // namespace muster
