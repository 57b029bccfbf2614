#include "app/bom.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"
#include "catalogue/embedded.h"
#include "probes/infiniband/probes.h"
#include "probes/node/probes.h"
#include "probes/node/software.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

void AddSoftware(const HostPorts& ports, const std::string& node, std::vector<BomItem>& items) {
  const Reading reading = node::CollectSoftware(ports);
  const auto list = node::SoftwareOf(reading);
  if (!list) {
    items.push_back(
        {node, "software", "", reading.fault ? reading.fault->detail : "the answer was cut"});
    return;
  }
  for (const node::SoftwareItem& item : *list) items.push_back({node, item.name, item.version, ""});
}

void AddFirmware(const HostPorts& ports, const std::string& node, std::vector<BomItem>& items) {
  const Probe* probe = FindProbe("infiniband.ibstat");
  if (probe == nullptr) return;
  const Reading reading = probe->collect(ports);
  for (const Observation& seen : ParseReading(*probe, reading)) {
    if (seen.fact != "hca.firmware") continue;
    const std::string id = seen.subject.id.substr(seen.subject.id.find('/') + 1);
    if (const Value* value = seen.value()) {
      items.push_back({node, "firmware:" + id, FormatValue(*value, Unit::kNone), ""});
    } else {
      items.push_back({node, "firmware:" + id, "", "ibstat tells no firmware"});
    }
  }
}

void SortItems(std::vector<BomItem>& items) {
  std::sort(items.begin(), items.end(), [](const BomItem& a, const BomItem& b) {
    return std::tie(a.node, a.name) < std::tie(b.node, b.name);
  });
}

std::string SerialOf(const Bom& bom) {
  std::string text = bom.site + FormatTime(bom.at);
  for (const BomItem& item : bom.items)
    text += fmt::format("\n{}\t{}\t{}", item.node, item.name, item.version);
  const std::string h = Sha256Hex(text);
  return fmt::format("urn:uuid:{}-{}-5{}-8{}-{}", h.substr(0, 8), h.substr(8, 4), h.substr(13, 3),
                     h.substr(17, 3), h.substr(20, 12));
}

// The numbers of a version from the left: "1:2.26.5-1+cuda12.8" gives 2, 26, 5.
std::optional<std::vector<int64_t>> NumbersOf(std::string_view version) {
  if (const size_t colon = version.find(':'); colon != std::string_view::npos)
    version.remove_prefix(colon + 1);
  version = version.substr(0, version.find_first_of("-+~"));
  if (!version.empty() && (version.front() == 'v' || version.front() == 'V'))
    version.remove_prefix(1);
  std::vector<int64_t> numbers;
  for (const std::string_view part : Split(version, '.')) {
    const auto number = ParseInt(part);
    if (!number.ok()) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

bool OfBranch(std::string_view version, std::string_view branch) {
  if (branch.empty()) return true;
  const auto have = NumbersOf(version), want = NumbersOf(branch);
  return have && want && have->size() >= want->size() &&
         std::equal(want->begin(), want->end(), have->begin());
}

}  // namespace

Result<Bom> RecordBom(SiteContext& context, std::vector<std::string> nodes, Progress& progress) {
  const Site& site = context.site();
  for (const std::string& name : nodes) {
    if (site.cluster.FindNode(name) == nullptr)
      return Fail(Code::kInvalid, fmt::format("site {} has no node {}", site.name, name));
  }
  if (nodes.empty()) nodes = site.ScopeNodes("").value();
  std::vector<std::vector<BomItem>> found(nodes.size());
  progress.Note(
      fmt::format("reading what {} node{} run", nodes.size(), nodes.size() == 1 ? "" : "s"));
  Bom bom{site.name, "", context.world.clock.Now(), context.hosts->origin(), {}};
  ForEachParallel(nodes.size(), context.hosts->Parallel(), [&](size_t i) {
    const auto ports = context.hosts->At(nodes[i]);
    if (!ports.ok()) {
      found[i].push_back({nodes[i], "software", "", ports.error().message});
      return;
    }
    AddSoftware(*ports, nodes[i], found[i]);
    const Node* node = site.cluster.FindNode(nodes[i]);
    if (node != nullptr && !node->nics.empty()) AddFirmware(*ports, nodes[i], found[i]);
  });
  for (auto& items : found) bom.items.insert(bom.items.end(), items.begin(), items.end());
  for (const auto& [name, value] : site.pins) bom.items.push_back({"", "pin:" + name, value, ""});
  SortItems(bom.items);
  bom.serial = SerialOf(bom);
  return bom;
}

std::vector<BomChange> DiffBom(const Bom& was, const Bom& is) {
  std::map<std::pair<std::string, std::string>, std::pair<const BomItem*, const BomItem*>> both;
  for (const BomItem& item : was.items) both[{item.node, item.name}].first = &item;
  for (const BomItem& item : is.items) both[{item.node, item.name}].second = &item;
  std::vector<BomChange> changes;
  for (const auto& [key, pair] : both) {
    const auto [before, after] = pair;
    const bool unknown = (before != nullptr && before->version.empty()) ||
                         (after != nullptr && after->version.empty());
    const std::string from = before == nullptr ? "" : before->version;
    const std::string to = after == nullptr ? "" : after->version;
    if (unknown || from != to) changes.push_back({key.first, key.second, from, to, unknown});
  }
  return changes;
}

std::vector<BomDrift> DriftWithin(const Bom& bom, const std::map<std::string, std::string>& group) {
  const auto group_of = [&](const std::string& node) {
    const auto it = group.find(node);
    return it == group.end() ? std::string() : it->second;
  };
  std::map<std::string, std::set<std::string>> members;  // group -> nodes that were read
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> parts;
  for (const BomItem& item : bom.items) {
    if (item.node.empty() || item.version.empty()) continue;
    members[group_of(item.node)].insert(item.node);
    parts[{group_of(item.node), item.name}][item.node] = item.version;
  }
  std::vector<BomDrift> drifts;
  for (const auto& [key, versions] : parts) {
    std::map<std::string, size_t> counts;
    for (const std::string& node : members[key.first]) {
      const auto it = versions.find(node);
      ++counts[it == versions.end() ? "" : it->second];
    }
    if (counts.size() < 2) continue;
    const auto most =
        std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
          return std::make_tuple(a.second, b.first) < std::make_tuple(b.second, a.first);
        });
    BomDrift drift{key.second, most->first, most->second, {}};
    for (const std::string& node : members[key.first]) {
      const auto it = versions.find(node);
      const std::string version = it == versions.end() ? "" : it->second;
      if (version != drift.usual) drift.odd.emplace_back(node, version);
    }
    drifts.push_back(std::move(drift));
  }
  return drifts;
}

