#include "cli/output.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "app/testing/lab_site.h"
#include "app/testing/xml.h"
#include "base/strings.h"
#include "yaml/yaml.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// The same value, read back by our own YAML reader: structure, and every text and number in it.
std::string Difference(const Json& json, const YamlNode& yaml, const std::string& where = "$") {
  if (json.is_object()) {
    if (json.empty()) return yaml.entries.empty() ? "" : where + ": not empty";
    if (yaml.kind != YamlNode::Kind::kMapping) return where + ": no mapping";
    if (yaml.entries.size() != json.size()) return where + ": another number of keys";
    size_t i = 0;
    for (const auto& [key, value] : json.items()) {
      if (yaml.entries[i].key != key) return where + ": key " + yaml.entries[i].key;
      if (auto d = Difference(value, yaml.entries[i].value, where + "." + key); !d.empty())
        return d;
      ++i;
    }
    return "";
  }
  if (json.is_array()) {
    if (json.empty()) return yaml.items.empty() ? "" : where + ": not empty";
    if (yaml.kind != YamlNode::Kind::kSequence) return where + ": no list";
    if (yaml.items.size() != json.size()) return where + ": another length";
    for (size_t i = 0; i < json.size(); ++i) {
      if (auto d = Difference(json[i], yaml.items[i], where + "[]"); !d.empty()) return d;
    }
    return "";
  }
  if (json.is_null()) return yaml.IsNull() ? "" : where + ": not null";
  if (yaml.kind != YamlNode::Kind::kScalar) return where + ": no scalar";
  if (json.is_string()) {
    if (yaml.text != json.get<std::string>()) return where + ": " + yaml.text;
    if (!yaml.quoted && (YamlReal(yaml).ok() || YamlInt(yaml).ok() || YamlBool(yaml).ok()))
      return where + ": the text " + yaml.text + " is read as something else";
    return "";
  }
  if (yaml.quoted) return where + ": a number in quotes";
  if (json.is_boolean())
    return YamlBool(yaml).ok() && *YamlBool(yaml) == json.get<bool>() ? "" : where + ": bool";
  if (json.is_number_integer())
    return YamlInt(yaml).ok() && *YamlInt(yaml) == json.get<int64_t>() ? "" : where + ": int";
  return YamlReal(yaml).ok() && *YamlReal(yaml) == json.get<double>() ? "" : where + ": real";
}

std::string RoundTrip(const Json& json) {
  const std::string text = ToYaml(json);
  const auto yaml = ParseYaml(text, "out");
  return yaml.ok() ? Difference(json, *yaml) : yaml.error().message + "\n" + text;
}

TEST(Output, YamlIsReadBackAsTheSameDocument) {
  EXPECT_EQ(RoundTrip(Json::parse(R"({
    "kind": "SiteStatus", "empty": {}, "none": [], "nothing": null, "yes": true, "n": -7, "x": 0.5,
    "texts": ["plain", "true", "null", "12", "1.5", ".5", ".inf", "~", "", " a", "a ", "a: b", "# c",
              "- d", "{", "[", "*", "&x", "!", "%", "@", "`", "'", "\"", "a\nb", "\t", "\u00e4",
              "0x1f", "1e5", "no", "NaN", "2026-11-20T12:00:00Z", "[redacted]", "a # b", "?", "-", "=="],
    "nested": [{"a": 1, "b": {"c": [1, 2, [3, [4]]]}}, [], {}, [{"d": "e"}]],
    "odd: key": 1, "true": 2, "": 3
  })")),
            "");
}

RC_GTEST_PROP(OutputProperty, AnyPrintableTextIsReadBackFromYaml, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  const std::string difference = RoundTrip({{"a", text}, {"b", {text, {{"c", text}}}}});
  if (!difference.empty()) RC_FAIL(difference);
}

TEST(Output, JunitIsWellFormedAndCountsEveryLevel) {
  const std::string xml =
      ToJunit("a <\"b\"> & \x1b[1m", {{"s", "pass", Level::kPass, ""},
                                      {"s", "<warn>", Level::kWarn, "a & b"},
                                      {"s", "fail", Level::kFail, "\"quoted\"\nsecond line"},
                                      {"s", "unknown", Level::kUnknown, "\xff\x01"},
                                      {"s", "n/a", Level::kNotApplicable, "no"}});
  EXPECT_EQ(muster::testing::XmlProblem(xml), "") << xml;
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\""));
}

