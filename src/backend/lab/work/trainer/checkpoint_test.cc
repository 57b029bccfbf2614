#include "backend/lab/work/trainer/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"

namespace muster::lab {
namespace {

using ::testing::HasSubstr;

constexpr ModelShape kTrained{2, 2, 3};
constexpr int kWorld = 3;

class Checkpoint : public ::testing::Test {
 protected:
  Checkpoint() : parameters_(kTrained.Parameters()), first_(parameters_), second_(parameters_) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i] = static_cast<float>(i);
      first_[i] = static_cast<float>(i) * 2;
      second_[i] = static_cast<float>(i) * 3;
    }
  }
  Status Write(Files& files, int ranks = kWorld) {
    Manifest manifest;
    manifest.step = 60;
    manifest.shape = kTrained;
    for (int r = 0; r < ranks; ++r) {
      TRY(ShardRecord shard,
          WriteShard(files, "/ck", r, kWorld, "node", parameters_, first_, second_));
      manifest.shards.push_back(std::move(shard));
    }
    return WriteManifest(files, "/ck", manifest, kWorld);
  }
  static Result<TrainingState> Read(Files& files) {
    TRY(const Manifest manifest, ReadManifest(files, "/ck"));
    return ReadCheckpoint(files, "/ck", manifest);
  }

  std::vector<float> parameters_, first_, second_;
  testing::MemoryFiles files_;
};

TEST_F(Checkpoint, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(Write(files_).ok());
  const auto state = Read(files_);
  ASSERT_TRUE(state.ok()) << state.error().ToString();
  EXPECT_EQ(state->parameters, parameters_);
  EXPECT_EQ(state->first, first_);
  EXPECT_EQ(state->second, second_);
}

TEST_F(Checkpoint, WithoutAManifestItIsNone) {
  ASSERT_TRUE(Write(files_).ok());
  ASSERT_TRUE(RemoveManifest(files_, "/ck").ok());
  EXPECT_EQ(Read(files_).error().code, Code::kNotFound);
}

TEST_F(Checkpoint, AMissingShardMakesNoManifest) {
  EXPECT_EQ(Write(files_, kWorld - 1).error().code, Code::kInvalid);
  EXPECT_EQ(ReadManifest(files_, "/ck").error().code, Code::kNotFound);
}

TEST_F(Checkpoint, DamageIsNamedWithItsShard) {
  ASSERT_TRUE(Write(files_).ok());
  const std::string path = "/ck/" + ShardName(1, kWorld);
  const std::string whole = files_.Read(path).value();
  std::string flipped = whole;
  flipped[5] = static_cast<char>(flipped[5] ^ 1);
  for (const std::string& bytes : {whole.substr(1), whole + "x", flipped, std::string()}) {
    files_.Put(path, bytes);
    EXPECT_EQ(Read(files_).error().code, Code::kCorrupt);
    EXPECT_THAT(Read(files_).error().message, HasSubstr(ShardName(1, kWorld)));
  }
}

// Whatever breaks on the way and then the power goes: a manifest on the disk means that all of it
// is there.
TEST_F(Checkpoint, AWriteThatBreaksAnywhereLeavesAWholeCheckpointOrNone) {
  for (const auto kind : {testing::FaultKind::kFail, testing::FaultKind::kGarble}) {
    for (int at = 1;; ++at) {
      testing::MemoryFiles disk;
      testing::FaultPlan plan(kind, at);
      testing::FaultyFiles faulty(disk, plan);
      const Status written = Write(faulty);
      disk.Crash();
      EXPECT_EQ(Read(disk).ok(), written.ok()) << "call " << at;
      if (!plan.reached()) break;
    }
  }
}

TEST_F(Checkpoint, SlicesCoverEveryElementOnce) {
  EXPECT_TRUE(rc::check("any size and world", [] {
    const auto size = *rc::gen::inRange<size_t>(0, 500);
    const int world = *rc::gen::inRange(1, 40);
    size_t next = 0;
    for (int r = 0; r < world; ++r) {
      const Slice slice = SliceOf(size, r, world);
      RC_ASSERT(slice.from == next);
      RC_ASSERT(slice.to >= slice.from);
      next = slice.to;
    }
    RC_ASSERT(next == size);
  }));
}

TEST_F(Checkpoint, ManifestsCutAnywhereAreRefused) {
  ASSERT_TRUE(Write(files_).ok());
  const std::string whole = files_.Read("/ck/manifest.json").value();
  ASSERT_TRUE(Manifest::FromJson(whole).ok());
  for (size_t n = 0; n + 1 < whole.size(); ++n)
    EXPECT_FALSE(Manifest::FromJson(whole.substr(0, n)).ok()) << n;
}

TEST_F(Checkpoint, ManifestsThatCannotBeMeantAreRefused) {
  ASSERT_TRUE(Write(files_).ok());
  const std::string whole = files_.Read("/ck/manifest.json").value();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    changed.replace(changed.find(from), from.size(), to);
    return Manifest::FromJson(changed).ok();
  };
  EXPECT_FALSE(with("\"hidden\": 3", "\"hidden\": 3000000"));
  EXPECT_FALSE(with("\"hidden\": 3", "\"hidden\": -3"));
  EXPECT_FALSE(with("\"rank\": 1", "\"rank\": 2"));
  EXPECT_FALSE(with("\"file\": \"shard", "\"file\": \"../shard"));
  EXPECT_FALSE(with("muster-checkpoint-1", "muster-checkpoint-2"));
}

TEST_F(Checkpoint, AnyBytesAreSurvivedAsAManifest) {
  EXPECT_TRUE(rc::check(
      "any text", [](const std::string& text) { RC_ASSERT(!Manifest::FromJson(text).ok()); }));
}

}  // namespace
}  // namespace muster::lab
