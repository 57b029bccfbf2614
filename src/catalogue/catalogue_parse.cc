// Reading and checking the catalogue's files.
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/catalogue.h"
#include "catalogue/expectation.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

// What Site::Features() may say, and the scope's own. A name that is in no list
// would never apply, silently.
constexpr std::array<std::string_view, 25> kFeatures = {
    "lab",          "host",     "kubernetes", "slurm",       "infiniband",
    "roce",         "rdma",     "multi_node", "multi_gpu",   "nvlink",
    "gpus",         "nvidia",   "amd",        "facility",    "prometheus",
    "alertmanager", "exporter", "ufm",        "sharp",       "switches",
    "inference",    "training", "two_nodes",  "workstation", "training_reports"};

// Criteria whose comparison has a direction, or a set, can have a WARN band.
bool CanWarn(Compare compare) {
  switch (compare) {
    case Compare::kAtLeast:
    case Compare::kAtMost:
    case Compare::kGreater:
    case Compare::kLess:
    case Compare::kIn:
      return true;
    default:
      return false;
  }
}

bool Fits(Compare compare, FactType type) {
  switch (compare) {
    case Compare::kTrue:
    case Compare::kFalse:
      return type == FactType::kBool;
    case Compare::kContains:
      return type == FactType::kText;
    case Compare::kEqual:
    case Compare::kNotEqual:
    case Compare::kIn:
    case Compare::kNotIn:
      return type != FactType::kBool;
    default:
      return type == FactType::kInt || type == FactType::kReal;
  }
}

// Reads the files one by one into `into`; everything wrong is in `findings`.
class Loader {
 public:
  Loader(Catalogue& into, YamlFindings& findings) : into_(into), findings_(findings) {}

  void Facts(const EmbeddedFile& file) {
    Parse(file, [&](const YamlNode& root) {
      for (const YamlNode& item : List(root, file)) {
        YamlReader r(item, file.name, findings_);
        FactInfo fact;
        fact.id = r.Text("id");
        fact.on = r.Parsed("on", &ParseSubjectKind, SubjectKind::kNode);
        fact.type = r.Parsed("type", &ParseFactType, FactType::kText);
        fact.unit = r.Parsed("unit", &ParseUnit, Unit::kNone);
        fact.by = r.Text("by");
        fact.means = r.Text("means");
        r.Done();
        if (into_.Fact(fact.id)) r.Say(fmt::format("fact {} is listed twice", fact.id));
        const bool number = fact.type == FactType::kInt || fact.type == FactType::kReal;
        if (number == (fact.unit == Unit::kNone))
          r.Say(fmt::format("fact {}: a number has a unit, a bool or a text has none", fact.id));
        into_.facts.push_back(std::move(fact));
      }
    });
  }

  void Gates(const EmbeddedFile& file) {
    Parse(file, [&](const YamlNode& root) {
      for (const YamlNode& item : List(root, file)) {
        YamlReader r(item, file.name, findings_);
        GateInfo gate;
        gate.id = static_cast<int>(r.Int("id"));
        gate.slug = r.Text("slug");
        gate.name = r.Text("name");
        gate.prefix = r.Text("prefix");
        gate.observed = r.Text("observed");
        gate.passes = r.Text("passes");
        gate.why = r.Text("why");
        gate.source = r.Text("source");
        for (const int64_t id : r.IntsOr("needs")) gate.needs.push_back(static_cast<int>(id));
        gate.staled_by = r.TextsOr("staled_by");
        r.Done();
        for (const int id : gate.needs) {
          if (id >= gate.id)
            r.Say(fmt::format("gate {} needs gate {}, which comes later", gate.id, id));
        }
        if (into_.Gate(gate.id)) r.Say(fmt::format("gate {} is listed twice", gate.id));
        into_.gates.push_back(std::move(gate));
      }
    });
    std::sort(into_.gates.begin(), into_.gates.end(),
              [](const GateInfo& a, const GateInfo& b) { return a.id < b.id; });
  }

