#include "kube/config.h"

#include <atomic>
#include <future>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/base64.h"
#include "kube/credentials.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::kube {
namespace {

using muster::testing::FakeClock;
using muster::testing::MemoryFiles;
using muster::testing::ScriptedProcesses;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"(apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: c1
  cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: Q0EtUEVN}
- name: c2
  cluster: {server: "https://example:6443", certificate-authority: pki/ca.crt, tls-server-name: api}
users:
- name: cert
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: file
  user: {tokenFile: secrets/token}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/get-token
      args: [--cluster, lab]
      env: [{name: REGION, value: eu}]
      installHint: install it from the vault
contexts:
- name: lab
  context: {cluster: c1, user: cert, namespace: train}
- name: other
  context: {cluster: c2, user: file}
- name: exec
  context: {cluster: c1, user: plugin}
)";

struct Place {
  FakeClock clock;
  MemoryFiles files;
  ScriptedProcesses processes;
  Place() {
    EXPECT_TRUE(files.WriteAtomic("/home/u/.kube/config", kConfig).has_value());
    EXPECT_TRUE(files.WriteAtomic("/home/u/.kube/pki/ca.crt", "OTHER-CA").has_value());
    EXPECT_TRUE(files.WriteAtomic("/home/u/.kube/secrets/token", "tok-1\n").has_value());
  }
  Result<ClusterConfig> Read(const std::string& context = {}) {
    return ReadKubeconfig(files, {"/home/u/.kube/config"}, context);
  }
};

TEST(Kubeconfig, TakesTheCurrentContext) {
  Place place;
  const auto config = place.Read();
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->tls.ca_pem, "CA-PEM");
  EXPECT_EQ(config->tls.cert_pem, "CERT");
  EXPECT_EQ(config->tls.key_pem, "KEY");
  EXPECT_EQ(config->ns, "train");
}

TEST(Kubeconfig, PathsStartAtItsOwnFolder) {
  Place place;
  const auto config = place.Read("other");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->tls.ca_pem, "OTHER-CA");
  EXPECT_EQ(config->tls.server_name, "api");
  EXPECT_EQ(config->auth.token_file, "/home/u/.kube/secrets/token");
  EXPECT_EQ(config->ns, "default");
}

TEST(Kubeconfig, AnUnknownContextListsTheOthers) {
  Place place;
  const auto config = place.Read("prod");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::kNotFound);
  EXPECT_THAT(config.error().message, HasSubstr("lab, other, exec"));
}

TEST(Kubeconfig, MistakesAreNamedWithLineAndColumn) {
  Place place;
  const auto error_of = [&](const std::string& text) {
    EXPECT_TRUE(place.files.WriteAtomic("/k", text).has_value());
    const auto config = ReadKubeconfig(place.files, {"/k"});
    EXPECT_FALSE(config.ok()) << text;
    return config.ok() ? std::string() : config.error().ToString();
  };
  EXPECT_THAT(error_of("a: [1\nb: 2"), HasSubstr("/k:2:"));
  EXPECT_THAT(error_of("kind: Pod\n"), HasSubstr("/k:1:7: kind is Pod"));
  EXPECT_THAT(error_of("[]"), HasSubstr("/k:1:1: expected a kubeconfig"));
  EXPECT_THAT(error_of(""), HasSubstr("no current-context"));
  EXPECT_THAT(error_of("current-context: a\nclusters: 3\n"), HasSubstr("no context \"a\""));
  const std::string head =
      "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n";
  EXPECT_THAT(error_of(head + "clusters: [{name: c, cluster: {server: ftp://x}}]\n"),
              HasSubstr("expected https://HOST:PORT"));
  const std::string good = head + "clusters: [{name: c, cluster: {server: \"https://x:1\"}}]\n";
  EXPECT_THAT(error_of(good + "users: [{name: u, user: {client-key-data: S0VZ}}]\n"),
              HasSubstr("belong together"));
  EXPECT_THAT(
      error_of(
          good +
          "users: [{name: u, user: {client-key-data: \"%\", client-certificate-data: Q0E=}}]\n"),
      HasSubstr("expected base64"));
  EXPECT_THAT(error_of(good + "users: [{name: u, user: {exec: {command: x}}}]\n"),
              HasSubstr("apiVersion"));
  EXPECT_THAT(error_of(good + "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n"),
              HasSubstr("1.26"));
}

