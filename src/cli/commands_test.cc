#include "cli/commands.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using muster::testing::kTestSite;
using muster::testing::kTestSpec;
using muster::testing::LabSite;
using muster::testing::TestMachine;

struct Said {
  int code = -1;
  std::string out, err;
};

// The program, as main starts it, on a machine in memory.
Said Ask(TestMachine& machine, const std::vector<std::string>& words,
         const std::string& site = kTestSite) {
  std::ostringstream out, err;
  Context context{.world = machine.world(), .out = out, .err = err};
  context.user_at_host = "tester@here";
  context.default_site = site;
  const ExitCode code = Dispatch(context, words);
  return {static_cast<int>(code), out.str(), err.str()};
}
Said Ask(TestMachine& machine, const std::string& line, const std::string& site = kTestSite) {
  std::vector<std::string> words;
  for (const std::string_view word : SplitBlank(line)) words.emplace_back(word);
  return Ask(machine, words, site);
}

std::vector<std::string> WordsOf(const Command& command, std::vector<std::string> more) {
  std::vector<std::string> words;
  for (const std::string_view word : SplitBlank(command.name)) words.emplace_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The whole options of a command, as its help says them.
Description DescriptionOf(TestMachine& machine, const Command& command) {
  std::ostringstream out, err;
  Context context{.world = machine.world(), .out = out, .err = err};
  Description description;
  command.run({context, {}, &description});
  return description;
}
bool Takes(const Description& description, std::string_view flag) {
  return std::any_of(description.options.begin(), description.options.end(),
                     [&](const OptionInfo& o) { return Contains(o.flags, flag); });
}

// What is wrong with a document, held to what `muster schema` says of its kind; empty = nothing.
std::string Problem(TestMachine& machine, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return "no JSON: " + text.substr(0, 200);
  if (json.value("apiVersion", "") != "muster/v1") return "no apiVersion";
  const std::string kind = json.value("kind", "");
  const Said schema = Ask(machine, "schema " + kind);
  if (schema.code != 0) return fmt::format("kind \"{}\" has no schema", kind);
  const Json wanted = Json::parse(schema.out);
  for (const Json& key : wanted["required"]) {
    if (!json.contains(key.get<std::string>()))
      return fmt::format("{} has no {}", kind, key.get<std::string>());
  }
  return "";
}

TEST(Commands, EachHeadingOfTheHelpStandsOnce) {
  std::vector<std::string_view> headings;
  for (const Command& command : Commands()) {
    if (command.hidden || (!headings.empty() && headings.back() == command.group)) continue;
    EXPECT_EQ(std::count(headings.begin(), headings.end(), command.group), 0) << command.name;
    headings.push_back(command.group);
  }
}

TEST(Commands, EveryCommandTellsItsHelp) {
  TestMachine machine;
  for (const Command& command : Commands()) {
    if (command.hidden) continue;
    const Said said = Ask(machine, WordsOf(command, {"--help"}));
    EXPECT_EQ(said.code, 0) << command.name;
    EXPECT_THAT(said.out, HasSubstr("--help")) << command.name;
    EXPECT_THAT(said.err, IsEmpty()) << command.name;
  }
  EXPECT_THAT(machine.files.Paths(), IsEmpty());
}

TEST(Commands, MistypedOptionIsAUsageErrorOfEveryCommand) {
  TestMachine machine;
  for (const Command& command : Commands()) {
    if (command.hidden) continue;
    const Said said = Ask(machine, WordsOf(command, {"--nonsense"}));
    EXPECT_EQ(said.code, 2) << command.name;
    EXPECT_THAT(said.err, StartsWith("muster")) << command.name;
    EXPECT_THAT(said.err, HasSubstr("--help")) << command.name;
    EXPECT_THAT(said.out, IsEmpty()) << command.name;
  }
  EXPECT_THAT(machine.files.Paths(), IsEmpty());
}

TEST(Commands, WrongValuesAreUsageErrors) {
  LabSite lab;
  const auto before = lab.files.Paths();
  for (const char* line : {"",
                           "nonsense",
                           "bringup",
                           "lab",
                           "bringup nonsense",
                           "check --gate 9",
                           "check --gate x",
                           "check --only FAB-999",
                           "check --nodes node099",
                           "check -o xml",
                           "bringup run --from 0",
                           "bringup run --to 9",
                           "bringup run --from 5 --to 2",
                           "bringup run --scope nowhere",
                           "bringup run --nodes node099",
                           "bringup plan --scope nowhere",
                           "bringup plan --from x",
                           "bringup watch --every soon",
                           "bringup report --run r-none",
                           "bringup report --format pdf",
                           "gate waive x --by a --reason b --until 1d",
                           "gate waive 9 --by a --reason b --until 1d",
                           "gate waive 5 --by a --reason b",
                           "gate waive 5 --by a --reason b --until yesterday",
                           "gate sign 2 --by a --reason b --until 1d",
                           "explain",
                           "explain NOPE-1",
                           "verify",
                           "verify r-none",
                           "baseline set --run r-none",
                           "baseline diff --name none",
                           "bundle --run r-none",
                           "capture",
                           "init --kind cloud",
                           "init --spec nodes=0 --out /n.yaml",
                           "lab create --spec gpus=99 --out /n.yaml",
                           "lab inject nonsense",
                           "lab inject",
                           "lab exec node099 -- true",
                           "lab exec",
                           "schema Nonsense",
                           "completion tcsh",
                           "check --timeout soon",
                           "check --timeout"}) {
    const Said said = Ask(lab, std::string(line));
    EXPECT_EQ(said.code, 2) << line << "\n" << said.err;
    if (*line != '\0') {
      EXPECT_THAT(said.err, Not(IsEmpty())) << line;
      EXPECT_THAT(said.out, IsEmpty()) << line;
    }
  }
  EXPECT_EQ(lab.files.Paths(), before) << "a refused command leaves nothing behind";
}

TEST(Commands, BrokenSiteFileIsRefusedAndNothingIsLeftBehind) {
  // What a command needs beside the site.
  const std::map<std::string, std::vector<std::string>> more = {
      {"gate sign", {"1", "--by", "a", "--reason", "b", "--until", "1d"}},
      {"gate waive", {"5", "--by", "a", "--reason", "b", "--until", "1d"}},
      {"gate stale", {"operator", "--by", "a", "--reason", "b"}},
      {"capture", {"--out", "/captured"}},
      {"bundle", {"--out", "/b.tar"}},
      {"verify", {"r-none"}},
      {"lab inject", {"link_down"}},
      {"lab exec", {"node000", "true"}},
  };
  for (const char* text :
       {"kind: Site\nname: [", "", "a: 1",
        "apiVersion: muster/v1\nkind: Site\nname: x\ntype: lab\n",
        "apiVersion: muster/v1\nkind: Site\nname: x\ntype: lab\ncluster: {spec: \"\"}\n"}) {
    for (const Command& command : Commands()) {
      TestMachine machine;
      if (command.hidden || !Takes(DescriptionOf(machine, command), "--site")) continue;
      machine.files.Put(kTestSite, text);
      const auto extra = more.find(std::string(command.name));
      const Said said =
          Ask(machine,
              WordsOf(command, extra == more.end() ? std::vector<std::string>{} : extra->second));
      // A command that reads only what stands beside the site finds nothing there: no error.
      const bool reads_site = muster::StartsWith(command.name, "bringup") ||
                              muster::StartsWith(command.name, "gate") || command.name == "check" ||
                              command.name == "capture" || command.name == "lab inject" ||
                              command.name == "lab exec";
      EXPECT_THAT(said.code, reads_site ? AnyOf(2, 2) : AnyOf(0, 2)) << command.name << said.err;
      EXPECT_EQ(machine.files.Paths(), std::vector<std::string>{kTestSite}) << command.name;
    }
  }
}

TEST(Commands, MissingSiteIsNamed) {
  TestMachine machine;
  const Said said = Ask(machine, "check", "/nowhere/site.yaml");
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.err, HasSubstr("/nowhere/site.yaml"));
  EXPECT_THAT(Ask(machine, "check", "").err, HasSubstr("--site"));
}