  void Settings(const EmbeddedFile& file) {
    Parse(file, [&](const YamlNode& root) {
      YamlReader top(root, file.name, findings_);
      for (const YamlNode& item : top.Items("settings")) {
        YamlReader r(item, file.name, findings_);
        Setting setting;
        setting.name = r.Text("name");
        if (const YamlNode* value = r.NeedChild("default")) {
          const auto quantity = YamlQuantity(*value);
          if (quantity.ok()) {
            setting.value = *quantity;
          } else {
            r.SayAt(*value, "default: " + quantity.error().message);
          }
        }
        setting.means = r.Text("means");
        setting.source = r.Text("source");
        r.Done();
        if (into_.FindSetting(setting.name))
          r.Say(fmt::format("setting {} is listed twice", setting.name));
        into_.settings.push_back(std::move(setting));
      }
      for (const YamlNode& item : top.Items("gpu_models")) {
        YamlReader r(item, file.name, findings_);
        GpuModel model;
        model.match = r.Text("match");
        model.nvlinks = static_cast<int>(r.IntOr("nvlinks", 0));
        model.pcie_gen = static_cast<int>(r.IntOr("pcie_gen", 0));
        model.pcie_width = static_cast<int>(r.IntOr("pcie_width", 0));
        model.fabric_state = r.TextOr("fabric_state", "");
        model.source = r.Text("source");
        r.Done();
        into_.gpu_models.push_back(std::move(model));
      }
      top.Done();
    });
  }

  void Criteria(const EmbeddedFile& file) {
    Parse(file, [&](const YamlNode& root) {
      YamlReader top(root, file.name, findings_);
      Criterion common;
      common.gate = static_cast<int>(top.Int("gate"));
      common.owner = top.Text("owner");
      common.since = top.Text("since");
      common.fresh_for = top.DurationOr("fresh_for", common.fresh_for);
      for (const YamlNode& item : top.Items("criteria")) One(item, file, common);
      top.Done();
    });
  }

 private:
  template <typename Then>
  void Parse(const EmbeddedFile& file, Then&& then) {
    const auto root = ParseYaml(file.text, file.name);
    if (!root.ok()) {
      findings_.push_back({"", {}, root.error().message});
      return;
    }
    then(*root);
  }

  const std::vector<YamlNode>& List(const YamlNode& root, const EmbeddedFile& file) {
    if (root.kind != YamlNode::Kind::kSequence)
      findings_.push_back({std::string(file.name), root.at, "expected a list"});
    return root.items;
  }

  void One(const YamlNode& item, const EmbeddedFile& file, const Criterion& common) {
    YamlReader r(item, file.name, findings_);
    Criterion c = common;
    c.code = r.Text("code");
    c.title = r.Text("title");
    c.subject = r.Parsed("on", &ParseSubjectKind, SubjectKind::kNode);
    c.fact = r.Text("fact");
    c.measure = r.Parsed("measure", &ParseMeasure, Measure::kLast);
    c.compare = r.Parsed("compare", &ParseCompare, Compare::kEqual);
    c.fresh_for = r.DurationOr("fresh_for", common.fresh_for);
    c.min_samples = static_cast<int>(r.IntOr("min_samples", 1));
    c.applies_when = r.TextsOr("applies_when");
    c.otherwise = r.TextOr("otherwise", "");
    c.advisory = r.BoolOr("advisory", false);
    c.when_observed = r.BoolOr("when_observed", false);
    c.unknown_values = r.TextsOr("unknown_values");
    if (r.Has("miss_is"))
      c.miss_is = r.Parsed("miss_is", &ParseUnknownReason, UnknownReason::kTooFewSamples);
    if (r.Has("saturates_at")) c.saturates_at = r.IntOr("saturates_at", 0);
    c.why = r.Text("why");
    c.measured_by = r.Text("measured_by");
    c.source = r.Text("source");
    c.fix = r.Text("fix");
    c.next = r.Text("next");
    c.runbook = r.TextOr("runbook", "");
    c.owner = r.TextOr("owner", common.owner);
    c.since = r.TextOr("since", common.since);
    c.rank = static_cast<int>(r.IntOr("rank", 50));
    Check(r, c);
    if (const FactInfo* fact = into_.Fact(c.fact)) {
      Thresholds(r, c, *fact);
    } else {
      r.Child("pass");
      r.Child("warn");
      r.Say(Unheard("fact", c.fact, FactNames()));
    }
    r.Done();
    into_.criteria.push_back(std::move(c));
  }