TEST(Kubeconfig, AProxyIsTakenAndAnUnknownSchemeNamed) {
  MemoryFiles files;
  const auto read = [&](const std::string& url) {
    EXPECT_TRUE(files
                    .WriteAtomic("/p",
                                 "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: "
                                 "[{name: x, context: {cluster: c, user: ''}}]\nclusters: "
                                 "[{name: c, cluster: {server: 'https://h', proxy-url: '" +
                                     url + "'}}]\n")
                    .has_value());
    return ReadKubeconfig(files, {"/p"});
  };
  EXPECT_EQ(read("socks5://127.0.0.1:1080")->proxy_url, "socks5://127.0.0.1:1080");
  const auto bad = read("ftp://x");
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("proxy-url"));
}

TEST(Kubeconfig, SeveralFilesAreOneAndTheFirstCounts) {
  Place place;
  ASSERT_TRUE(place.files.WriteAtomic("/first", "current-context: other\n").has_value());
  const auto config = FindCluster(
      place.files, {{"KUBECONFIG", "/missing:/first:/home/u/.kube/config"}, {"HOME", "/home/u"}});
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->context, "other");
}

TEST(Kubeconfig, APodFindsItsServiceAccount) {
  Place place;
  const std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
  ASSERT_TRUE(place.files.WriteAtomic(folder + "ca.crt", "POD-CA").has_value());
  ASSERT_TRUE(place.files.WriteAtomic(folder + "token", "t").has_value());
  ASSERT_TRUE(place.files.WriteAtomic(folder + "namespace", "muster").has_value());
  const auto config = FindCluster(place.files, {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                {"KUBERNETES_SERVICE_PORT", "443"},
                                                {"HOME", "/nobody"}});
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->ns, "muster");
  EXPECT_EQ(config->auth.token_file, folder + "token");
}

TEST(Credentials, ATokenFileIsReadAgainWhenItRotates) {
  Place place;
  const auto config = place.Read("other");
  Credentials credentials(*config, place.clock, place.files, place.processes);
  EXPECT_EQ(*credentials.Token(), "tok-1");
  ASSERT_TRUE(place.files.WriteAtomic("/home/u/.kube/secrets/token", "tok-2").has_value());
  EXPECT_EQ(*credentials.Token(), "tok-1");
  EXPECT_TRUE(credentials.Refused());
  EXPECT_EQ(*credentials.Token(), "tok-2");
  EXPECT_FALSE(credentials.Refused()) << "the same token again gives no hope";
  ASSERT_TRUE(place.files.WriteAtomic("/home/u/.kube/secrets/token", "tok-3").has_value());
  place.clock.Advance(std::chrono::seconds(61));
  EXPECT_EQ(*credentials.Token(), "tok-3");
}

TEST(Credentials, AnExecPluginIsRunUntilItsAnswerExpires) {
  Place place;
  int runs = 0;
  place.processes.On(
      "/home/u/.kube/bin/get-token --cluster lab",
      [&](const Command& command) -> Result<CommandResult> {
        EXPECT_EQ(command.env.at("REGION"), "eu");
        EXPECT_THAT(command.env.at("KUBERNETES_EXEC_INFO"), HasSubstr("ExecCredential"));
        CommandResult result;
        result.out =
            "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
            "\"ExecCredential\",\"status\":{\"token\":\"t" +
            std::to_string(++runs) + "\",\"expirationTimestamp\":\"2026-11-20T00:10:00Z\"}}";
        return result;
      });
  const auto config = place.Read("exec");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  Credentials credentials(*config, place.clock, place.files, place.processes);
  EXPECT_EQ(*credentials.Token(), "t1");
  EXPECT_EQ(*credentials.Token(), "t1");
  place.clock.Advance(std::chrono::minutes(10));
  EXPECT_EQ(*credentials.Token(), "t2");
}

// A plugin that takes until somebody lets it go.
struct SlowPlugin {
  explicit SlowPlugin(ScriptedProcesses& processes) {
    processes.On(
        "/home/u/.kube/bin/get-token --cluster lab",
        [this](const Command&) -> Result<CommandResult> {
          const int run = ++runs;
          if (run > 1) gate.get_future().wait();
          CommandResult result;
          result.out = fmt::format(
              R"({{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
              R"("status":{{"token":"t{}","expirationTimestamp":"2026-11-20T00:10:0{}Z"}}}})",
              run, run);
          return result;
        });
  }
  std::promise<void> gate;
  std::atomic<int> runs = 0;
};

