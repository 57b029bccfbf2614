// nvidia-smi -q, as text and as XML: the names of facts are those of
// catalogue/facts.yaml where the same thing is meant, so that a rule reads a pasted text and a
// capture alike.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "diagnose/shape.h"
#include "probes/nvidia_smi/field.h"
#include "probes/nvidia_smi/query.h"

namespace muster::diagnose {

namespace {

// A block of "nvidia-smi -q" that was pasted without its GPU.
bool SmiBlock(std::string_view line) {
  static constexpr std::string_view kBlocks[] = {"Remapped Rows",           "ECC Errors",
                                                 "Retired Pages",           "Clocks Event Reasons",
                                                 "Clocks Throttle Reasons", "Fabric"};
  const std::string_view text = Trim(line);
  return std::find(std::begin(kBlocks), std::end(kBlocks), text) != std::end(kBlocks) ||
         text.starts_with("Remapping Failure Occurred  ");
}

struct SmiKey {
  std::string_view path, fact;  // end of "Heading/Sub/Key", and the fact it is
};
constexpr std::array kSmiKeys = {
    SmiKey{"Remapped Rows/Pending", "gpu.remap_pending"},
    SmiKey{"Remapping Failure Occurred", "gpu.remap_failed"},
    SmiKey{"Retired Pages/Pending Page Blacklist", "gpu.retired_pending"},
    SmiKey{"Volatile/DRAM Uncorrectable", "gpu.ecc_uncorrected"},
    SmiKey{"Volatile/SRAM Uncorrectable", "gpu.ecc_uncorrected"},
    SmiKey{"Volatile/SRAM Uncorrectable Parity", "gpu.ecc_uncorrected"},
    SmiKey{"Volatile/SRAM Uncorrectable SEC-DED", "gpu.ecc_uncorrected"},
    SmiKey{"Volatile/Double Bit/Total", "gpu.ecc_uncorrected"},
    SmiKey{"SRAM Threshold Exceeded", "gpu.sram_threshold"},
    SmiKey{"HW Slowdown", "gpu.hw_slowdown"},
    SmiKey{"ECC Mode/Current", "gpu.ecc_mode"},
    SmiKey{"Performance State", "gpu.performance_state"},
    SmiKey{"HW Thermal Slowdown", "gpu.throttle_thermal"},
    SmiKey{"SW Thermal Slowdown", "gpu.throttle_thermal"},
    SmiKey{"HW Power Brake Slowdown", "gpu.throttle_power_brake"},
    SmiKey{"GPU Current Temp", "gpu.temperature"},
    SmiKey{"GPU T.Limit Temp", "gpu.temperature_margin"},
    SmiKey{"Memory Current Temp", "gpu.memory_temperature"},
    SmiKey{"Persistence Mode", "gpu.persistence"},
    SmiKey{"MIG Mode/Current", "gpu.mig_mode"},
    SmiKey{"Fabric/State", "gpu.fabric_state"},
    SmiKey{"Fabric/Status", "gpu.fabric_status"},
    SmiKey{"Health/Summary", "gpu.fabric_health"},
    SmiKey{"Health/Bandwidth", "gpu.fabric_bandwidth"},
    SmiKey{"Health/Route Unhealthy", "gpu.fabric_route"},
    SmiKey{"Health/Incorrect Configuration", "gpu.fabric_configuration"},
    SmiKey{"Channel Repair Pending", "gpu.repair_pending"},
    SmiKey{"TPC Repair Pending", "gpu.repair_pending"},
    SmiKey{"PCIe Generation/Current", "gpu.pcie_gen"},
    SmiKey{"PCIe Generation/Max", "gpu.pcie_gen_max"},
    SmiKey{"Link Width/Current", "gpu.pcie_width"},
    SmiKey{"Link Width/Max", "gpu.pcie_width_max"},
    SmiKey{"Replays Since Reset", "gpu.pcie_replays"},
    SmiKey{"GPU Recovery Action", "gpu.recovery_action"},
    SmiKey{"Power Draw", "gpu.power"},
};

// A GPU's PCIe link against what both ends can. Idle GPUs slow it down: its rate counts where the
// GPU is in the state of most performance.
void AddLink(const Section& s, const std::string& pci,
             std::map<std::string_view, std::string>& value, FactStore& facts) {
  const std::string &now = value["gpu.pcie_width"], &most = value["gpu.pcie_width_max"];
  if (!now.empty() && !most.empty() && now != most)
    facts.Add(s.Make("gpu.pcie_narrow", {{"pci", pci}, {"value", now}, {"max", most}}, s.Where(pci),
                     fmt::format("GPU {}: PCIe width {} of {}", pci, now, most)));
  const std::string &rate = value["gpu.pcie_gen"], &fastest = value["gpu.pcie_gen_max"];
  if (value["gpu.performance_state"] == "P0" && !rate.empty() && !fastest.empty() && rate < fastest)
    facts.Add(s.Make("gpu.pcie_slow", {{"pci", pci}, {"value", rate}, {"max", fastest}},
                     s.Where(pci),
                     fmt::format("GPU {}: PCIe generation {} of {}", pci, rate, fastest)));
}

// What belongs to a heading is printed so much further to the right.
constexpr size_t kDeeper = 4;
constexpr std::string_view kBareGpu = "nvidia-smi -q: a GPU without a line";

void ReadSmiQuery(const Section& s, FactStore& facts) {
  std::string gpu;
  int index = -1;  // -1: no heading of a GPU was given
  const auto number = [&] { return index < 0 ? std::string() : std::to_string(index); };
  std::vector<std::pair<size_t, std::string>> path;                       // indentation, heading
  std::map<std::string, std::map<std::string_view, std::string>> values;  // by GPU and fact
  SameKeys keys;                 // those that are read here
  size_t offset = 0, above = 0;  // indentation of the line before
  bool opens = true;             // it may have lines that belong to it
  int lines_of_gpu = 0;
  int attached = -1;
  for (const std::string_view raw : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += raw.size() + 1;
    const std::string_view line = raw.ends_with('\r') ? raw.substr(0, raw.size() - 1) : raw;
    const std::string_view text = Trim(line);
    if (text.empty()) continue;
    if (line.starts_with("GPU ") && Contains(line, ":")) {
      gpu = Trim(line.substr(4));
      ++index;
      above = 0;
      opens = true;
      if (index > 0 && lines_of_gpu == 0) AddDamage(s, facts, kBareGpu);
      lines_of_gpu = 0;
      keys.Begin();
      path.clear();
      continue;
    }
    const size_t indent = line.find_first_not_of(" \t");
    while (!path.empty() && path.back().first >= indent) path.pop_back();
    if (index >= 0 && indent > above + (opens ? kDeeper : 0))
      AddDamage(s, facts, "nvidia-smi -q: a line is deeper than what it belongs to");
    above = indent;
    opens = !Contains(line, " : ") || text.starts_with("HW Slowdown");
    lines_of_gpu += 1;
    const size_t colon = line.find(" : ");
    if (colon == std::string_view::npos) {
      path.emplace_back(indent, std::string(text));
      continue;
    }
    std::string key(Trim(line.substr(0, colon)));
    const std::string_view value = Trim(line.substr(colon + 3));
    if (key == "Attached GPUs") {
      const auto count = ParseInt(value);
      attached = count.ok() ? static_cast<int>(*count) : -1;
    }
    if (index < 0 && indent > 0) AddDamage(s, facts, "nvidia-smi -q: a key before its GPU");
    std::string full;
    for (const auto& [i, heading] : path) full += heading + "/";
    full += key;
    if (nvidia_smi::SaysLost(value))
      facts.Add(s.Make("gpu.lost", {{"gpu", number()}, {"pci", gpu}}, s.At(at), line));
    for (const SmiKey& k : kSmiKeys) {
      if (!full.ends_with(k.path)) continue;
      if (!keys.Key(k.path, full))
        AddDamage(s, facts, fmt::format("nvidia-smi -q: {} stands twice under one heading", key));
      if (nvidia_smi::IsSentinel(value)) break;
      std::string said(value);
      if (k.fact == "gpu.throttle_thermal" || k.fact == "gpu.throttle_power_brake" ||
          k.fact == "gpu.remap_pending" || k.fact == "gpu.remap_failed" ||
          k.fact == "gpu.sram_threshold" || k.fact == "gpu.retired_pending" ||
          k.fact == "gpu.repair_pending" || k.fact == "gpu.hw_slowdown" ||
          k.fact == "gpu.persistence") {
        const auto flag = nvidia_smi::Flag(value);
        if (!flag) {  // newer versions have counters of the same name: "0 us"
          if (value.empty() || std::isdigit(static_cast<unsigned char>(value[0])) == 0)
            AddDamage(s, facts, fmt::format("{} is neither yes nor no: {}", key, Printable(value)));
          break;
        }
        said = *flag ? "true" : "false";
      }
      if (const size_t blank = said.find(' ');
          blank != std::string::npos && !said.empty() && said[0] >= '0' && said[0] <= '9')
        said.resize(blank);
      facts.Add(s.Make(std::string(k.fact), {{"gpu", number()}, {"pci", gpu}, {"value", said}},
                       s.At(at), line));
      values[gpu][k.fact] = said;
      break;
    }
  }
  for (auto& [pci, value] : values) AddLink(s, pci, value, facts);
  if (!keys.Holds()) AddDamage(s, facts, "nvidia-smi -q: a GPU has other keys than the first");
  if (index < 0) AddDamage(s, facts, "nvidia-smi -q lists no GPU");
  if (index >= 0 && lines_of_gpu == 0) AddDamage(s, facts, kBareGpu);
  if (attached >= 0 && attached != index + 1)
    AddDamage(s, facts, fmt::format("nvidia-smi says {} GPUs and lists {}", attached, index + 1));
}

bool QueryLine(std::string_view l) {
  return Indented(l) || l.starts_with("GPU ") || l.starts_with("Timestamp") ||
         l.starts_with("Driver Version") || l.starts_with("CUDA Version") ||
         l.starts_with("Attached GPUs");
}

constexpr std::array kSmi = {
    SectionKind{"nvidia-smi -q", "nvsmi log",
                [](std::string_view l) { return l.starts_with("=="); }, QueryLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "attached gpus",
                [](std::string_view l) { return l.starts_with("Attached GPUs"); }, QueryLine,
                ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "gpu 0000",
                [](std::string_view l) {
                  return l.starts_with("GPU 0000") && SplitBlank(l).size() == 2 &&
                         !l.ends_with(':');
                },
                QueryLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "gpu link info", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "remapped rows", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "remapping failure occurred ", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "ecc errors", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "retired pages", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "clocks event reasons", SmiBlock, Indented, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "clocks throttle reasons", SmiBlock, Indented, ReadSmiQuery},
};

}  // namespace

std::span<const SectionKind> SmiSections() { return kSmi; }

bool ReadXmlDocument(const Section& s, FactStore& facts) {
  if (!Contains(s.text, "<nvidia_smi_log")) return false;
  Reading reading;
  reading.probe = "nvidia_smi.query";
  reading.host = s.host;
  reading.text = s.text;
  size_t seen = 0;
  std::string why;
  for (const Observation& o : nvidia_smi::ParseQuery(reading)) {
    if (const Value* value = o.value()) {
      ++seen;
      facts.Add(s.Make(o.fact,
                       {{"gpu", o.subject.id.substr(o.subject.id.rfind('/') + 1)},
                        {"subject", o.subject.id},
                        {"value", FormatValue(*value, Unit::kNone)}},
                       s.Where(o.excerpt), o.excerpt));
    } else if (why.empty()) {
      why = o.unobserved()->detail;
    }
  }
  if (Contains(s.text, "GPU is lost"))
    facts.Add(s.Make("gpu.lost", {}, s.Where("GPU is lost"), "GPU is lost"));
  if (seen == 0) AddDamage(s, facts, "nvidia-smi -q -x: " + why);
  return true;
}

}  // namespace muster::diagnose