// One session on one lab: each verb's JSON, in an order in which each has something to say.
TEST(Commands, JsonOfEveryVerbParsesAndCarriesItsKind) {
  LabSite lab;
  std::map<std::string, int> verbs;  // how often each was asked for JSON
  const auto json_of = [&](const std::string& line) {
    const Said said = Ask(lab, line + " -o json");
    EXPECT_LT(said.code, 124) << line << "\n" << said.err;
    EXPECT_EQ(Problem(lab, said.out), "") << line << "\n" << said.err;
    for (const Command& command : Commands()) {
      if (muster::StartsWith(line, command.name)) ++verbs[std::string(command.name)];
    }
    return Json::parse(said.out, nullptr, false);
  };
  json_of("init --kind lab --out /second/site.yaml");
  json_of("lab create --out /third/site.yaml");
  json_of("bringup plan");
  json_of("bringup status");
  const Json run = json_of("bringup run --to 3");
  EXPECT_EQ(run["verdict"], "pass") << run.dump(2).substr(0, 3000);
  const std::string name = run["run"];
  json_of("bringup status");
  json_of("bringup watch --rounds 1");
  json_of("verify " + name);
  json_of("baseline set --run " + name);
  json_of("baseline diff --run " + name);
  json_of("baseline list");
  json_of("bundle --run " + name + " --out /site/b.tar");
  json_of("check");
  json_of("capture --out /captured");
  json_of("gate sign 1 --by a --reason b --until 1d");
  json_of("gate waive 5 --by a --reason b --until 1d");
  json_of("gate stale operator --by a --reason b");
  json_of("explain FAB-002");
  json_of("lab inject link_down");
  json_of("lab faults");
  json_of("lab heal");
  json_of("lab job j1 --on node000 --checkpoint-every 1m --since 5m");
  json_of("lab spoil node000 reboot lie");
  json_of("lab spoil node000 reboot none");
  json_of("version");
  json_of("runbook list");
  json_of("runbook show R6");
  json_of("lab inject xid_119 --on node000/gpu1");
  json_of("runbook plan R6 --on node000/gpu1 --out /site/plan.json");
  EXPECT_TRUE(json_of("runbook run /site/plan.json")["closed"].get<bool>());
  json_of("runbook status");
  json_of("runbook status r-");
  json_of("runbook journal");
  json_of("runbook ticket");
  lab.files.Put("/site/x.yaml", lab.files.Read("/site/site.yaml").value());
  json_of("runbook lint /site/x.yaml");
  json_of("node list");
  json_of("node cordon node001 --reason fan --ttl 1h");
  json_of("alerts list --all");
  json_of("lab exam --only link_down --pairs 0 --nodes 2 -q");
  const Said report = Ask(lab, "bringup report --format json");
  EXPECT_TRUE(Json::parse(report.out, nullptr, false).contains("apiVersion"));
  for (const char* verb :
       {"init",        "bringup plan",   "bringup run",     "bringup status", "bringup watch",
        "gate sign",   "gate waive",     "gate stale",      "check",          "explain",
        "verify",      "baseline set",   "baseline diff",   "baseline list",  "bundle",
        "capture",     "lab create",     "lab inject",      "lab heal",       "lab faults",
        "lab exam",    "version",        "runbook list",    "runbook show",   "runbook plan",
        "runbook run", "runbook status", "runbook journal", "runbook ticket", "runbook lint",
        "node list",   "node cordon",    "alerts list",     "lab job",        "lab spoil"}) {
    EXPECT_GT(verbs[verb], 0) << verb << " was not asked";
  }
}

