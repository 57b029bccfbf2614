// What a site file says about acting, and every way in which it may be said wrong.
#include "app/site_acting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/site_file.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string SiteText(const std::string& rest, const std::string& type = "host") {
  return "apiVersion: muster/v1\nkind: Site\nname: s\ntype: " + type +
         "\ncluster:\n  nodes:\n    - {name: gpu-01, gpus: 8}\n    - {name: gpu-02, gpus: 8}\n"
         "    - {name: login, gpu_family: none}\n" +
         rest;
}
Site Read(const std::string& rest) { return ParseSite(SiteText(rest), "s.yaml").value(); }
std::string Wrong(const std::string& rest, const std::string& type = "host") {
  const auto site = ParseSite(SiteText(rest, type), "s.yaml");
  return site.ok() ? "it was read" : site.error().message;
}

TEST(SiteActing, ABmcIsNamedForEachNodeThatFits) {
  const Site site = Read(
      "bmcs:\n  - {nodes: [gpu-*], address: \"https://bmc-{node}\", user: ops, "
      "password: \"file:/etc/bmc/{node}\"}\n"
      "  - {nodes: [login], protocol: ipmi, address: 10.0.0.9, user: ADMIN, "
      "password: env:PW, port: 9623, cipher_suite: 3}\n");
  ASSERT_EQ(site.bmcs.size(), 3u);
  EXPECT_EQ(site.bmcs.at("gpu-02").address, "https://bmc-gpu-02");
  EXPECT_EQ(site.bmcs.at("gpu-02").password, "file:/etc/bmc/gpu-02");
  EXPECT_EQ(site.bmcs.at("gpu-02").unverified_because, "");
  EXPECT_EQ(site.bmcs.at("login").protocol, BmcEndpoint::Protocol::kIpmi);
  EXPECT_EQ(site.bmcs.at("login").port, 9623);
  EXPECT_EQ(site.bmcs.at("login").cipher_suite, 3);
}

TEST(SiteActing, ProbePodsArePinnedAndTheOnlyWayToTheNodes) {
  const std::string pods =
      "kubernetes:\n  probe_pods: {image: \"r/t@sha256:aa\", namespace: probes, start_within: 5m, "
      "annotations: {a: b}}\n";
  const auto site = ParseSite(SiteText(pods, "kubernetes"), "s.yaml");
  ASSERT_TRUE(site.ok()) << site.error().message;
  EXPECT_TRUE(site->NodesByPods() && site->NodesHaveAWay());
  EXPECT_EQ(site->kubernetes->probe_pods->ns, "probes");
  EXPECT_EQ(site->kubernetes->probe_pods->annotations.at("a"), "b");
  EXPECT_THAT(Wrong(pods + "ssh: {user: ops}\n", "kubernetes"), HasSubstr("leave one of them out"));
  EXPECT_THAT(Wrong(pods), HasSubstr("other hosts are reached by ssh"));
  EXPECT_THAT(Wrong("kubernetes: {probe_pods: {image: \"r/t:1\"}}\n", "kubernetes"),
              HasSubstr("pinned by digest"));
  EXPECT_THAT(Wrong("kubernetes: {probe_pods: {}}\n", "kubernetes"), HasSubstr("image"));
  EXPECT_FALSE(ParseSite(SiteText("", "kubernetes"), "s.yaml")->NodesHaveAWay());
  EXPECT_TRUE(Read("").NodesHaveAWay());
}

TEST(SiteActing, APasswordInTheFileIsRefusedAndNotRepeated) {
  const std::string said =
      Wrong("bmcs:\n  - {nodes: [gpu-01], address: \"https://b\", user: u, password: hunter2}\n");
  EXPECT_THAT(said, HasSubstr("expected env:NAME or file:/path"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("hunter2")));
}

TEST(SiteActing, TwoNodesNeverShareOnePowerButton) {
  const std::string one = "user: u, password: env:P}\n";
  EXPECT_THAT(Wrong("bmcs:\n  - {nodes: [gpu-*], address: \"https://bmc\", " + one),
              HasSubstr("2 nodes have one address"));
  EXPECT_THAT(Wrong("bmcs:\n  - {nodes: [gpu-01], address: \"https://a\", " + one +
                    "  - {nodes: [gpu-*], address: \"https://{node}\", " + one),
              HasSubstr("node gpu-01 has a BMC already"));
  EXPECT_EQ(Read("bmcs:\n  - {nodes: [gpu-*], address: \"https://chassis\", "
                 "system: \"{node}\", " +
                 one)
                .bmcs.at("gpu-01")
                .system,
            "gpu-01");
}

