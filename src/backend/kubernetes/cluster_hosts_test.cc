#include "backend/kubernetes/cluster_hosts.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_place.h"
#include "kube/testing/forbids.h"

namespace muster::kubernetes {
namespace {

// Whoever else reaches hosts: remembers what was asked.
class OtherHosts final : public Hosts {
 public:
  explicit OtherHosts(World world) : world_(world) {}
  std::vector<std::string> Names() const override { return {}; }
  Result<HostPorts> At(std::string_view host) override {
    asked.emplace_back(host);
    return HostPorts{std::string(host), world_, Origin::kLive};
  }
  Origin origin() const override { return Origin::kLive; }
  int Parallel() const override { return 16; }
  std::vector<std::string> asked;

 private:
  World world_;
};

class NoHttp final : public Http {
 public:
  Result<HttpResponse> Do(const HttpRequest&) override { return Fail(Code::kUnavailable, "none"); }
  Result<HttpResponse> Stream(const HttpRequest&, const OnBytes&, Duration&) override {
    return Fail(Code::kUnavailable, "none");
  }
};

struct Place : kube::testing::FakePlace {
  explicit Place(bool way = false) {
    Site site;
    site.name = "prod";
    site.cluster.nodes.resize(1);
    site.cluster.nodes[0].name = "n1";
    auto inner = std::make_unique<OtherHosts>(world);
    others = inner.get();
    hosts = std::make_unique<ClusterHosts>(site, world, client, std::move(inner), way);
  }
  Result<CommandResult> Ask(const std::string& host, std::vector<std::string> words) {
    const auto ports = hosts->At(host);
    if (!ports.ok()) return Fail(ports.error());
    Command command;
    command.argv = std::move(words);
    return ports->world.processes.Run(command);
  }
  NoHttp http;
  World world{clock, files, processes, http, random};
  OtherHosts* others = nullptr;
  std::unique_ptr<ClusterHosts> hosts;
};

TEST(ClusterHosts, TheApiAnswersUnderTheSitesNameAndUnderANodes) {
  Place place;
  place.api.Put(kube::kNodes, "", "n1");
  for (const char* host : {"prod", "n1"}) {
    const auto result = place.Ask(host, {"kubectl", "get", "--raw", "/api/v1/nodes"});
    ASSERT_TRUE(result.ok()) << result.error().ToString();
    EXPECT_EQ(result->exit_code, 0);
    EXPECT_NE(result->out.find("\"n1\""), std::string::npos);
  }
}

TEST(ClusterHosts, ARefusalIsAFailedCommandThatSaysSo) {
  Place place;
  place.api.fault = kube::testing::Forbids("/nodes");
  const auto result = place.Ask("prod", {"kubectl", "get", "--raw", "/api/v1/nodes"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_code, 1);
  EXPECT_NE(result->err.find("Forbidden"), std::string::npos);
}

TEST(ClusterHosts, ANodesOwnToolsAreUnreachableWhereNobodyKnowsAWay) {
  Place place;
  const auto result = place.Ask("n1", {"nvidia-smi", "-q", "-x"});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_FALSE(place.hosts->At("n1")->world.files.Read("/proc/version").ok());
  EXPECT_TRUE(place.others->asked.empty());
}

TEST(ClusterHosts, WhereThereIsAWayTheNodeIsAskedItself) {
  Place place(true);
  (void)place.Ask("n1", {"nvidia-smi"});
  ASSERT_EQ(place.others->asked.size(), 1u);
  EXPECT_EQ(place.others->asked[0], "n1");
}

TEST(ClusterHosts, MonitorAndFacilityAreThisMachines) {
  Place place;
  EXPECT_TRUE(place.hosts->At("monitor").ok());
  EXPECT_EQ(place.others->asked.size(), 1u);
}

}  // namespace
}  // namespace muster::kubernetes