  void Check(YamlReader& r, const Criterion& c) {
    if (into_.Find(c.code)) r.Say(fmt::format("code {} is taken", c.code));
    if (const GateInfo* gate = into_.Gate(c.gate); gate == nullptr) {
      r.Say(fmt::format("gate {} does not exist", c.gate));
    } else if (!IsCode(c.code, gate->prefix)) {
      r.Say(fmt::format("code {} is not of the form {}-001", c.code, gate->prefix));
    }
    for (const std::string& term : c.applies_when) {
      for (std::string_view name : Split(term, '|')) {
        if (name.starts_with('!')) name.remove_prefix(1);
        if (const auto expects = After(name, "expects.")) {
          if (!IsExpectation(*expects)) r.Say(Unheard("expectation", *expects, ExpectationNames()));
        } else if (!IsFeature(name)) {
          r.Say(Unheard("feature", name, {kFeatures.begin(), kFeatures.end()}));
        }
      }
    }
    if (!c.applies_when.empty() && c.otherwise.empty())
      r.Say(
          fmt::format("{}: applies_when wants an `otherwise` that says why "
                      "it does not apply",
                      c.code));
    if (!c.runbook.empty()) {
      const auto number = ParseInt(std::string_view(c.runbook).substr(1));
      if (c.runbook[0] != 'R' || !number.ok() || *number < 1 || *number > 39)
        r.Say(fmt::format("{}: runbook {} is not R1 to R39", c.code, c.runbook));
    }
    if (c.min_samples < 1) r.Say(fmt::format("{}: min_samples must be at least 1", c.code));
  }

  void Thresholds(YamlReader& r, Criterion& c, const FactInfo& fact) {
    if (fact.on != c.subject)
      r.Say(fmt::format("{}: {} is about a {}, not a {}", c.code, fact.id, ToString(fact.on),
                        ToString(c.subject)));
    const bool number = fact.type == FactType::kInt || fact.type == FactType::kReal;
    const bool counter = c.measure == Measure::kDelta || c.measure == Measure::kRatePerHour;
    if (c.measure != Measure::kLast && c.measure != Measure::kAllEqual && !number)
      r.Say(fmt::format("{}: {} wants a number, {} is a {}", c.code, ToString(c.measure), fact.id,
                        ToString(fact.type)));
    if (c.saturates_at && !counter)
      r.Say(fmt::format("{}: saturates_at is for delta and rate_per_hour", c.code));
    if (c.measure == Measure::kRatePerHour && fact.unit != Unit::kCount)
      r.Say(fmt::format("{}: a rate per hour is one of counts", c.code));
    const Unit unit = c.measure == Measure::kRatePerHour ? Unit::kPerHour : fact.unit;
    const bool no_threshold = c.measure == Measure::kAllEqual || c.compare == Compare::kTrue ||
                              c.compare == Compare::kFalse;
    c.pass.unit = unit;
    if (c.measure != Measure::kAllEqual && !Fits(c.compare, fact.type))
      r.Say(fmt::format("{}: {} cannot be held to {}", c.code, ToString(fact.type),
                        ToString(c.compare)));
    if (no_threshold) {
      if (r.Child("pass")) r.Say(fmt::format("{}: this comparison has no threshold", c.code));
      return;
    }
    if (const YamlNode* pass = r.NeedChild("pass")) c.pass = ReadThreshold(r, *pass, c, fact, unit);
    if (const YamlNode* warn = r.Child("warn")) {
      c.warn = ReadThreshold(r, *warn, c, fact, unit);
      if (!CanWarn(c.compare) || c.advisory)
        r.Say(
            fmt::format("{}: a warn band needs a comparison with a direction "
                        "and no advisory",
                        c.code));
    }
  }

  Threshold ReadThreshold(YamlReader& r, const YamlNode& node, const Criterion& c,
                          const FactInfo& fact, Unit unit) {
    Threshold t;
    t.unit = unit;
    if (node.kind == YamlNode::Kind::kMapping) {
      YamlReader inner(node, r.file(), findings_);
      t.expect = inner.Text("expect");
      inner.Done();
      CheckExpect(r, node, t.expect, fact, unit);
      return t;
    }
    const auto one = [&](const YamlNode& value) {
      if (fact.type == FactType::kText) {
        const auto text = YamlText(value);
        if (text.ok()) return t.values.push_back(*text);
        return r.SayAt(value, text.error().message);
      }
      const auto quantity = YamlQuantity(value, unit);
      if (!quantity.ok())
        return r.SayAt(value, fmt::format("{}: {}", c.code, quantity.error().message));
      const bool whole = fact.type == FactType::kInt && unit == Unit::kCount &&
                         quantity->value == std::floor(quantity->value) &&
                         std::abs(quantity->value) < 9e15;
      t.values.push_back(whole ? Value(static_cast<int64_t>(quantity->value))
                               : Value(quantity->value));
    };
    const bool set = c.compare == Compare::kIn || c.compare == Compare::kNotIn;
    if (node.kind == YamlNode::Kind::kSequence) {
      if (!set) r.SayAt(node, fmt::format("{}: one value expected", c.code));
      for (const YamlNode& value : node.items) one(value);
    } else {
      one(node);
    }
    return t;
  }

