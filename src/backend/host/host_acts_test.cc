// What each act becomes, and that nothing a runbook says becomes an option or a second command.
#include "backend/host/host_acts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace muster::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PackageNames kPackages = {{"driver", {"cuda-drivers-570={value}-1", "nvidia-x={value}-1"}},
                                {"set base", {"chrony=4.3-2"}}};

Action OnNode(ActKind kind, std::map<std::string, std::string> params) {
  return {kind, NodeSubject("n1"), std::move(params)};
}

TEST(HostActs, HostileParametersAreRefused) {
  const std::string bad[] = {
      "",       "-rf",     "a b", "a;reboot", "$(id)",    "`id`", "../x", "a\nb",
      "--help", ".hidden", "a'b", "a/b",      "\xff\xfe", "x\\",  "*",    std::string(200, 'a')};
  for (const std::string& text : bad) {
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kServiceStop, {{"unit", text}}), {}).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kModuleLoad, {{"module", text}}), {}).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kPersistence, {{"mode", text}}), {}).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kClocks, {{"lock", text}}), {}).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kPowerCap, {{"watt", text}}), {}).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kMigSet, {{"layout", text}}), {}).has_value());
    EXPECT_FALSE(
        CheckHostAct(OnNode(ActKind::kPackages, {{"driver", text}}), kPackages).has_value());
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kFileWrite, {{"path", text}, {"content", ""}}), {})
                     .has_value());
  }
  for (const char* path : {"/proc/sysrq-trigger", "/sys/x", "/dev/sda", "/etc/../x", "/etc//x",
                           "/etc/", "/", "etc/x", "/etc/./x", "/a\nb"})
    EXPECT_FALSE(CheckHostAct(OnNode(ActKind::kFileWrite, {{"path", path}, {"content", ""}}), {})
                     .has_value())
        << path;
}

RC_GTEST_PROP(HostActsProperty, AnyParameterIsRefusedOrIsOneWordThatIsNoOption, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("-a0. ;$/,g"))));
  for (const auto& [kind, name] :
       {std::pair{ActKind::kServiceRestart, "unit"}, std::pair{ActKind::kModuleReload, "module"},
        std::pair{ActKind::kClocks, "lock"}, std::pair{ActKind::kPowerCap, "watt"},
        std::pair{ActKind::kMigSet, "layout"}, std::pair{ActKind::kPackages, "driver"}}) {
    const auto run = CommandsOf(OnNode(kind, {{name, text}}), {}, kPackages);
    if (!run.ok()) continue;
    for (const Words& words : run->commands) {
      for (const std::string& word : words) {
        if (!Contains(word, text) || word == text) continue;
        RC_ASSERT(kind == ActKind::kPackages || text == "1" || text == "0" ||
                  StartsWith(word, "-") || text.size() <= word.size());
      }
      const auto found = std::find(words.begin(), words.end(), text);
      if (found == words.end()) continue;
      RC_ASSERT(!StartsWith(text, "-"));
      RC_ASSERT(text.find_first_of(" ;$/\n'\"`|&<>") == std::string::npos);
    }
  }
}

TEST(HostActs, CommandsAreWhatAPersonWouldType) {
  const auto run = [](const Action& action, Fingerprint before = {}) {
    std::vector<std::string> lines;
    const auto commands = CommandsOf(action, before, kPackages);
    if (!commands.ok()) return std::vector<std::string>{commands.error().message};
    for (const Words& words : commands->commands) lines.push_back(Join(words, " "));
    return lines;
  };
  EXPECT_THAT(run(OnNode(ActKind::kModuleReload, {{"module", "nvidia"}})),
              ElementsAre("modprobe -r nvidia", "modprobe nvidia"));
  EXPECT_THAT(run({ActKind::kGpuReset, GpuSubject("n1", 3), {}}, {{"bus", "00000000:1B:00.0"}}),
              ElementsAre("nvidia-smi --gpu-reset -i 00000000:1B:00.0"));
  EXPECT_THAT(run(OnNode(ActKind::kGpuReset, {}), {{"bus", "a;b"}}),
              ElementsAre("nvidia-smi --gpu-reset"));
  EXPECT_THAT(run({ActKind::kGpuReset, GpuSubject("n1", 3), {}}),
              ElementsAre(HasSubstr("is not known")));
  EXPECT_THAT(run(OnNode(ActKind::kClocks, {{"lock", "default"}})), ElementsAre("nvidia-smi -rgc"));
  EXPECT_THAT(run(OnNode(ActKind::kMigClear, {}), {{"mig", "GPU-1=3g.40gb"}}),
              ElementsAre("nvidia-smi mig -dci", "nvidia-smi mig -dgi", "nvidia-smi -mig 0"));
  EXPECT_THAT(run(OnNode(ActKind::kPackages, {{"driver", "570.1"}, {"reboot", "true"}})),
              ElementsAre("apt-mark unhold cuda-drivers-570 nvidia-x",
                          HasSubstr("install cuda-drivers-570=570.1-1 nvidia-x=570.1-1"),
                          "apt-mark hold cuda-drivers-570 nvidia-x", "systemctl reboot"));
  EXPECT_THAT(run(OnNode(ActKind::kPackages, {{"kernel", "6.8"}})),
              ElementsAre(HasSubstr("does not say what \"kernel\" is made of")));
}