TEST(SiteActing, WrongBmcsAreToldWithTheirPlace) {
  const std::string tail = ", user: u, password: env:P";
  EXPECT_THAT(Wrong("bmcs:\n  - {nodes: [nobody], address: \"https://b\"" + tail + "}\n"),
              HasSubstr("s.yaml:11:5: unknown host \"nobody\""));
  EXPECT_THAT(Wrong("bmcs:\n  - {nodes: [gpu-01], address: b" + tail + "}\n"),
              HasSubstr("expected a URL"));
  EXPECT_THAT(
      Wrong("bmcs:\n  - {nodes: [gpu-01], protocol: ssh, address: \"https://b\"" + tail + "}\n"),
      HasSubstr("expected redfish or ipmi"));
  EXPECT_THAT(
      Wrong("bmcs:\n  - {nodes: [gpu-01], protocol: ipmi, address: b, system: x" + tail + "}\n"),
      HasSubstr("is of redfish"));
  EXPECT_THAT(Wrong("bmcs:\n  - {nodes: [gpu-01], address: \"https://b\", ca_file: a, "
                    "unverified_because: b" +
                    tail + "}\n"),
              HasSubstr("not both"));
  EXPECT_THAT(
      Wrong("bmcs:\n  - {nodes: [gpu-01], address: \"https://b\", verify: false" + tail + "}\n"),
      HasSubstr("unknown key verify"));
}

TEST(SiteActing, PackagesArePinnedAndPlainWords) {
  const Site site =
      Read("packages:\n  driver: [\"cuda-drivers-570={value}-1\"]\n  set base: [chrony=4.3-2]\n");
  EXPECT_EQ(site.packages.at("driver").front(), "cuda-drivers-570={value}-1");
  EXPECT_EQ(site.packages.at("set base").front(), "chrony=4.3-2");
  for (const char* bad : {"cuda-drivers", "a=1; reboot", "-o=1", "a=-1", "a=$(id)", "=1", "a="})
    EXPECT_THAT(Wrong(std::string("packages:\n  driver: ['") + bad + "']\n"),
                HasSubstr("expected a package with its version"))
        << bad;
  EXPECT_THAT(Wrong("packages:\n  drivers: [a=1]\n"), HasSubstr("unknown key drivers"));
}

TEST(SiteActing, AKubernetesSiteSaysWhereItsServerIs) {
  const Site host = Read("kubernetes: {kubeconfig: ./kc, context: prod}\nsudo: true\n");
  EXPECT_EQ(host.kubernetes->kubeconfig, "./kc");
  EXPECT_EQ(host.kubernetes->context, "prod");
  EXPECT_TRUE(host.sudo);
  EXPECT_FALSE(Read("").kubernetes.has_value());
  const auto site = ParseSite(SiteText("", "kubernetes"), "s.yaml");
  ASSERT_TRUE(site.ok()) << site.error().ToString();
  EXPECT_EQ(site->kind, SiteKind::kKubernetes);
  EXPECT_TRUE(site->kubernetes.has_value());
  EXPECT_THAT(Wrong("kubernetes: {config: x}\n"), HasSubstr("unknown key config"));
  EXPECT_THAT(Wrong("sudo: true\n", "lab"), HasSubstr("a lab acts on itself"));
}

TEST(SiteActing, AnsibleIsNamedByItsInventory) {
  const Site site = Read("ansible: {inventory: ./hosts.ini, playbook: pin.yml}\n");
  EXPECT_EQ(site.ansible->inventory, "./hosts.ini");
  EXPECT_EQ(site.ansible->playbook, "pin.yml");
  EXPECT_EQ(Read("ansible: {inventory: a}\n").ansible->playbook, "");
  EXPECT_FALSE(Read("").ansible.has_value());
  EXPECT_THAT(Wrong("ansible: {playbook: x}\n"), HasSubstr("key inventory is missing"));
  EXPECT_THAT(Wrong("ansible: {inventory: -x}\n"), HasSubstr("expected a path"));
  EXPECT_THAT(Wrong("ansible: {inventory: x}\n", "lab"), HasSubstr("a lab acts on itself"));
}

TEST(SiteActing, RepositoriesAreNamed) {
  const Site site = Read(
      "repositories:\n  config: {path: ../config}\n  apps: {path: /srv/apps, remote: upstream}\n");
  EXPECT_EQ(site.repositories.at("config").path, "../config");
  EXPECT_EQ(site.repositories.at("config").remote, "origin");
  EXPECT_EQ(site.repositories.at("apps").remote, "upstream");
  EXPECT_THAT(Wrong("repositories:\n  Config: {path: x}\n"), HasSubstr("expected a name"));
  EXPECT_THAT(Wrong("repositories:\n  a: {remote: x}\n"), HasSubstr("key path is missing"));
  EXPECT_THAT(Wrong("repositories:\n  a: {path: x, remote: --force}\n"),
              HasSubstr("expected the name of a remote"));
  EXPECT_THAT(Wrong("repositories: [a]\n"), HasSubstr("expected a mapping"));
}

TEST(SiteActing, PatternsFit) {
  EXPECT_TRUE(FitsPattern("gpu-01", "gpu-*"));
  EXPECT_TRUE(FitsPattern("gpu-01", "*"));
  EXPECT_TRUE(FitsPattern("gpu-01", "g*-*1"));
  EXPECT_TRUE(FitsPattern("", "*"));
  EXPECT_FALSE(FitsPattern("gpu-01", "gpu-*2"));
  EXPECT_FALSE(FitsPattern("gpu-01", "gpu-0"));
  EXPECT_FALSE(FitsPattern("gpu-01", ""));
}

}  // namespace
}  // namespace muster
