#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "yaml/yaml.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class YamlReaderTest : public ::testing::Test {
 protected:
  YamlReader Read(std::string_view text) {
    root_ = ParseYaml(text, "t.yaml").value();
    return YamlReader(root_, "t.yaml", findings_);
  }
  std::vector<std::string> Said() const {
    std::vector<std::string> said;
    for (const YamlFinding& finding : findings_) said.push_back(finding.ToString());
    return said;
  }
  YamlNode root_;
  YamlFindings findings_;
};

TEST_F(YamlReaderTest, ReadsWhatIsThere) {
  YamlReader r = Read(
      "name: a\nn: 7\nreal: 1.5\non: true\nwait: 2m\nrate: 400 Gb/s\nlist: [x, y]\nints: [1, 2]\n");
  EXPECT_EQ(r.Text("name"), "a");
  EXPECT_EQ(r.Int("n"), 7);
  EXPECT_EQ(r.RealOr("real", 0), 1.5);
  EXPECT_TRUE(r.BoolOr("on", false));
  EXPECT_EQ(r.DurationOr("wait", {}), std::chrono::minutes(2));
  EXPECT_EQ(r.QuantityIfAny("rate", Unit::kGbitPerSec), (Quantity{400, Unit::kGbitPerSec}));
  EXPECT_THAT(r.TextsOr("list"), ElementsAre("x", "y"));
  EXPECT_THAT(r.IntsOr("ints"), ElementsAre(1, 2));
  r.Done();
  EXPECT_TRUE(findings_.empty()) << Said()[0];
  EXPECT_TRUE(ToStatus(findings_).has_value());
}

TEST_F(YamlReaderTest, AbsentOptionalsHaveTheirDefault) {
  YamlReader r = Read("{a: ~}");
  EXPECT_EQ(r.IntOr("a", 3), 3);
  EXPECT_EQ(r.TextOr("b", "x"), "x");
  EXPECT_FALSE(r.QuantityIfAny("c").has_value());
  EXPECT_THAT(r.TextsOr("d", {"y"}), ElementsAre("y"));
  r.Done();
  EXPECT_TRUE(findings_.empty());
}

TEST_F(YamlReaderTest, EverythingWrongIsSaidAtOnceInOrder) {
  YamlReader r = Read("nodez: 4\nrate: 400 GB/s\ncount: 0100\nflag: yes\n");
  r.Int("nodes");
  r.QuantityIfAny("rate", Unit::kGbitPerSec);
  r.Int("count");
  r.BoolOr("flag", true);
  r.Done();
  const Status status = ToStatus(findings_);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_EQ(status.error().message,
            "t.yaml:1:1: key nodes is missing\n"
            "t.yaml:1:1: unknown key nodez, did you mean nodes\n"
            "t.yaml:2:7: rate: expected a number in Gb/s, found \"400 GB/s\"\n"
            "t.yaml:3:8: count: expected a whole number without a leading zero, found \"0100\"\n"
            "t.yaml:4:7: flag: expected true or false, found \"yes\"");
}

TEST_F(YamlReaderTest, AQuotedNumberIsNoNumber) {
  YamlReader r = Read("n: '7'\n");
  EXPECT_EQ(r.IntOr("n", 1), 1);
  EXPECT_THAT(Said()[0], HasSubstr("expected a whole number"));
}

TEST_F(YamlReaderTest, NumbersAreReadWhole) {
  for (const char* bad :
       {"12x", "0x10", "1_000", "1.5", "99999999999999999999", "1e3", "0o17", "08"}) {
    findings_.clear();
    YamlReader r = Read(std::string("n: ") + bad + "\n");
    EXPECT_EQ(r.IntOr("n", -1), -1) << bad;
    EXPECT_EQ(findings_.size(), 1u) << bad;
  }
  YamlReader r = Read("a: 0\nb: -7\nc: 0.5\nd: 1e-3\n");
  EXPECT_EQ(r.Int("a"), 0);
  EXPECT_EQ(r.Int("b"), -7);
  EXPECT_EQ(r.RealOr("c", 0), 0.5);
  EXPECT_EQ(r.RealOr("d", 0), 0.001);
}

TEST_F(YamlReaderTest, AMappingWhereAListIsWantedIsSaid) {
  YamlReader r = Read("a: {b: 1}\nc: [[1]]\n");
  EXPECT_TRUE(r.Items("a").empty());
  EXPECT_TRUE(r.TextsOr("c").empty());
  EXPECT_THAT(Said()[0], HasSubstr("a: expected a list, found a mapping"));
  EXPECT_THAT(Said()[1], HasSubstr("c: expected a text, found a list"));
}

TEST_F(YamlReaderTest, WhatIsNoMappingIsSaidOnce) {
  YamlReader r = Read("[1]");
  r.Text("a");
  r.Int("b");
  r.Done();
  EXPECT_THAT(Said(), ElementsAre("t.yaml:1:1: expected a mapping, found a list"));
}

TEST_F(YamlReaderTest, AParserOfTheHouseIsAskedAndQuoted) {
  YamlReader r = Read("on: gpuu\nok: gpu\n");
  EXPECT_EQ(r.Parsed("ok", &ParseUnit, Unit::kNone), Unit::kNone);
  EXPECT_THAT(Said()[0], HasSubstr("ok: unknown unit \"gpu\""));
}

TEST_F(YamlReaderTest, AnUnknownKeyFarFromAllListsThem) {
  YamlReader r = Read("zzzzzzzzzz: 1\n");
  r.TextOr("name", "");
  r.IntOr("count", 0);
  r.Done();
  EXPECT_THAT(Said()[0], HasSubstr("expected one of name, count"));
}

TEST_F(YamlReaderTest, WhatAFileSaysIsShownSafely) {
  YamlReader r = Read("\"\\e[2Jx\": 1\n");
  r.Done();
  EXPECT_THAT(Said()[0], HasSubstr("\\x1b[2Jx"));
}

}  // namespace
}  // namespace muster
