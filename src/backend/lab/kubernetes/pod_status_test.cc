#include "backend/lab/kubernetes/pod_status.h"

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

using std::chrono::seconds;

kube::Pod PodOf(const std::string& conditions = "[]") {
  return *kube::DecodePod(
      R"x({"metadata":{"name":"p","namespace":"t","uid":"u","annotations":{"a/b":"noted"}},)x"
      R"x("spec":{"nodeName":"n0","containers":[{"name":"c","image":"i","env":[)x"
      R"x({"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},)x"
      R"x({"name":"NOTE","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['a/b']"}}},)x"
      R"x({"name":"MASTER","value":"rank0.$(NODE)"},)x"
      R"x({"name":"URL","value":"tcp://$(MASTER):29500"},)x"
      R"x({"name":"EARLY","value":"$(LATE)"},{"name":"LATE","value":"x"},)x"
      R"x({"name":"PRICE","value":"$$(NODE)"}]}]},"status":{"conditions":)x" +
      conditions + "}}");
}
std::string ConditionTime(const std::string& patch, const std::string& type) {
  for (int i = 0; i < 8; ++i) {
    const std::string at = "/status/conditions/" + std::to_string(i);
    if (kube::ValueAt(patch, at + "/type") == type)
      return kube::ValueAt(patch, at + "/lastTransitionTime").value_or("");
  }
  return "no such condition";
}
PodStatus RunningAt(int second) {
  PodStatus status;
  status.phase = "Running";
  status.started = status.now = TimePoint{seconds(second)};
  return status;
}

TEST(PodStatusPatch, AConditionsTimeGoesOnWithItsStatusAlone) {
  const kube::Pod pod = PodOf(
      R"([{"type":"Ready","status":"True","lastTransitionTime":"1970-01-01T00:00:05Z"},)"
      R"({"type":"ContainersReady","status":"False","lastTransitionTime":"1970-01-01T00:00:05Z"}])");
  const std::string patch = PodStatusPatch(pod, RunningAt(60));
  EXPECT_EQ(ConditionTime(patch, "Ready"), "1970-01-01T00:00:05Z") << "as before";
  EXPECT_EQ(ConditionTime(patch, "ContainersReady"), "1970-01-01T00:01:00Z") << "it was not ready";
  EXPECT_EQ(ConditionTime(patch, "Initialized"), "1970-01-01T00:01:00Z") << "it was not said";
}

TEST(PodStatusPatch, ARejectedPodNeverHadContainers) {
  PodStatus status = RunningAt(60);
  status.phase = "Failed", status.reason = "UnexpectedAdmissionError", status.message = "no room";
  const std::string patch = PodStatusPatch(PodOf(), status);
  EXPECT_EQ(kube::ValueAt(patch, "/status/reason"), "UnexpectedAdmissionError");
  EXPECT_FALSE(kube::ValueAt(patch, "/status/containerStatuses").has_value());
  EXPECT_EQ(kube::ValueAt(patch, "/status/conditions"), "[]");
  EXPECT_EQ(kube::ValueAt(patch, "/metadata/uid"), "u");
}

TEST(EnvironmentOf, AValueMayNameWhatStandsBeforeIt) {
  const kube::Pod pod = PodOf();
  const auto environment = EnvironmentOf(pod, pod.containers[0], "127.77.0.1");
  EXPECT_EQ(environment.at("NOTE"), "noted");
  EXPECT_EQ(environment.at("URL"), "tcp://rank0.n0:29500");
  EXPECT_EQ(environment.at("EARLY"), "$(LATE)") << "it stands after";
  EXPECT_EQ(environment.at("PRICE"), "$(NODE)");
}

}  // namespace
}  // namespace muster::lab