RC_GTEST_PROP(OutputProperty, AnyBytesInJunitAreWellFormed,
              (const std::string& name, const std::string& message)) {
  for (const Level level : {Level::kWarn, Level::kFail, Level::kUnknown, Level::kNotApplicable}) {
    RC_ASSERT(muster::testing::XmlProblem(ToJunit(name, {{name, message, level, message}})) == "");
  }
}

class OutputTest : public ::testing::Test {
 protected:
  std::string Emitted(const std::string& format, const Document& document) {
    out_.str("");
    Emit(context_, {format}, document);
    return out_.str();
  }
  muster::testing::TestMachine machine_;
  std::ostringstream out_, err_;
  Context context_{.world = machine_.world(), .out = out_, .err = err_};
};

TEST_F(OutputTest, EveryFormIsOfTheSameDocument) {
  Document document;
  document.kind = "Thing";
  *document.json = {{"a", 1}};
  document.table = "the table\n";
  document.brief = "brief\n";
  document.cases = {{"s", "n", Level::kPass, ""}};
  EXPECT_EQ(Emitted("table", document), "the table\n");
  EXPECT_EQ(Emitted("short", document), "brief\n");
  const Json json = Json::parse(Emitted("json", document));
  EXPECT_EQ(json["apiVersion"], "muster/v1");
  EXPECT_EQ(json["kind"], "Thing");
  EXPECT_EQ(json["a"], 1);
  EXPECT_EQ(Emitted("yaml", document), "apiVersion: muster/v1\nkind: Thing\na: 1\n");
  EXPECT_EQ(muster::testing::XmlProblem(Emitted("junit", document)), "");
  document.brief.clear();
  EXPECT_EQ(Emitted("short", document), "the table\n");
}

TEST_F(OutputTest, ComplaintIsPrintableAndGoesToStderr) {
  EXPECT_EQ(Complain(context_, Code::kInvalid, "bad \x1b[31m"), ExitCode::kUsage);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("muster: "));
  EXPECT_EQ(err_.str().find('\x1b'), std::string::npos);
}

TEST_F(OutputTest, ComplaintOfSeveralLinesKeepsThem) {
  Complain(context_, Code::kInvalid, "site.yaml:1:1: a\nsite.yaml:2:1: b");
  EXPECT_THAT(err_.str(), HasSubstr("site.yaml:1:1: a\nsite.yaml:2:1: b"));
}

TEST_F(OutputTest, EveryKindOfErrorHasItsExitCode) {
  const std::pair<Code, ExitCode> kCodes[] = {
      {Code::kInternal, ExitCode::kInternal},   {Code::kUnavailable, ExitCode::kInternal},
      {Code::kNotFound, ExitCode::kUsage},      {Code::kInvalid, ExitCode::kUsage},
      {Code::kParse, ExitCode::kUsage},         {Code::kCorrupt, ExitCode::kUsage},
      {Code::kConflict, ExitCode::kRefused},    {Code::kRefused, ExitCode::kRefused},
      {Code::kTimeout, ExitCode::kTimeout},     {Code::kCancelled, ExitCode::kInterrupted},
      {Code::kPermission, ExitCode::kInternal},
  };
  for (const auto& [code, exit] : kCodes) {
    Error error;
    error.code = code;
    EXPECT_EQ(ExitCodeFor(error), exit) << ToString(code);
  }
  EXPECT_EQ(ExitCodeFor(Level::kPass, true), ExitCode::kDone);
  EXPECT_EQ(ExitCodeFor(Level::kWarn, false), ExitCode::kDone);
  EXPECT_EQ(ExitCodeFor(Level::kWarn, true), ExitCode::kWarn);
  EXPECT_EQ(ExitCodeFor(Level::kFail, false), ExitCode::kFail);
  EXPECT_EQ(ExitCodeFor(Level::kUnknown, false), ExitCode::kUnknown);
}

}  // namespace
}  // namespace muster::cli