TEST(Commands, FormOfTheOutputNeverChangesTheExitCode) {
  LabSite lab;
  lab.Inject("link_down");
  ASSERT_EQ(lab.problem, "");
  for (const char* format : {"table", "json", "yaml", "junit", "short"}) {
    EXPECT_EQ(Ask(lab, fmt::format("check --gate 2 -o {}", format)).code, 3) << format;
    EXPECT_EQ(Ask(lab, fmt::format("bringup status -o {}", format)).code, 4) << format;
  }
}

TEST(Commands, BundleIntoAFolderThatIsNotThereIsAUsageError) {
  LabSite lab;
  ASSERT_EQ(Ask(lab, "bringup run --to 1").code, 0);
  const Said said = Ask(lab, "bundle --out /no/such/folder/b.tar");
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.err, HasSubstr("/no/such/folder"));
}

TEST(Commands, LabFaultsWithoutASiteAreListed) {
  TestMachine machine;
  const Said said = Ask(machine, "lab faults", "");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("link_down"));
}

TEST(Commands, LabExecAnswersAsTheHostWould) {
  LabSite lab;
  const Said said = Ask(lab, "lab exec node000 -- hostname");
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "node000\n");
}

TEST(Commands, CompletionsAndManualKnowEveryCommand) {
  TestMachine machine;
  for (const char* line : {"completion bash", "completion zsh", "completion fish", "man"}) {
    const Said said = Ask(machine, std::string(line));
    EXPECT_EQ(said.code, 0);
    std::string out = said.out;
    std::erase(out, '\\');  // the manual writes a hyphen as \-
    for (const Command& command : Commands()) {
      for (const std::string_view word : SplitBlank(command.name))
        EXPECT_THAT(out, HasSubstr(std::string(word))) << line;
    }
  }
}

}  // namespace
}  // namespace muster::cli
