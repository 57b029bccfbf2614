#include "kube/event.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "kube/core.h"

namespace muster::kube {
namespace {

TEST(CreateEvent, SaysItOfItsObject) {
  const Request request =
      CreateEvent({kJobs, "ml", "train", "u-1", "GangWaiting", "no room", true}, "0f", {});
  EXPECT_EQ(request.PathAndQuery(), "/api/v1/namespaces/ml/events?fieldManager=muster");
  const auto event = DecodeEvent(request.body);
  ASSERT_TRUE(event.ok()) << event.error().ToString();
  EXPECT_EQ(event->meta.name, "train.0f");
  EXPECT_EQ(event->about_kind + " " + event->about_ns + "/" + event->about_name, "Job ml/train");
  EXPECT_EQ(event->about_uid, "u-1");
  EXPECT_EQ(event->type + " " + event->reason + " " + event->message,
            "Warning GangWaiting no room");
  EXPECT_EQ(event->count, 1);
}

TEST(CreateEvent, OfWhatIsInNoNamespaceIsInDefault) {
  const Request request = CreateEvent({kNodes, "", "n1", "u", "R", "m", false}, "0f", {});
  EXPECT_EQ(request.ns, "default");
  EXPECT_EQ(ValueAt(request.body, "/involvedObject/namespace"), "");
  EXPECT_EQ(ValueAt(request.body, "/type"), "Normal");
}

TEST(CreateEvent, ALongNameIsCutWhereANameMayEnd) {
  const std::string name = std::string(198, 'a') + "-." + std::string(40, 'b');
  const auto event = DecodeEvent(
      CreateEvent({kPods, "ml", name, "u", "R", std::string(4000, 'm'), true}, "0f", {}).body);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->meta.name, std::string(198, 'a') + ".0f");
  EXPECT_EQ(event->about_name, name);
  EXPECT_EQ(event->message.size(), 1000u);
}

}  // namespace
}  // namespace muster::kube
