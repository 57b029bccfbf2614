#include "app/act_preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Act Of(Words argv) {
  Act act;
  act.name = "a";
  act.kind = "kubectl";
  act.argv = std::move(argv);
  return act;
}
Words Asked(Words argv) {
  const auto command = PreviewCommand(Of(std::move(argv)));
  return command.ok() ? command->argv : Words{"REFUSED", command.error().message};
}

TEST(PreviewCommand, AnApplyIsADiffWithTheActsOwnWords) {
  EXPECT_THAT(Asked({"/usr/bin/kubectl", "-n", "ml", "apply", "--server-side", "-f", "x.yaml",
                     "--wait", "--timeout", "5m"}),
              ElementsAre("/usr/bin/kubectl", "-n", "ml", "diff", "--server-side", "-f", "x.yaml"));
}

TEST(PreviewCommand, WhatWritesIsADryRunOnTheServerAndNothingComesBeforeThat) {
  EXPECT_THAT(Asked({"kubectl", "label", "node", "n1", "a=b"}),
              ElementsAre("kubectl", "label", "--dry-run=server", "node", "n1", "a=b"));
  EXPECT_THAT(Asked({"kubectl", "--context=x", "delete", "pod", "p", "--wait=false"}),
              ElementsAre("kubectl", "--context=x", "delete", "--dry-run=server", "pod", "p"));
}

TEST(PreviewCommand, HelmAsksItsDiff) {
  EXPECT_THAT(
      Asked({"helm", "upgrade", "--install", "gpu-operator", "nvidia/gpu-operator", "--version",
             "v26.3.0", "--wait", "--timeout", "10m", "--set", "a=b"}),
      ElementsAre("helm", "diff", "upgrade", "--allow-unreleased", "--detailed-exitcode",
                  "gpu-operator", "nvidia/gpu-operator", "--version", "v26.3.0", "--set", "a=b"));
}

// Each of these could change something if it were asked.
TEST(PreviewCommand, WhatCouldChangeSomethingIsNotAsked) {
  const Words refused[] = {
      {"kubectl", "create", "job", "x", "--image=i", "--", "--dry-run=server"},
      {"kubectl", "label", "--dry-run=none", "node", "n1", "a=b"},
      {"kubectl", "apply", "edit-last-applied", "-f", "x"},
      {"kubectl", "exec", "p", "ls"},
      {"kubectl", "drain", "n1"},
      {"kubectl", "-n"},
      {"kubectl"},
      {"helm", "rollback", "x"},
      {"helm", "upgrade", "x", "c", "--post-renderer", "./r"},
      {"sh", "-c", "kubectl apply -f x"},
      {"ansible-playbook", "site.yml"},
      {},
  };
  for (const Words& argv : refused)
    EXPECT_EQ(Asked(argv).front(), "REFUSED") << ::testing::PrintToString(argv);
}

struct Place {
  ActPreview Preview(int exit, std::string out, std::string err = "") {
    processes.Otherwise([=](const Command&) -> Result<CommandResult> {
      CommandResult result;
      result.exit_code = exit;
      result.out = out;
      result.err = err;
      return result;
    });
    return PreviewByTool(act, processes);
  }
  Act act = Of({"kubectl", "apply", "-f", "x"});
  testing::ScriptedProcesses processes;
};

TEST(PreviewAct, ADifferenceIsOneAndTroubleIsUnknown) {
  Place place;
  auto preview = place.Preview(1, "+a: b\n");
  EXPECT_TRUE(preview.known && preview.changes);
  EXPECT_THAT(preview.text, HasSubstr("+a: b"));
  preview = place.Preview(0, "");
  EXPECT_TRUE(preview.known && !preview.changes);
  preview = place.Preview(2, "", "connection refused");
  EXPECT_FALSE(preview.known);
  EXPECT_THAT(preview.text, HasSubstr("connection refused"));
  place.act = Of({"helm", "upgrade", "x", "c"});
  preview = place.Preview(1, "", "unknown command \"diff\" for \"helm\"");
  EXPECT_FALSE(preview.known);
}

TEST(PreviewAct, ADryRunThatIsRefusedIsUnknown) {
  Place place;
  place.act = Of({"kubectl", "label", "node", "n1", "a=b"});
  EXPECT_TRUE(place.Preview(0, "node/n1 labeled (server dry run)\n").changes);
  EXPECT_FALSE(place.Preview(1, "", "Forbidden").known);
}

TEST(PreviewAct, AToolThatIsNotThereIsUnknownByName) {
  Place place;
  place.processes.Otherwise([](const Command&) -> Result<CommandResult> {
    return Fail(Code::kNotFound, "no such program");
  });
  const auto preview = PreviewByTool(place.act, place.processes);
  EXPECT_FALSE(preview.known);
  EXPECT_EQ(preview.text, "kubectl is not on this machine");
}

TEST(PreviewAct, WhatItsProbeFindsDoneWouldChangeNothing) {
  Place place;
  place.act.probe = {"true"};
  place.Preview(0, "there");
  const auto preview = PreviewAct(place.act, place.processes);
  EXPECT_TRUE(preview.known && !preview.changes);
  EXPECT_TRUE(preview.argv.empty());
}

}  // namespace
}  // namespace muster
