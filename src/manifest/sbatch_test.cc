#include "manifest/sbatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string Script(const std::string& lines) { return "#!/bin/bash\n" + lines + "srun train\n"; }

ReadJob ReadScript(const std::string& lines, std::vector<ManifestNote>* notes = nullptr) {
  const auto script = ParseSbatch(Script(lines), "job.sh");
  EXPECT_TRUE(script.ok()) << (script.ok() ? "" : script.error().message);
  std::vector<ManifestNote> own;
  const auto read = ReadSbatchJob(*script, notes == nullptr ? own : *notes);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? *read : ReadJob{};
}
std::string ScriptTrouble(const std::string& lines) {
  const auto script = ParseSbatch(Script(lines), "job.sh");
  if (!script.ok()) return script.error().message;
  std::vector<ManifestNote> notes;
  const auto read = ReadSbatchJob(*script, notes);
  return read.ok() ? "" : read.error().message;
}

TEST(Sbatch, AGpuGangIsRead) {
  const ReadJob read = ReadScript(
      "#SBATCH --nodes=4 --ntasks-per-node=8\n#SBATCH --gres=gpu:h100:8\n#SBATCH -p gpu -J llm\n"
      "#SBATCH --cpus-per-task=12 --mem=1800G --time=1-12:00:00\n");
  EXPECT_EQ(read.job.name, "llm");
  EXPECT_EQ(read.job.queue, "gpu");
  ASSERT_EQ(read.job.tasks.size(), 1u);
  EXPECT_EQ(read.job.tasks[0].count, 4);
  EXPECT_EQ(read.job.tasks[0].shape.at("nvidia.com/gpu"), 8);
  EXPECT_EQ(read.job.tasks[0].shape.at("cpu"), 96000);
  EXPECT_EQ(read.job.tasks[0].shape.at("memory"), int64_t{1800} << 30);
  EXPECT_EQ(read.job.tasks[0].select.at("gres.type"), "h100");
  EXPECT_EQ(read.job.limit_ms, 129'600'000);
}

TEST(Sbatch, GpusMayBeSaidInFourWays) {
  for (const char* line :
       {"--gres=gpu:8", "--gpus-per-node=8", "--gpus=16", "--gres=craynetwork,gpu:a100:8(S:0-1)",
        "--gpus-per-task=1 --ntasks-per-node=8", "-G h100:16"}) {
    const ReadJob read = ReadScript(std::string("#SBATCH -N2 ") + line + "\n");
    EXPECT_EQ(read.job.tasks.at(0).shape.at("nvidia.com/gpu"), 8) << line;
  }
}

TEST(Sbatch, MemoryIsCountedInItsUnitUpToWhatAMachineMayHave) {
  for (const char* line : {"--mem=64G", "--mem=65536", "--mem=65536M", "--mem=67108864K"})
    EXPECT_EQ(ReadScript(std::string("#SBATCH ") + line + "\n").job.tasks.at(0).shape.at("memory"),
              int64_t{64} << 30)
        << line;
  EXPECT_THAT(ScriptTrouble("#SBATCH --mem=9999999999T\n"), HasSubstr("expected an amount"));
}

TEST(Sbatch, OptionsOfNewerSlurmsAndOfTheContainerPluginAreKnown) {
  std::vector<ManifestNote> notes;
  const ReadJob read = ReadScript(
      "#SBATCH -N2 --container-image=nvcr.io/x:1 --no-container-mount-home --container-remap-root\n"
      "#SBATCH --export-file=env --delay-boot=5 --tres-per-task=gres/gpu:1 --bb=capacity=1G\n",
      &notes);
  EXPECT_EQ(read.job.tasks.at(0).count, 2);
  std::vector<std::string> fields;
  for (const ManifestNote& note : notes) fields.push_back(note.field);
  EXPECT_THAT(fields,
              ::testing::ElementsAre("--export-file", "--delay-boot", "--tres-per-task", "--bb"));
}

TEST(Sbatch, ARangeOfNodesIsElastic) {
  const ReadJob read = ReadScript("#SBATCH -N 2-4\n");
  EXPECT_EQ(read.job.elastic_min, 2);
  EXPECT_EQ(read.job.elastic_max, 4);
}