  void CheckExpect(YamlReader& r, const YamlNode& node, const std::string& name,
                   const FactInfo& fact, Unit unit) {
    if (const Setting* setting = into_.FindSetting(name)) {
      if (setting->value.unit != unit)
        r.SayAt(node, fmt::format("setting {} is in \"{}\", {} in \"{}\"", name,
                                  ToString(setting->value.unit), fact.id, ToString(unit)));
      return;
    }
    for (const ExpectationName& known : KnownExpectations()) {
      if (known.name != name) continue;
      const bool text = known.type == FactType::kText;
      if (known.unit != unit || text != (fact.type == FactType::kText))
        r.SayAt(node, fmt::format("expectation {} does not fit {}", name, fact.id));
      return;
    }
    r.SayAt(node, Unheard("expectation", name, ExpectationNames()));
  }

  static bool IsCode(std::string_view code, std::string_view prefix) {
    return code.size() == prefix.size() + 4 && code.starts_with(prefix) &&
           code[prefix.size()] == '-' &&
           std::all_of(code.begin() + static_cast<std::ptrdiff_t>(prefix.size()) + 1, code.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  }
  static bool IsFeature(std::string_view name) {
    return std::find(kFeatures.begin(), kFeatures.end(), name) != kFeatures.end();
  }
  bool IsExpectation(std::string_view name) const {
    const auto names = ExpectationNames();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  std::vector<std::string> ExpectationNames() const {
    std::vector<std::string> names;
    for (const ExpectationName& known : KnownExpectations()) names.emplace_back(known.name);
    for (const Setting& setting : into_.settings) names.push_back(setting.name);
    return names;
  }
  std::vector<std::string> FactNames() const {
    std::vector<std::string> names;
    for (const FactInfo& fact : into_.facts) names.push_back(fact.id);
    return names;
  }
  static std::string Unheard(std::string_view what, std::string_view name,
                             const std::vector<std::string>& known) {
    std::string text = fmt::format("unknown {} {}", what, name);
    if (const auto near = Nearest(name, known)) text += fmt::format(", did you mean {}", *near);
    return text;
  }

  Catalogue& into_;
  YamlFindings& findings_;
};

// Facts and settings come before the criteria that use them, gates before both.
Status LoadInto(Catalogue& catalogue, std::span<const EmbeddedFile> files) {
  YamlFindings findings;
  Loader loader(catalogue, findings);
  const auto each = [&](auto&& wanted, auto&& load) {
    for (const EmbeddedFile& file : files) {
      if (wanted(file.name)) load(file);
    }
  };
  const auto named = [](std::string_view name) {
    return [name](std::string_view file) { return file == name; };
  };
  each(named("facts.yaml"), [&](const EmbeddedFile& f) { loader.Facts(f); });
  each(named("gates.yaml"), [&](const EmbeddedFile& f) { loader.Gates(f); });
  each(named("settings.yaml"), [&](const EmbeddedFile& f) { loader.Settings(f); });
  each([](std::string_view name) { return name.starts_with("criteria/"); },
       [&](const EmbeddedFile& f) { loader.Criteria(f); });
  std::stable_sort(catalogue.criteria.begin(), catalogue.criteria.end(),
                   [](const Criterion& a, const Criterion& b) {
                     return std::tie(a.gate, a.code) < std::tie(b.gate, b.code);
                   });
  return ToStatus(findings);
}

}  // namespace

Result<Catalogue> ParseCatalogue(std::span<const EmbeddedFile> files) {
  Catalogue catalogue;
  TRY_VOID(LoadInto(catalogue, files));
  return catalogue;
}

}  // namespace muster