Result<MinimumTable> ParseMinimumTable(std::string_view text, const std::string& name) {
  TRY(const YamlNode root, ParseYaml(text, name));
  YamlFindings findings;
  YamlReader reader(root, name, findings);
  MinimumTable table;
  table.as_of = reader.Text("as_of");
  const auto dated = ParseTime(table.as_of + "T00:00:00Z");
  if (dated.ok()) {
    table.dated = *dated;
  } else if (!table.as_of.empty()) {
    reader.Say(fmt::format("as_of: \"{}\" is no date like 2026-09-25", table.as_of));
  }
  table.stale_after_days = static_cast<int>(reader.IntOr("stale_after_days", 45));
  const YamlNode* sources = reader.Child("sources");
  for (const YamlNode& item : reader.Items("entries")) {
    YamlReader entry_reader(item, name, findings);
    MinimumVersion entry{entry_reader.Text("id"), entry_reader.Text("part"),
                         entry_reader.TextOr("branch", ""), entry_reader.Text("minimum"),
                         entry_reader.Text("source")};
    entry_reader.Done();
    if (!entry.minimum.empty() && !NumbersOf(entry.minimum))
      entry_reader.Say(
          fmt::format("minimum \"{}\" is no version of numbers like 570.211.01", entry.minimum));
    if (sources != nullptr) {
      if (const YamlNode* full = sources->Find(entry.source)) entry.source = full->text;
    }
    table.entries.push_back(std::move(entry));
  }
  reader.Done();
  TRY_VOID(ToStatus(findings));
  return table;
}

Result<MinimumTable> EmbeddedMinimumTable() {
  const auto text = FindEmbedded("minimum_versions.yaml");
  if (!text) return Fail(Code::kInternal, "this binary has no table of minimum versions");
  return ParseMinimumTable(*text, "minimum_versions.yaml");
}

std::vector<BomFinding> HoldToMinimums(const Bom& bom, const MinimumTable& table, TimePoint now) {
  std::vector<BomFinding> findings;
  const auto age_days =
      std::chrono::duration_cast<std::chrono::hours>(now - table.dated).count() / 24;
  if (table.stale_after_days > 0 && age_days > table.stale_after_days) {
    findings.push_back(
        {Level::kWarn, "", "table", table.as_of,
         fmt::format("the table of minimum versions is {} days old: newer advisories "
                     "are not in it",
                     age_days),
         ""});
  }
  for (const BomItem& item : bom.items) {
    const MinimumVersion* of_branch = nullptr;
    bool known_part = false;
    for (const MinimumVersion& entry : table.entries) {
      if (entry.part != item.name) continue;
      known_part = true;
      if (OfBranch(item.version, entry.branch)) of_branch = &entry;
    }
    if (item.name == "software" && item.version.empty()) {
      findings.push_back(
          {Level::kUnknown, item.node, item.name, "", "not read: " + item.unknown, ""});
      continue;
    }
    if (!known_part) continue;
    if (of_branch == nullptr) {
      findings.push_back({Level::kUnknown, item.node, item.name, item.version,
                          "the table has no minimum for this branch", ""});
      continue;
    }
    const auto order = CompareVersions(item.version, of_branch->minimum);
    if (order && *order >= 0) continue;
    findings.push_back({order ? Level::kFail : Level::kUnknown, item.node, item.name, item.version,
                        order ? fmt::format("below {}", of_branch->minimum)
                              : fmt::format("cannot be held against {}", of_branch->minimum),
                        of_branch->source});
  }
  return findings;
}

std::optional<int> CompareVersions(std::string_view a, std::string_view b) {
  auto left = NumbersOf(a), right = NumbersOf(b);
  if (!left || !right) return std::nullopt;
  const size_t size = std::max(left->size(), right->size());
  left->resize(size);
  right->resize(size);
  return *left < *right ? -1 : *left > *right ? 1 : 0;
}

}  // namespace muster
