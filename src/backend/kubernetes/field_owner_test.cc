#include "backend/kubernetes/field_owner.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

// Shaped as kube-apiserver 1.37 gives it after `kubectl cordon`.
constexpr const char* kCordoned = R"({"kind":"Node","metadata":{"name":"n1","managedFields":[
  {"manager":"kubelet","operation":"Update","time":"2026-11-22T03:10:00Z","fieldsType":"FieldsV1",
   "fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:zone":{}}}},"subresource":"status"},
  {"manager":"kubectl-cordon","operation":"Update","time":"2026-11-22T03:00:00Z",
   "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:unschedulable":{}}}},
  {"manager":"older","operation":"Update","time":"2026-11-21T03:00:00Z",
   "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:unschedulable":{}}}}]}})";

TEST(FieldOwner, IsTheOneWhoWroteTheFieldLast) {
  EXPECT_EQ(OwnerOf(kCordoned, {"f:spec", "f:unschedulable"}),
            "kubectl-cordon at 2026-11-22T03:00:00Z");
  EXPECT_EQ(OwnerOf(kCordoned, {"f:metadata", "f:labels", "f:zone"}),
            "kubelet at 2026-11-22T03:10:00Z");
}

TEST(FieldOwner, OfWhatNobodyOwnsIsNobody) {
  EXPECT_EQ(OwnerOf(kCordoned, {"f:spec", "f:taints"}), "");
  for (const char* odd :
       {"", "{", "[]", "{}", R"({"metadata":7})", R"({"metadata":{"managedFields":[7,{}]}})",
        R"({"metadata":{"managedFields":[{"manager":7,"fieldsV1":{"f:spec":{"f:a":{}}}}]}})"})
    EXPECT_EQ(OwnerOf(odd, {"f:spec", "f:a"}), "") << odd;
}

}  // namespace
}  // namespace muster::kubernetes