TEST(Sbatch, TimesAreAsSlurmReadsThem) {
  EXPECT_EQ(SlurmTimeMs("30"), 1'800'000);
  EXPECT_EQ(SlurmTimeMs("30:15"), 1'815'000);
  EXPECT_EQ(SlurmTimeMs("1:00:00"), 3'600'000);
  EXPECT_EQ(SlurmTimeMs("2-00"), 172'800'000);
  EXPECT_EQ(SlurmTimeMs("0-01:30"), 5'400'000);
  EXPECT_EQ(SlurmTimeMs("UNLIMITED"), std::nullopt);
  EXPECT_EQ(SlurmTimeMs("0"), std::nullopt);
  EXPECT_EQ(SlurmTimeMs("1:2:3:4"), std::nullopt);
}

TEST(Sbatch, ErrorsNameThePlaceAndTheNearestOption) {
  EXPECT_THAT(ScriptTrouble("#SBATCH --nodez=4\n"),
              HasSubstr("job.sh:2:9: --nodez is no option of sbatch, did you mean --nodes"));
  EXPECT_THAT(ScriptTrouble("#SBATCH --nodes\n"), HasSubstr("job.sh:2:9: --nodes needs a value"));
  EXPECT_THAT(ScriptTrouble("#SBATCH --nodes=four\n"), HasSubstr("expected a count"));
  EXPECT_THAT(ScriptTrouble("#SBATCH --gres=gpu:h100:x\n"),
              HasSubstr("expected a count such as 8"));
  EXPECT_THAT(ScriptTrouble("#SBATCH four\n"), HasSubstr("expected an option"));
  EXPECT_THAT(ScriptTrouble("#SBATCH -J \"x\n"), HasSubstr("never closed"));
}

TEST(Sbatch, WhatIsNotActedOnIsSaid) {
  std::vector<ManifestNote> notes;
  ReadScript("#SBATCH --switches=1 -N2\n#SBATCH hetjob\n#SBATCH -N1\n", &notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].field, "hetjob");
  EXPECT_THAT(notes[0].what, HasSubstr("not supported"));
  EXPECT_EQ(notes[1].ToString(), "job.sh:2:9: --switches: read, and not acted on");
}

TEST(Sbatch, ADirectiveBelowTheFirstCommandIsAComment) {
  const auto script = ParseSbatch("#!/bin/bash\necho x\n#SBATCH -N 8\n", "job.sh");
  ASSERT_TRUE(script.ok());
  EXPECT_TRUE(script->options.empty());
  ASSERT_EQ(script->late.size(), 1u);
  std::vector<ManifestNote> notes;
  EXPECT_EQ(ReadSbatchJob(*script, notes)->job.tasks[0].count, 1);
  EXPECT_EQ(notes.size(), 1u);
}

TEST(Sbatch, AScriptIsKnownByItsLines) {
  EXPECT_TRUE(LooksLikeSbatch("#!/bin/bash\n#SBATCH -N 2\n"));
  EXPECT_FALSE(LooksLikeSbatch("#SBATCH -N 2\n"));
  EXPECT_FALSE(LooksLikeSbatch("apiVersion: v1\n"));
}

TEST(SbatchLaws, AnyTextIsReadOrRefusedWithItsPlace) {
  EXPECT_TRUE(rc::check("never crashes", [] {
    const auto tail = *rc::gen::container<std::string>(rc::gen::element<char>(
        '-', 'N', '=', '4', ' ', ':', ',', '"', '\'', '#', '\n', 'g', '(', 't'));
    const auto script = ParseSbatch("#!/bin/sh\n#SBATCH --nodes=2 " + tail, "job.sh");
    if (!script.ok()) {
      RC_ASSERT(StartsWith(script.error().message, "job.sh:"));
      return;
    }
    std::vector<ManifestNote> notes;
    const auto read = ReadSbatchJob(*script, notes);
    if (!read.ok()) RC_ASSERT(StartsWith(read.error().message, "job.sh:"));
  }));
}

}  // namespace
}  // namespace muster
