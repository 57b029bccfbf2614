// Golden tests: what each probe makes of what real tools printed. A manifest captures/**/*.test
// says
//   source: FILE       beside the manifest, or shared:PATH for a capture of somebody else's, which
//                      is read from beside the project and skipped, with a message, where it is not
//   probe: ID          of app/probe_table
//   expect: FILE       one observation a line, beside the manifest
//   host: NAME         where it was read (default node000)
//   exit: N            of the command (default 0)
// UPDATE_GOLDEN=1 writes the expected files; a person reads the difference before it is kept.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/probe_table.h"
#include "base/strings.h"
#include "world/testing/captures.h"

namespace muster {
namespace {

constexpr std::string_view kShared = "shared:";

std::vector<std::string> Manifests() {
  const std::filesystem::path root = std::filesystem::path(MUSTER_SOURCE_DIR) / "captures";
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".test") found.push_back(entry.path().lexically_relative(root));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::map<std::string, std::string> Keys(const std::string& text) {
  std::map<std::string, std::string> keys;
  for (const std::string_view line : Lines(text)) {
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      ADD_FAILURE() << "not a manifest line: " << line;
      continue;
    }
    keys[std::string(line.substr(0, colon))] = Trim(line.substr(colon + 2));
  }
  return keys;
}

// Exact, where FormatValue would round for a person.
std::string Exact(const Value& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const double* d = std::get_if<double>(&value)) return fmt::format("{}", *d);
  return Printable(std::get<std::string>(value));
}

std::string Dump(const Observations& observations) {
  std::string text;
  for (const Observation& o : observations) {
    text += fmt::format("{} | {} | ", o.subject.ToString(), o.fact);
    if (const Unobserved* none = o.unobserved()) {
      text += fmt::format("UNKNOWN {}: {}\n", ToString(none->reason), Printable(none->detail));
    } else {
      const std::string_view unit = ToString(o.unit);
      text += fmt::format("{}{}{}\n", Exact(*o.value()), unit.empty() ? "" : " ", unit);
    }
  }
  return text;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, ProbeReadsWhatTheToolPrinted) {
  const std::string path = std::string(MUSTER_SOURCE_DIR) + "/captures/" + GetParam();
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  auto keys = Keys(testing::ReadWhole(path).value());
  const Probe* probe = FindProbe(keys["probe"]);
  ASSERT_NE(probe, nullptr) << "no probe is called " << keys["probe"];
  ASSERT_FALSE(keys["expect"].empty());

  const auto shared = After(keys["source"], kShared);
  const auto text = shared ? testing::SharedCapture(MUSTER_SOURCE_DIR, std::string(*shared))
                           : testing::ReadWhole(folder + keys["source"]);
  if (shared && !text) GTEST_SKIP() << *shared << " is not beside the project";
  ASSERT_TRUE(text) << "there is no " << keys["source"];

  Reading reading;
  reading.probe = keys["probe"];
  reading.host = keys.contains("host") ? keys["host"] : "node000";
  reading.command = "(golden)";
  if (keys.contains("exit")) reading.exit_code = static_cast<int>(ParseInt(keys["exit"]).value());
  reading.text = *text;
  reading.at = ParseTime("2026-11-20T12:00:00Z").value();
  const std::string dump = Dump(ParseReading(*probe, reading));

  const std::string expected_path = folder + keys["expect"];
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(expected_path, std::ios::binary) << dump;
    return;
  }
  const auto expected = testing::ReadWhole(expected_path);
  ASSERT_TRUE(expected) << expected_path << " is missing; make it with UPDATE_GOLDEN=1 and read it";
  EXPECT_EQ(dump, *expected);
}

INSTANTIATE_TEST_SUITE_P(Captures, Golden, ::testing::ValuesIn(Manifests()), [](const auto& which) {
  std::string name = which.param.substr(0, which.param.size() - 5);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(GoldenManifests, AreThere) { EXPECT_GE(Manifests().size(), 20u); }

}  // namespace
}  // namespace muster
