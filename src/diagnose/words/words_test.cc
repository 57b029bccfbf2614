#include "diagnose/words/words.h"

#include <iostream>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/words/case_files.h"

namespace muster::diagnose::words {
namespace {

const std::vector<std::string_view> kLayers = {"gpu", "storage"};

Model Small() {
  const std::vector<Example> examples = {
      {"storage", "nfs server not responding\nread failed on the mount"},
      {"storage", "stale file handle of the nfs mount"},
      {"gpu", "xid reported, reset the board"},
      {"gpu", "board reports double bit errors"},
      {"", "mount of the file server done\nboard ready"},
      {"", "all done, ready"},
  };
  return Model::Train(kLayers, examples);
}

TEST(Words, AreCountedOnceALineAndMoreWhereALineComplains) {
  const auto weights = WordsOf(Lines("Disk disk DISK ok\nno such disk"));
  EXPECT_DOUBLE_EQ(weights.at("disk"), 0.4 + 2.0);
  EXPECT_TRUE(weights.contains("such disk"));
  EXPECT_FALSE(weights.contains("s")) << "a letter is no word";
  std::string often;
  for (int i = 0; i < 50; ++i) often += "disk failed\n";
  EXPECT_DOUBLE_EQ(WordsOf(Lines(often)).at("disk"), kMostWeight);
}

TEST(Words, TellALayerAndAFailure) {
  const Model model = Small();
  const Reading bad = model.Read(Lines("the mount of the nfs server failed"));
  EXPECT_EQ(bad.layer, "storage");
  EXPECT_GT(bad.failure, 0);
  EXPECT_LE(model.Read(Lines("all done, ready")).failure, 0);
}

TEST(Words, NeverSeenTellNothing) {
  const Reading reading = Small().Read(Lines("lorem ipsum"));
  EXPECT_EQ(reading.layer, "");
  EXPECT_EQ(reading.failure, 0);
  EXPECT_EQ(Small().Read({}).layer, "");
}

TEST(Words, NameTheLineThatSaysMost) {
  const Model model = Small();
  const auto lines = Lines("all done\nready\nnfs server not responding\ndone");
  EXPECT_EQ(model.MostTelling(lines, "storage"), 2u);
  EXPECT_EQ(model.MostTelling(Lines("lorem\nipsum"), "storage"), 2u) << "none: the number of lines";
  EXPECT_EQ(model.MostTelling(lines, "no layer"), lines.size());
}

TEST(Words, AModelIsWrittenAndReadBackWhole) {
  const std::string text = Small().Write();
  const auto read = Model::Parse(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->Write(), text);
}

TEST(Words, ADamagedModelIsRefusedWithItsLine) {
  EXPECT_FALSE(Model::Parse("").ok());
  const std::string head = "gpu storage\n*\t2 0:2 1:2\n";
  EXPECT_TRUE(Model::Parse(head).ok());
  for (const std::string bad : {"disk", "disk\tx", "disk\t0 1", "disk\t0 2:1", "disk\t0 0:-1"}) {
    const auto read = Model::Parse(head + bad + "\n");
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_TRUE(read.error().message.starts_with("3: ")) << read.error().message;
  }
}

// The cases that are held back teach the model nothing. Whether the layer is right is held where
// the causes are known: second_opinion_test.cc.
TEST(Words, OfTheBuildReadMostFailuresTheyNeverSawAsFailures) {
  const auto model = Model::Parse(EmbeddedModelText());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto cases = ReadCases(std::string(MUSTER_SOURCE_DIR) + "/captures/diagnose-held-back");
  ASSERT_FALSE(cases.empty());
  size_t known = 0, telling = 0;
  for (const Case& c : cases) {
    if (c.outcome != "finding") continue;
    std::string text;
    for (const auto& [name, bytes] : c.files) text += bytes;
    const auto lines = Lines(text);
    const Reading reading = model->Read(lines);
    EXPECT_FALSE(reading.layer.empty()) << c.name;
    ++known;
    telling += reading.failure > 0 ? 1 : 0;
  }
  std::cout << "by words alone: " << telling << " of " << known << " read like failures\n";
  EXPECT_GE(2 * telling, known);
}

}  // namespace
}  // namespace muster::diagnose::words
