#include "kube/resource.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/request.h"

namespace muster::kube {
namespace {

TEST(Resource, PathsAreThoseOfTheApi) {
  EXPECT_EQ(kPods.Path(), "/api/v1/pods");
  EXPECT_EQ(kPods.Path("train"), "/api/v1/namespaces/train/pods");
  EXPECT_EQ(kPods.Path("train", "w-0", "binding"), "/api/v1/namespaces/train/pods/w-0/binding");
  EXPECT_EQ(kNodes.Path("ignored", "n1"), "/api/v1/nodes/n1");
  EXPECT_EQ(kLeases.Path("kube-system", "m"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/m");
  EXPECT_EQ(kLeases.Title(), "leases.coordination.k8s.io");
  EXPECT_EQ(kPods.ApiVersion(), "v1");
}

TEST(Resource, AHostileNameStaysInItsPlace) {
  EXPECT_EQ(kPods.Path("a/../../nodes", "x?watch=true"),
            "/api/v1/namespaces/a%2F..%2F..%2Fnodes/pods/x%3Fwatch%3Dtrue");
  EXPECT_EQ(PercentEncode(".."), "%2E%2E");
  EXPECT_EQ(PercentEncode("v1.2"), "v1.2");
}

RC_GTEST_PROP(ResourceProperty, NoBytesOfANameSplitThePath, (const std::string& name)) {
  const std::string path = kPods.Path("ns", "x" + name);
  RC_ASSERT(std::count(path.begin(), path.end(), '/') == 6);
  RC_ASSERT(path.find_first_of("?#\r\n \x7f") == std::string::npos);
}

TEST(Request, EachVerbHasItsMethodAndQuery) {
  EXPECT_EQ(
      List(kPods, "", {"app=web", "spec.nodeName="}, 500, "tok").PathAndQuery(),
      "/api/v1/pods?labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3D&limit=500&continue=tok");
  const Request apply = Apply(kNodes, "", "n1", "{}", true);
  EXPECT_EQ(apply.Method(), "PATCH");
  EXPECT_EQ(apply.content_type, "application/apply-patch+yaml");
  EXPECT_EQ(apply.PathAndQuery(), "/api/v1/nodes/n1?fieldManager=muster&force=true");
  EXPECT_EQ(Delete(kPods, "a", "b").Method(), "DELETE");
  EXPECT_EQ(Update(kPods, "a", "b", "{}", "status").PathAndQuery(),
            "/api/v1/namespaces/a/pods/b/status?fieldManager=muster");
}

TEST(Request, ABindingNamesThePodByUid) {
  EXPECT_EQ(Bind("train", "w-0", "u-1", "node\"3").body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"w-0","uid":"u-1"},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"node\"3"}})");
}

TEST(Request, ADeleteCarriesItsPreconditions) {
  const std::string body = Delete(kPods, "a", "b", {"u", "7"}, 0, "Background").body;
  EXPECT_NE(body.find(R"("preconditions":{"resourceVersion":"7","uid":"u"})"), std::string::npos);
  EXPECT_NE(body.find(R"("gracePeriodSeconds":0)"), std::string::npos);
}

TEST(Request, BytesThatAreNoUtf8StillMakeJson) {
  EXPECT_EQ(JsonString("a\xff\"\n"), "\"a\xEF\xBF\xBD\\\"\\n\"");
}

}  // namespace
}  // namespace muster::kube
