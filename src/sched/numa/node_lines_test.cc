#include "sched/numa/node_lines.h"

#include <gtest/gtest.h>

namespace muster::numa {
namespace {

constexpr char kNode[] =
    R"({"t":0,"op":"node.add","name":"n1","at":["l0"],"capacity":{"cpu":"192","memory":"2Ti","nvidia.com/gpu":"2"},"numa":[{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[0]},{"cpu":"96","memory":"1Ti","nvidia.com/gpu":[1]}],"topology_manager":{"policy":"restricted","scope":"pod","cpu_manager":"static","reserved":{"cpu":"1500m"}}})";

TEST(ReadNodeLines, ReadsNodesAndPassesOverTheRest) {
  const auto nodes =
      ReadNodeLines(std::string("# nodes\n{\"t\":0,\"op\":\"topology\",\"levels\":[]}\n\n") +
                    kNode + "\r\n{\"t\":1,\"op\":\"end\"}");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 1u);
  const NodeFacts& node = (*nodes)[0];
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.capacity.at("cpu"), 192000);
  EXPECT_EQ(node.zones[1].amounts.at("memory"), int64_t{1} << 40);
  EXPECT_EQ(node.zones[1].devices.at("nvidia.com/gpu"), (std::vector<int>{1}));
  EXPECT_EQ(node.policy, "restricted");
  EXPECT_EQ(node.scope, "pod");
  EXPECT_EQ(node.reserved.at("cpu"), 1500);
}

TEST(ReadNodeLines, MistakesHaveLineAndColumn) {
  const auto message = [](std::string_view text) {
    const auto nodes = ReadNodeLines(text);
    return nodes.ok() ? std::string("read") : nodes.error().message;
  };
  EXPECT_EQ(message("\n{\"op\":\"node.add\",\"nam\":1}"), "line 2, column 18: unknown key \"nam\"");
  EXPECT_EQ(message("{\"op\":\"node.add\",\"name\":\"a\"}"),
            "line 1, column 2: a node needs its \"capacity\"");
  EXPECT_EQ(message("{\"op\":\"node.add\",\"name\":\"a\",\"capacity\":{\"cpu\":8}}"),
            "line 1, column 41: cpu: expected a quantity text");
  EXPECT_EQ(message("{\"op\":\"node.add\",\"name\":\"a\",\"name\":\"b\",\"capacity\":{}}"),
            "line 1, column 18: \"name\" twice");
  EXPECT_EQ(message("{\"op\":"), "line 1, column 7: not JSON");
  EXPECT_EQ(message("[1]"), "line 1, column 1: expected an object");
  EXPECT_EQ(message("{\"t\":0}"), "line 1, column 1: expected an event with \"op\"");
  EXPECT_EQ(message(std::string(40, '[')), "line 1, column 41: not JSON");
  EXPECT_EQ(message(std::string(kNode) + "\n" + kNode),
            "line 2, column 24: node n1 is added twice");
}

}  // namespace
}  // namespace muster::numa
