#include "app/changes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using ChangeJson = nlohmann::ordered_json;

std::string ChangesPath(const SitePaths& paths) { return paths.state + "/changes.json"; }

ChangeJson JsonOf(const Change& c) {
  return {{"component", c.component},   {"by", c.by},
          {"reason", c.reason},         {"at", FormatTime(c.at)},
          {"public_key", c.public_key}, {"signature", c.signature}};
}

Result<Change> ChangeFrom(const ChangeJson& entry) {
  try {
    Change change;
    change.component = entry.at("component").get<std::string>();
    change.by = entry.at("by").get<std::string>();
    change.reason = entry.at("reason").get<std::string>();
    TRY(change.at, ParseTime(entry.at("at").get<std::string>()));
    change.public_key = entry.at("public_key").get<std::string>();
    change.signature = entry.at("signature").get<std::string>();
    return change;
  } catch (const ChangeJson::exception& e) {
    return Fail(Code::kCorrupt, fmt::format("not a change: {}", e.what()));
  }
}

}  // namespace

std::string Change::Canonical() const {
  return ChangeJson{
      {"at", FormatTime(at)}, {"by", by}, {"component", component}, {"reason", reason}}
      .dump();
}

std::vector<std::string> StalingComponents(const Catalogue& catalogue) {
  std::set<std::string> names;
  for (const GateInfo& gate : catalogue.gates)
    names.insert(gate.staled_by.begin(), gate.staled_by.end());
  return {names.begin(), names.end()};
}

std::vector<int> GatesStandingOn(const Catalogue& catalogue, const std::string& component) {
  std::vector<int> gates;
  for (const GateInfo& gate : catalogue.gates) {
    if (std::find(gate.staled_by.begin(), gate.staled_by.end(), component) != gate.staled_by.end())
      gates.push_back(gate.id);
  }
  return gates;
}

Result<std::vector<Change>> ReadChanges(Files& files, const SitePaths& paths) {
  const std::string path = ChangesPath(paths);
  auto text = files.Read(path);
  if (!text.ok()) {
    if (text.error().code == Code::kNotFound) return std::vector<Change>{};
    return tl::unexpected(std::move(text.error()));
  }
  const ChangeJson document = ChangeJson::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("changes") || !document["changes"].is_array())
    return Fail(Code::kCorrupt, fmt::format("{} is not a list of changes", path));
  std::vector<Change> changes;
  for (const ChangeJson& entry : document["changes"]) {
    TRY(Change change, ChangeFrom(entry).Context(path));
    if (!VerifySignature(change.public_key, change.Canonical(), change.signature)) {
      return Fail(Code::kCorrupt,
                  fmt::format("{}: the change of {} by {} was edited after it was signed", path,
                              Printable(change.component), Printable(change.by)));
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

Result<Change> AddChange(World& world, const SitePaths& paths, const Catalogue& catalogue,
                         const std::string& component, const std::string& by,
                         const std::string& reason) {
  const std::vector<std::string> known = StalingComponents(catalogue);
  if (std::find(known.begin(), known.end(), component) == known.end()) {
    return Fail(Code::kInvalid, fmt::format("no gate stands on \"{}\", expected one of {}",
                                            Printable(component), Join(known, ", ")));
  }
  if (by.empty() || reason.empty())
    return Fail(Code::kInvalid, "a change names who says so (--by) and what changed (--reason)");
  TRY(std::vector<Change> changes, ReadChanges(world.files, paths));
  TRY(const SigningKey key, SiteKey(world, paths));
  Change change;
  change.component = component;
  change.by = by;
  change.reason = reason;
  change.at = std::chrono::floor<std::chrono::milliseconds>(world.clock.Now());
  change.public_key = key.public_hex;
  TRY(change.signature, Sign(key, change.Canonical()));
  changes.push_back(change);
  ChangeJson document = {
      {"apiVersion", "muster/v1"}, {"kind", "Changes"}, {"changes", ChangeJson::array()}};
  for (const Change& c : changes) document["changes"].push_back(JsonOf(c));
  TRY_VOID(world.files.MakeFolders(paths.state));
  TRY_VOID(world.files.WriteAtomic(ChangesPath(paths), document.dump(2) + "\n"));
  return change;
}

}  // namespace muster