TEST(Credentials, APluginIsRunBesideAndTheLastTokenServesAsLongAsItIsGood) {
  Place place;
  SlowPlugin plugin(place.processes);
  const auto config = place.Read("exec");
  Credentials credentials(*config, place.clock, place.files, place.processes);
  EXPECT_EQ(*credentials.Token(), "t1");
  place.clock.Advance(std::chrono::seconds(595));  // it ends in six seconds: the plugin runs again
  EXPECT_TRUE(credentials.Ready());
  EXPECT_EQ(*credentials.Token(), "t1") << "no waiting";
  place.clock.Advance(std::chrono::seconds(7));
  EXPECT_FALSE(credentials.Ready());
  plugin.gate.set_value();
  for (int i = 0; i < 1000 && !credentials.Ready(); ++i)
    credentials.Wait(std::chrono::milliseconds(10));
  EXPECT_EQ(*credentials.Token(), "t2");
  EXPECT_EQ(plugin.runs, 2);
}

TEST(Credentials, APluginThatFailsWhileTheLastTokenIsGoodTroublesNobody) {
  Place place;
  const std::string line = "/home/u/.kube/bin/get-token --cluster lab";
  place.processes.Prints(
      line, R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t1",)"
            R"("expirationTimestamp":"2026-11-20T00:10:00Z"}})");
  CommandResult bad;
  bad.exit_code = 3;
  place.processes.On(line, bad);
  const auto config = place.Read("exec");
  Credentials credentials(*config, place.clock, place.files, place.processes);
  EXPECT_EQ(*credentials.Token(), "t1");
  place.clock.Advance(std::chrono::seconds(595));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(credentials.Ready());
    EXPECT_EQ(*credentials.Token(), "t1");
  }
  place.clock.Advance(std::chrono::seconds(10));
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(credentials.Token().error().ToString(), HasSubstr("ended with 3"))
        << "it is over, and the old token is not sent";
}

TEST(Credentials, ATokenWithoutAnEndInSightIsGood) {
  Place place;
  place.processes.Prints(
      "/home/u/.kube/bin/get-token --cluster lab",
      R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t1",)"
      R"("expirationTimestamp":"9999-12-31T23:59:59Z"}})");
  const auto config = place.Read("exec");
  Credentials credentials(*config, place.clock, place.files, place.processes);
  EXPECT_EQ(credentials.Token().value_or("none"), "t1");
  place.clock.Advance(std::chrono::hours(1000));
  EXPECT_EQ(credentials.Token().value_or("none"), "t1");
  EXPECT_EQ(place.processes.asked().size(), 1u);
}

TEST(Credentials, AMissingPluginGivesItsInstallHint) {
  Place place;
  const auto config = place.Read("exec");
  Credentials credentials(*config, place.clock, place.files, place.processes);
  const auto token = credentials.Token();
  ASSERT_FALSE(token.ok());
  EXPECT_THAT(token.error().ToString(), HasSubstr("install it from the vault"));
}

TEST(Credentials, APluginThatPrintsSomethingElseIsRefused) {
  for (
      const char* out :
      {"", "token", "{}",
       R"({"apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"x"}})",
       R"({"apiVersion":"client.authentication.k8s.io/v1","status":{}})",
       R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"x","clientKeyData":"k"}})",
       R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"x",)"
       R"("expirationTimestamp":"soon"}})"}) {
    Place place;
    place.processes.Prints("/home/u/.kube/bin/get-token --cluster lab", out);
    const auto config = place.Read("exec");
    Credentials credentials(*config, place.clock, place.files, place.processes);
    EXPECT_FALSE(credentials.Token().ok()) << out;
  }
}

RC_GTEST_PROP(Base64Property, BytesComeBack, (const std::string& bytes)) {
  const auto back = FromBase64(ToBase64(bytes));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == bytes);
}

RC_GTEST_PROP(KubeconfigProperty, AnyTextIsReadOrRefused, (const std::string& text)) {
  MemoryFiles files;
  RC_ASSERT(files.WriteAtomic("/k", std::string(kConfig) + text).has_value());
  static_cast<void>(ReadKubeconfig(files, {"/k"}).ok());
}

}  // namespace
}  // namespace muster::kube
