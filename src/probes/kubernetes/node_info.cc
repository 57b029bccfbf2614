// What the kubelets wrote of their nodes into the Node objects: the software, and what is short.
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "probes/kubernetes/answer.h"
#include "probes/kubernetes/parse.h"

namespace muster {

namespace {

using namespace kubernetes_answer;

// A condition of each of these kinds is True where the node is short of something: new pods are
// kept away, and running ones evicted. (kubernetes.io: node conditions.)
constexpr const char* kPressures[] = {"MemoryPressure", "DiskPressure", "PIDPressure",
                                      "NetworkUnavailable"};

using Fields = std::initializer_list<std::pair<std::string_view, const char*>>;

void AddFields(const Subject& subject, const Json& node, Fields fields,
               ObservationBuilder& builder) {
  const Json& info = In(In(node, "status"), "nodeInfo");
  for (const auto& [fact, field] : fields) {
    const std::string value = TextIn(info, field);
    if (value.empty()) {
      builder.AddUnobserved(subject, fact, UnknownReason::kNotObserved,
                            fmt::format("the Node object has no nodeInfo.{}", field));
    } else {
      builder.Add(subject, fact, value, Unit::kNone, fmt::format("{}: {}", field, value));
    }
  }
}

void AddPressure(const Subject& subject, const Json& node, ObservationBuilder& builder) {
  const Json& status = In(node, "status");
  // One that is not said, or is Unknown because the kubelet is silent, is not False.
  std::string pressed, unsaid;
  for (const char* kind : kPressures) {
    const std::string value = ConditionOf(status, kind, "status");
    const bool network = std::string_view(kind) == "NetworkUnavailable";
    if (value == "True") pressed += fmt::format("{}{}", pressed.empty() ? "" : " ", kind);
    // Only some networks write that one.
    if (value != "True" && value != "False" && !(network && value.empty()))
      unsaid += fmt::format("{}{}", unsaid.empty() ? "" : " ", kind);
  }
  if (pressed.empty() && !unsaid.empty()) {
    builder.AddUnobserved(subject, "kube.pressure", UnknownReason::kNotObserved,
                          "not said by the Node's conditions: " + unsaid);
  } else {
    builder.Add(subject, "kube.pressure", pressed.empty() ? "none" : pressed, Unit::kNone,
                pressed.empty() ? "no condition of pressure is True" : pressed);
  }
}

}  // namespace

Observations ParseNodeInfo(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Json* items = Items(answer, builder, SiteSubject(reading.host),
                            {"kube.kubelet_version", "kube.container_runtime", "kube.pressure"});
  if (items == nullptr) return builder.Take();
  for (const Json& node : *items) {
    const std::string name = TextIn(In(node, "metadata"), "name");
    if (name.empty()) continue;
    AddFields(NodeSubject(name), node,
              {{"kube.kubelet_version", "kubeletVersion"},
               {"kube.container_runtime", "containerRuntimeVersion"}},
              builder);
    AddPressure(NodeSubject(name), node, builder);
  }
  return builder.Take();
}

Observations ParseNodeSoftware(const Reading& reading) {
  ObservationBuilder builder(reading);
  const Answer answer = Read(reading);
  const Json* items = Items(answer, builder, SiteSubject(reading.host), {"node.kernel", "node.os"});
  if (items == nullptr) return builder.Take();
  for (const Json& node : *items) {
    const std::string name = TextIn(In(node, "metadata"), "name");
    if (name.empty()) continue;
    AddFields(NodeSubject(name), node, {{"node.kernel", "kernelVersion"}, {"node.os", "osImage"}},
              builder);
  }
  return builder.Take();
}

}  // namespace muster
