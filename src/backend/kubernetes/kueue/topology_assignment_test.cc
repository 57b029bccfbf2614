#include "backend/kubernetes/kueue/topology_assignment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::kueue {
namespace {

TEST(TopologyAssignments, FormsOfKueuesReferenceReadTheSame) {
  const TopologyAssignment wanted{{"block", "rack"},
                                  {{{"block-1", "rack-1"}, 4}, {{"block-1", "rack-2"}, 2}}};
  for (
      const char* json :
      {R"({"levels":["block","rack"],"slices":[{"domainCount":2,"valuesPerLevel":[)"
       R"({"roots":["block-1","block-1"]},{"roots":["rack-1","rack-2"]}],"podCounts":[4,2]}]})",
       R"({"levels":["block","rack"],"slices":[{"domainCount":2,"valuesPerLevel":[)"
       R"({"universalValue":"block-1"},{"prefix":"rack-","roots":["1","2"]}],"podCounts":[4,2]}]})",
       R"({"levels":["block","rack"],"slices":[{"domainCount":1,"valuesPerLevel":[)"
       R"({"universalValue":"block-1"},{"roots":["rack-1"]}],"universalPodCount":4},)"
       R"({"domainCount":1,"valuesPerLevel":[{"universalValue":"block-1"},)"
       R"({"roots":["ck"],"prefix":"ra","suffix":"-2"}],"universalPodCount":2}]})",
       R"({"levels":["block","rack"],"domains":[{"values":["block-1","rack-1"],"count":4},)"
       R"({"values":["block-1","rack-2"],"count":2}]})"}) {
    const auto read = DecodeTopologyAssignment(json);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, wanted) << json;
  }
}

TEST(TopologyAssignments, WhatIsNoneIsRefused) {
  for (const char* json :
       {"", "[]", "{}", R"({"levels":["a"]})", R"({"levels":["a"],"slices":[7]})",
        R"({"levels":["a"],"slices":[{"domainCount":1000000000,"valuesPerLevel":[{}]}]})",
        R"({"levels":["a"],"slices":[{"domainCount":2,"valuesPerLevel":[{"roots":["x"]}],)"
        R"("universalPodCount":1}]})",
        R"({"levels":["a"],"slices":[{"domainCount":1,"valuesPerLevel":[{"roots":["x"]}]}]})",
        R"({"levels":["a"],"domains":[{"values":["x","y"],"count":1}]})"})
    EXPECT_FALSE(DecodeTopologyAssignment(json).ok()) << json;
}

RC_GTEST_PROP(TopologyAssignments, AreReadBackAsTheyWereWritten,
              (const std::vector<std::pair<std::string, uint8_t>>& domains, bool newer)) {
  RC_PRE(!domains.empty());
  TopologyAssignment assignment{{"zone", "kubernetes.io/hostname"}, {}};
  for (const auto& [value, count] : domains) {
    std::string name;
    for (const char c : value) name += static_cast<char>('a' + (static_cast<uint8_t>(c) % 26));
    assignment.domains.push_back({{"z", name}, count + 1});
  }
  const auto back =
      DecodeTopologyAssignment(EncodeTopologyAssignment(assignment, newer ? "v1beta2" : "v1beta1"));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == assignment);
}

}  // namespace
}  // namespace muster::kueue
