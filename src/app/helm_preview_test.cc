#include "app/helm_preview.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/act_preview.h"
#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAsked =
    "helm --kubeconfig k upgrade --dry-run=server --output=json -i rel ./c --version 1.0.0 -n ops";
constexpr const char* kNow = "helm --kubeconfig k get manifest rel --namespace ops";
constexpr const char* kDiff =
    "helm --kubeconfig k diff upgrade --allow-unreleased --detailed-exitcode rel ./c --version "
    "1.0.0 -n ops";

CommandResult Ends(int code, std::string out, std::string err = "") {
  CommandResult result;
  result.exit_code = code;
  result.out = std::move(out);
  result.err = std::move(err);
  return result;
}

// A machine with helm and without its plugin; `said` instead of what it says otherwise.
struct Machine {
  explicit Machine(std::map<std::string, CommandResult> said = {}) {
    act.name = "operator";
    act.kind = "helm";
    act.argv = {"helm", "--kubeconfig", "k",     "upgrade", "-i", "rel",
                "./c",  "--version",    "1.0.0", "--wait",  "-n", "ops"};
    said.try_emplace(kDiff, Ends(1, "", "Error: unknown command \"diff\" for \"helm\""));
    said.try_emplace(kAsked, Ends(0, R"({"name":"rel","namespace":"ops",)"
                                     R"("manifest":"kind: ConfigMap\ndata:\n  a: 2\n"})"));
    said.try_emplace(kNow, Ends(0, "kind: ConfigMap\ndata:\n  a: 1\n"));
    for (const auto& [line, answer] : said) processes.On(line, answer);
  }
  ActPreview Preview() { return PreviewByTool(act, processes); }
  Act act;
  testing::ScriptedProcesses processes;
};

TEST(HelmPreview, WithoutThePluginADryRunIsHeldBesideTheRelease) {
  Machine machine;
  const ActPreview preview = machine.Preview();
  EXPECT_TRUE(preview.known && preview.changes) << preview.text;
  EXPECT_THAT(preview.text, HasSubstr("-  a: 1"));
  EXPECT_THAT(preview.text, HasSubstr("+  a: 2"));
}

TEST(HelmPreview, AReleaseThatIsNotThereYetIsAllNew) {
  Machine machine({{kNow, Ends(1, "", "Error: release: not found")}});
  const ActPreview preview = machine.Preview();
  EXPECT_TRUE(preview.known && preview.changes);
  EXPECT_THAT(preview.text, HasSubstr("+kind: ConfigMap"));
}

TEST(HelmPreview, WhatStaysIsSaidToStayAndHooksAreNamed) {
  Machine machine(
      {{kAsked, Ends(0, R"({"name":"rel","namespace":"ops","manifest":"a: 1\n","hooks":[{}]})")},
       {kNow, Ends(0, "a: 1\n\n")}});
  const ActPreview preview = machine.Preview();
  EXPECT_TRUE(preview.known && !preview.changes);
  EXPECT_THAT(preview.text, HasSubstr("stay as they are"));
  EXPECT_THAT(preview.text, HasSubstr("1 hooks"));
}

TEST(HelmPreview, WhatHelmCannotSayIsUnknownInItsWords) {
  const std::pair<const char*, CommandResult> troubles[] = {
      {kAsked, Ends(1, "", "Error: invalid argument \"server\"")},
      {kAsked, Ends(0, "not JSON")},
      {kAsked, Ends(0, R"({"name":"rel","namespace":"ops"})")},
      {kNow, Ends(1, "", "Error: Kubernetes cluster unreachable")},
  };
  for (const auto& [line, answer] : troubles) {
    Machine machine({{line, answer}});
    const ActPreview preview = machine.Preview();
    EXPECT_FALSE(preview.known || preview.changes) << line;
    EXPECT_THAT(preview.text, HasSubstr("no plugin helm-diff, and "));
    EXPECT_THAT(preview.text, HasSubstr(answer.err));
  }
}

TEST(HelmPreview, NoValueOfASecretIsKept) {
  const std::string secret =
      "---\n# Source: c/s.yaml\napiVersion: v1\nkind: Secret\ndata:\n  key: aHVzaA==\nmetadata:\n  "
      "name: s\n";
  Machine machine(
      {{kNow, Ends(0, secret)},
       {kAsked,
        Ends(
            0,
            R"({"name":"rel","namespace":"ops","manifest":"---\n# Source: c/s.yaml\napiVersion: v1\nkind: Secret\ndata:\n  key: b3RoZXI=\nmetadata:\n  name: s\n"})")}});
  const ActPreview preview = machine.Preview();
  EXPECT_TRUE(preview.known && preview.changes);
  EXPECT_THAT(preview.text, HasSubstr("only values of Secrets change"));
  const std::string kept =
      WithoutSecrets(secret + "---\nkind: ConfigMap\ndata:\n  open: yes\nstringData: x\n" +
                     "---\nkind: Secret\nstringData: {key: hush}\nmetadata: {name: t}\n");
  EXPECT_THAT(kept, Not(HasSubstr("aHVzaA")));
  EXPECT_THAT(kept, Not(HasSubstr("hush")));
  EXPECT_THAT(kept, HasSubstr("data: (hidden)\nmetadata:\n  name: s\n"));
  EXPECT_THAT(kept, HasSubstr("  open: yes"));
  EXPECT_THAT(kept, HasSubstr("metadata: {name: t}"));
}

}  // namespace
}  // namespace muster