TEST(HostActs, EveryActIsRenderedForAPerson) {
  for (const ActKind kind : HostActs()) {
    Action action = OnNode(kind, {});
    for (const std::string_view param : SplitBlank(TraitsOf(kind).params)) {
      if (!EndsWith(param, "?")) action.params[std::string(param)] = "1";
    }
    EXPECT_FALSE(RenderHostAct(action, kPackages).empty()) << ToString(kind);
  }
  EXPECT_THAT(RenderHostAct({ActKind::kGpuReset, GpuSubject("n1", 3), {}}, {}),
              ElementsAre("n1: nvidia-smi --gpu-reset -i <bus address of GPU 3>"));
}

TEST(HostActs, AnswersThatDoNotSayItAreNoAnswers) {
  Node node;
  node.name = "n1";
  node.gpus = {Gpu{}};
  const Action reset{ActKind::kGpuReset, GpuSubject("n1", 0), {}};
  const std::string row =
      "0, 00000000:1B:00.0, GPU-1, Enabled, 700.00, Enabled, Disabled, 0, 570.1\n";
  EXPECT_TRUE(Understand(reset, node, {{0, row, ""}}).ok());
  for (const std::string& text : {std::string(), std::string("No devices were found\n"),
                                  row.substr(0, 30), row + row, "x" + row, "\xff\n" + row}) {
    EXPECT_FALSE(Understand(reset, node, {{0, text, ""}}).ok()) << text;
  }
  EXPECT_FALSE(Understand(reset, node, {{9, row, ""}}).ok());
  const Action stop = OnNode(ActKind::kServiceStop, {{"unit", "a"}});
  EXPECT_FALSE(Understand(stop, node, {{0, "ActiveState=active\n", ""}}).ok());
  EXPECT_FALSE(Understand(stop, node, {{1, "LoadState=loaded\nActiveState=active\n", ""}}).ok());
  EXPECT_FALSE(Understand(stop, node, {{0, "LoadState=masked\nActiveState=inactive\n", ""}}).ok());
}

TEST(HostActs, ARebootIsShownByItsBootIdAlone) {
  const Action reboot = OnNode(ActKind::kReboot, {});
  ActRecord ended;
  ended.state = ActRecord::State::kEnded;
  EXPECT_EQ(Compare(reboot, {{"boot_id", "aaaaaaaa"}}, Fingerprint{}, "aaaaaaaa", ended).happened,
            Happened::kNo);
  EXPECT_EQ(Compare(reboot, {{"boot_id", "aaaaaaaa"}}, Fingerprint{}, "bbbbbbbb", {}).happened,
            Happened::kYes);
  EXPECT_EQ(Compare(reboot, {}, Fingerprint{}, "bbbbbbbb", ended).happened, Happened::kUnknown);
  EXPECT_EQ(Compare(reboot, {{"boot_id", "aaaaaaaa"}}, Fingerprint{}, "", ended).happened,
            Happened::kUnknown);
}

TEST(HostActs, WithoutAnAnswerNoActHasHappened) {
  for (const ActKind kind : HostActs()) {
    const Action action = OnNode(kind, {{"unit", "a"}, {"mode", "1"}, {"watt", "1"}});
    const ProbeResult probe = Compare(action, {{"boot_id", "a"}}, std::nullopt, "a", {});
    EXPECT_NE(probe.happened, Happened::kYes) << ToString(kind);
  }
}

TEST(HostRecords, AreReadBackAndEveryCutAndFlipIsNoticedOrTheSame) {
  HostHold hold;
  hold.schedulable = false;
  hold.note = "a \"note\"\n";
  hold.fence = 12;
  hold.changes = 3;
  hold.lease = Lease{
      "muster", "r1", "why", false, "before", TimePoint{}, TimePoint{std::chrono::hours(1)}, 12};
  const std::string text = WriteHostHold(hold);
  EXPECT_EQ(ReadHostHold(text).value(), hold);
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(ReadHostHold(text.substr(0, size)).ok()) << size;
  for (const char* record :
       {"", "state none", "state ended\nboot a\ncode 0\noutput\n",
        "state ended\nboot a\ncode \noutput\n\nend\n",
        "state ended\nboot a\ncode x\noutput\n\nend\n",
        "state odd\nboot a\ncode 0\noutput\n\nend\n", "state begun\nboot \ncode \noutput\n\nend\n",
        "boot a\ncode 0\noutput\n\nend\n"})
    EXPECT_FALSE(ReadActRecord(record).ok()) << record;
  const auto record = ReadActRecord("state ended\nboot a\ncode 3\noutput\nIn use.\nend\n").value();
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_EQ(record.output, "In use.");
  EXPECT_EQ(ReadActRecord("state none\nboot \ncode \noutput\n\nend\n")->state,
            ActRecord::State::kNone);
}

}  // namespace
}  // namespace muster::host
