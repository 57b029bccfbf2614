#include "app/sharing.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {
namespace {

constexpr int kMigComputeSlices = 7;

MigProfile ReadProfile(const YamlNode& node, std::string_view file, YamlFindings& findings) {
  YamlReader reader(node, file, findings);
  MigProfile profile;
  profile.name = reader.Text("name");
  const auto within = [&](const char* key, int most) {
    const int64_t value = reader.Int(key);
    if (value < 1 || value > most) reader.Say(fmt::format("{}: expected 1 to {}", key, most));
    return static_cast<int>(std::clamp<int64_t>(value, 1, most));
  };
  profile.compute_slices = within("compute", kMigComputeSlices);
  profile.memory_slices = within("size", kMigMemorySlices);
  profile.most = within("most", kMigComputeSlices);
  for (const int64_t start : reader.IntsOr("starts")) {
    if (start < 0 || start + profile.memory_slices > kMigMemorySlices) {
      reader.Say(fmt::format("start {} does not leave {} of {} slices", start,
                             profile.memory_slices, kMigMemorySlices));
    } else {
      profile.starts.push_back(static_cast<int>(start));
    }
  }
  if (profile.starts.empty()) reader.Say("starts: expected at least one");
  if (!std::is_sorted(profile.starts.begin(), profile.starts.end())) {
    reader.Say("starts: expected rising numbers");
  }
  reader.Done();
  return profile;
}

Result<Isolation> ParseIsolation(std::string_view text) {
  for (const Isolation value : {Isolation::kNone, Isolation::kLimited, Isolation::kFull}) {
    if (text == ToString(value)) return value;
  }
  return Fail(Code::kInvalid, fmt::format("{}: expected none, limited or full", text));
}

}  // namespace

Result<Sharing> ParseSharing(std::string_view text, std::string_view file) {
  TRY(const YamlNode root, ParseYaml(text, file));
  YamlFindings findings;
  YamlReader reader(root, file, findings);
  Sharing sharing;
  for (const YamlNode& item : reader.Items("mig")) {
    YamlReader entry(item, file, findings);
    MigModel model;
    model.id = entry.Text("id");
    model.match = entry.TextsOr("match");
    if (model.match.empty()) entry.Say("match: expected at least one word");
    for (const YamlNode& profile : entry.Items("profiles")) {
      model.profiles.push_back(ReadProfile(profile, file, findings));
    }
    model.source = entry.Text("source");
    entry.Done();
    sharing.mig.push_back(std::move(model));
  }
  for (const YamlNode& item : reader.Items("modes")) {
    YamlReader entry(item, file, findings);
    const auto isolation = [&](const char* key) {
      return entry.Parsed(key, &ParseIsolation, Isolation::kNone);
    };
    SharingMode mode;
    mode.id = entry.Text("id");
    mode.what = entry.Text("what");
    mode.memory_capacity = isolation("memory_capacity");
    mode.memory_protection = isolation("memory_protection");
    mode.bandwidth = isolation("bandwidth");
    mode.compute = isolation("compute");
    mode.faults = isolation("faults");
    mode.note = entry.Text("note");
    mode.source = entry.Text("source");
    entry.Done();
    sharing.modes.push_back(std::move(mode));
  }
  reader.Done();
  TRY_VOID(ToStatus(findings));
  return sharing;
}

Result<Sharing> EmbeddedSharing() {
  const auto text = FindEmbedded("sharing.yaml");
  if (!text) return Fail(Code::kInternal, "sharing.yaml is not in this binary");
  return ParseSharing(*text, "sharing.yaml");
}

}  // namespace muster
