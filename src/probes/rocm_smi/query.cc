#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "probes/rocm_smi/probes.h"

namespace muster::rocm_smi {
namespace {

using nlohmann::json;

constexpr std::string_view kFacts[] = {"gpu.count",       "gpu.present",
                                       "gpu.model",       "gpu.ecc_uncorrected",
                                       "gpu.temperature", "node.driver_version"};

struct AmdGpu {
  std::string model;
  std::optional<double> celsius;
  std::optional<int64_t> uncorrected;
  std::string celsius_text, ecc_text;
};
struct AmdNode {
  std::map<int, AmdGpu> gpus;
  std::string driver;
  std::optional<size_t> fixed, live;  // GPUs in each document
  bool contradictory = false;         // an index twice, or none at all
};

const json* Find(const json& object, std::initializer_list<const char*> path) {
  const json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}
std::string Text(const json* value) {
  if (value == nullptr || !value->is_string()) return {};
  const auto& text = value->get_ref<const std::string&>();
  return text == "N/A" ? std::string() : text;
}
// A count, as a number or as digits in quotes; negative numbers and the all-ones sentinels of the
// library are none.
std::optional<int64_t> Count(const json* value) {
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> count;
  if (value->is_number_unsigned() && value->get<uint64_t>() < (uint64_t{1} << 62))
    count = value->get<int64_t>();
  else if (value->is_string())
    if (auto read = ParseInt(value->get_ref<const std::string&>()); read.ok()) count = *read;
  if (!count || *count < 0 || *count == 0xffffffff || *count == 0xffff) return std::nullopt;
  return count;
}
// {"value": 37, "unit": "C"}, 37, or "37.0"; a sensor that is not there reads N/A or 65535.
std::optional<double> Celsius(const json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) {
    if (Text(Find(*value, {"unit"})) != "C") return std::nullopt;
    value = Find(*value, {"value"});
    if (value == nullptr) return std::nullopt;
  }
  std::optional<double> celsius;
  if (value->is_number())
    celsius = value->get<double>();
  else if (auto read = ParseDouble(Text(value)); read.ok())
    celsius = *read;
  if (!celsius || *celsius < -50 || *celsius > 250) return std::nullopt;
  return celsius;
}

void ReadAmdGpu(const json& entry, AmdNode& node, bool is_static, std::map<int, bool>& seen) {
  const auto index = Count(Find(entry, {"gpu"}));
  if (!index || *index >= 1024 || !seen.emplace(static_cast<int>(*index), true).second) {
    node.contradictory = true;
    return;
  }
  AmdGpu& gpu = node.gpus[static_cast<int>(*index)];
  if (is_static) {
    gpu.model = Text(Find(entry, {"asic", "market_name"}));
    if (auto driver = Text(Find(entry, {"driver", "version"})); !driver.empty())
      node.driver = driver;
    return;
  }
  for (const char* sensor : {"hotspot", "edge"}) {
    if (gpu.celsius) break;
    gpu.celsius = Celsius(Find(entry, {"temperature", sensor}));
    gpu.celsius_text = fmt::format("temperature {} {}", sensor, gpu.celsius.value_or(0));
  }
  gpu.uncorrected = Count(Find(entry, {"ecc", "total_uncorrectable_count"}));
  gpu.ecc_text = fmt::format("total_uncorrectable_count {}", gpu.uncorrected.value_or(0));
}

// amd-smi: a list of GPUs, in ROCm 7 under gpu_data. Which of the two commands it was, its content
// says.
bool ReadAmdSmi(const json& document, AmdNode& node) {
  const json* list = document.is_array() ? &document : Find(document, {"gpu_data"});
  if (list == nullptr || !list->is_array()) return false;
  bool is_static = false;
  for (const json& entry : *list) is_static = is_static || Find(entry, {"asic"}) != nullptr;
  std::map<int, bool> seen;
  for (const json& entry : *list) ReadAmdGpu(entry, node, is_static, seen);
  (is_static ? node.fixed : node.live) = seen.size();
  return true;
}

// rocm-smi: {"card0": {...}, "system": {"Driver version": ...}}; keys changed their capitals over
// the versions.
bool ReadRocmSmi(const json& document, AmdNode& node) {
  if (!document.is_object()) return false;
  bool any = false;
  for (const auto& [name, card] : document.items()) {
    if (name == "system") node.driver = Text(Find(card, {"Driver version"}));
    const auto digits = After(name, "card");
    const auto index = digits ? ParseInt(*digits) : Result<int64_t>(-1);
    if (!index.ok() || *index < 0 || *index >= 1024) continue;
    any = true;
    AmdGpu& gpu = node.gpus[static_cast<int>(*index)];
    for (const char* key : {"Card Series", "Card series", "Card Model", "Card model"})
      if (gpu.model.empty()) gpu.model = Text(Find(card, {key}));
    for (const char* key : {"Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"}) {
      if (gpu.celsius) break;
      gpu.celsius = Celsius(Find(card, {key}));
      gpu.celsius_text = fmt::format("{}: {}", key, gpu.celsius.value_or(0));
    }
  }
  if (any) node.fixed = node.live = node.gpus.size();
  return any;
}

// Documents that follow each other, by brackets outside strings. Nothing when the last one never
// ends.
std::optional<std::vector<std::string_view>> Documents(std::string_view text) {
  std::vector<std::string_view> documents;
  for (size_t begin = text.find_first_of("{["); begin != std::string_view::npos;
       begin = text.find_first_of("{[", begin)) {
    size_t depth = 0, i = begin;
    for (; i < text.size(); ++i) {
      if (text[i] == '"') {
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
      } else if (text[i] == '{' || text[i] == '[') {
        ++depth;
      } else if ((text[i] == '}' || text[i] == ']') && --depth == 0) {
        break;
      }
    }
    if (i >= text.size()) return std::nullopt;
    documents.push_back(text.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  return documents;
}

Observations Nothing(const Reading& reading, std::string_view detail) {
  ObservationBuilder out(reading);
  for (auto fact : kFacts)
    out.AddUnobserved(NodeSubject(reading.host), fact, UnknownReason::kUnparsable, detail);
  return out.Take();
}

void AddGpu(ObservationBuilder& out, const Subject& subject, const AmdGpu& gpu) {
  auto missing = [&](std::string_view fact) {
    out.AddUnobserved(subject, fact, UnknownReason::kNotObserved, "the tool gives no value");
  };
  if (gpu.model.empty()) {
    missing("gpu.present");
    missing("gpu.model");
  } else {
    out.Add(subject, "gpu.present", true, Unit::kNone, gpu.model);
    out.Add(subject, "gpu.model", gpu.model, Unit::kNone, gpu.model);
  }
  if (gpu.uncorrected)
    out.Add(subject, "gpu.ecc_uncorrected", *gpu.uncorrected, Unit::kCount, gpu.ecc_text);
  else
    missing("gpu.ecc_uncorrected");
  if (gpu.celsius)
    out.Add(subject, "gpu.temperature", *gpu.celsius, Unit::kCelsius, gpu.celsius_text);
  else
    missing("gpu.temperature");
}

}  // namespace

Observations ParseQuery(const Reading& reading) {
  const auto documents = Documents(reading.text);
  if (!documents || documents->empty()) return Nothing(reading, "no whole JSON document");
  AmdNode node;
  for (auto text : *documents) {
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (document.is_discarded()) return Nothing(reading, "no JSON document");
    if (!ReadAmdSmi(document, node) && !ReadRocmSmi(document, node))
      return Nothing(reading, "the JSON document is neither amd-smi's nor rocm-smi's");
  }
  if (node.contradictory || !node.fixed || !node.live || *node.fixed != *node.live ||
      *node.fixed != node.gpus.size())
    return Nothing(reading, "the documents do not list the same GPUs");
  ObservationBuilder out(reading, node.driver);
  const Subject subject = NodeSubject(reading.host);
  bool all_named = true;
  for (const auto& [index, gpu] : node.gpus) {
    AddGpu(out, GpuSubject(reading.host, index), gpu);
    all_named = all_named && !gpu.model.empty();
  }
  if (all_named)
    out.Add(subject, "gpu.count", static_cast<int64_t>(node.gpus.size()), Unit::kCount,
            fmt::format("{} GPUs", node.gpus.size()));
  else
    out.AddUnobserved(subject, "gpu.count", UnknownReason::kNotObserved,
                      "a listed GPU has no name");
  if (!node.driver.empty())
    out.Add(subject, "node.driver_version", node.driver, Unit::kNone, node.driver);
  else
    out.AddUnobserved(subject, "node.driver_version", UnknownReason::kNotObserved,
                      "the tool gives no driver version");
  return out.Take();
}

}  // namespace muster::rocm_smi
