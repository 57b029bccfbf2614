// The bill of materials (P2): which kernel, driver, firmware, libraries and images every node runs,
// recorded, compared with another record, held against the other nodes and against dated minimum
// versions. What could not be read is in the record as not known, with the reason, and is never
// "no change".
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"

namespace muster {

struct BomItem {
  std::string node;     // "" = of the whole site (a pin of the site file)
  std::string name;     // "driver", "kernel", "package:libnccl2", "firmware:mlx5_0", "pin:..."
  std::string version;  // empty = not known
  std::string unknown;  // why, where it is not known
  bool operator==(const BomItem&) const = default;
};

struct Bom {
  std::string site, serial;  // serial: "urn:uuid:..."
  TimePoint at;
  Origin origin = Origin::kLive;
  std::vector<BomItem> items;  // ordered by node, then name
};

// Looks at every node (all of the site when `nodes` is empty). A node that does not answer is one
// item "software" that is not known.
Result<Bom> RecordBom(SiteContext& context, std::vector<std::string> nodes, Progress& progress);

// CycloneDX 1.5 JSON: a device a node, its parts inside; and back. Reading accepts any CycloneDX
// JSON whose devices hold components with a version; kInvalid says what is missing where.
std::string ToCycloneDx(const Bom& bom);
Result<Bom> FromCycloneDx(std::string_view text, const std::string& name);

struct BomChange {
  std::string node, name, was, is;  // "" = not there
  bool unknown = false;             // one side is not known: neither same nor changed
};
// Only what differs or cannot be compared.
std::vector<BomChange> DiffBom(const Bom& was, const Bom& is);

// A part that not every node has in one version: the version of most nodes, and the odd ones.
struct BomDrift {
  std::string name, usual;
  size_t usual_nodes = 0;
  std::vector<std::pair<std::string, std::string>> odd;  // node, version ("" = not there)
};
// Nodes are compared with nodes of the same GPU model only (`group` gives a node's; "" = one
// group). Without a majority the smallest version counts as usual, and every other node is named.
std::vector<BomDrift> DriftWithin(const Bom& bom, const std::map<std::string, std::string>& group);

struct MinimumVersion {
  std::string id, part, branch, minimum, source;
};
struct MinimumTable {
  std::string as_of;  // "2026-09-25"
  TimePoint dated;
  int stale_after_days = 0;
  std::vector<MinimumVersion> entries;
};
Result<MinimumTable> ParseMinimumTable(std::string_view text, const std::string& name);
Result<MinimumTable> EmbeddedMinimumTable();

struct BomFinding {
  Level level = Level::kUnknown;  // fail below the minimum; unknown for a branch or version that
                                  // cannot be held against the table; warn for an old table
  std::string node, name, version, text, source;
};
// Only what is not at or above its minimum; parts that the table does not know are left out.
std::vector<BomFinding> HoldToMinimums(const Bom& bom, const MinimumTable& table, TimePoint now);

// "570.211.01" against "570.86.15": by numbers from the left; an epoch ("1:") and a package
// revision ("-0ubuntu1", "+cuda12.8") are left out. Nothing when one is not of numbers.
std::optional<int> CompareVersions(std::string_view a, std::string_view b);

}  // namespace muster
