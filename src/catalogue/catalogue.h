// The catalogue as typed values: what can be observed (facts), what must be so (criteria), in which
// order (gates), and the figures a site may set (settings, GPU models). Text in, values out; every
// mistake of the data is found on loading. It decides nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalogue/embedded.h"
#include "evidence/criterion.h"

namespace muster {

enum class FactType { kBool, kInt, kReal, kText };
std::string_view ToString(FactType type);
Result<FactType> ParseFactType(std::string_view text);

// One thing that a probe or a measurement may observe (catalogue/facts.yaml).
struct FactInfo {
  std::string id;
  SubjectKind on = SubjectKind::kNode;
  FactType type = FactType::kText;
  Unit unit = Unit::kNone;
  std::string by, means;
};

// One of the eight gates (catalogue/gates.yaml).
struct GateInfo {
  int id = 0;
  std::string slug, name;  // "fabric-validation", "fabric validation"
  std::string prefix;      // of its codes: "COL"
  std::string observed, passes, why, source;
  std::vector<int> needs;  // gates that must be open before
  std::vector<std::string>
      staled_by;  // components whose change makes it stale: driver, firmware, fabric, cni, ...
};

// A figure that criteria ask for by name and a site may set (catalogue/settings.yaml).
struct Setting {
  std::string name;
  Quantity value;  // the default
  std::string means, source;
};

// What a GPU of some model has by design. `match` is a part of the name that nvidia-smi prints; the
// first that fits counts.
struct GpuModel {
  std::string match;
  int nvlinks = 0;  // 0 = none, or not of a fixed number
  int pcie_gen = 0, pcie_width = 0;
  std::string fabric_state;  // what the fabric state must come to; "" = the model has none
  std::string source;
};

struct Catalogue {
  std::vector<FactInfo> facts;
  std::vector<GateInfo> gates;      // in the order of their ids
  std::vector<Criterion> criteria;  // by gate, then code
  std::vector<Setting> settings;
  std::vector<GpuModel> gpu_models;

  const FactInfo* Fact(std::string_view id) const;
  const GateInfo* Gate(int id) const;
  const muster::Criterion* Find(std::string_view code) const;  // "FAB-012", in any case
  const muster::Setting* FindSetting(std::string_view name) const;
  const GpuModel* ModelOf(std::string_view gpu_name) const;
};

// Reads and validates: unique codes of the gate's prefix, known facts, comparison, type and unit
// that agree, the subject of the fact, known features and expectations, a source for everything.
// kInvalid with one "file:line:column: what" a line.
Result<Catalogue> ParseCatalogue(std::span<const EmbeddedFile> files);
// The data of this binary. It is parsed once and kept; about 15 ms the first time.
Result<const Catalogue*> LoadEmbedded();
// One criterion of this binary, reading only what it needs (a few ms): for `explain`. kNotFound
// names near codes.
Result<muster::Criterion> LoadEmbeddedCriterion(std::string_view code);

}  // namespace muster
