// What the driver's tools and DCGM print of GPUs. The names of facts are those of
// catalogue/facts.yaml where the same thing is meant, so that a rule reads a pasted text and a
// capture alike.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "diagnose/shape.h"
#include "probes/nvidia_smi/csv.h"
#include "probes/nvidia_smi/field.h"
#include "probes/nvidia_smi/query.h"
#include "probes/nvidia_smi/topo.h"

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

bool IndentedLine(std::string_view line) {
  return line.empty() || line[0] == ' ' || line[0] == '\t';
}

// ---- nvidia-smi -q ----

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
    SmiKey{"PCIe Generation/Current", "gpu.pcie_gen"},
    SmiKey{"PCIe Generation/Max", "gpu.pcie_gen_max"},
    SmiKey{"Link Width/Current", "gpu.pcie_width"},
    SmiKey{"Link Width/Max", "gpu.pcie_width_max"},
    SmiKey{"Replays Since Reset", "gpu.pcie_replays"},
    SmiKey{"GPU Recovery Action", "gpu.recovery_action"},
    SmiKey{"Power Draw", "gpu.power"},
};

void ReadSmiQuery(const Section& s, FactStore& facts) {
  std::string gpu;
  int index = -1;
  std::vector<std::pair<size_t, std::string>> path;  // indentation, heading
  std::map<std::string, std::string> width, width_max;
  SameKeys keys;  // those that are read here
  size_t offset = 0;
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
      keys.Begin();
      path.clear();
      continue;
    }
    const size_t indent = line.find_first_not_of(" \t");
    while (!path.empty() && path.back().first >= indent) path.pop_back();
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
      facts.Add(s.Make("gpu.lost", {{"gpu", std::to_string(index)}, {"pci", gpu}}, s.At(at), line));
    for (const SmiKey& k : kSmiKeys) {
      if (!full.ends_with(k.path)) continue;
      keys.Key(k.path);
      if (nvidia_smi::IsSentinel(value)) break;
      std::string said(value);
      if (k.fact == "gpu.throttle_thermal" || k.fact == "gpu.throttle_power_brake" ||
          k.fact == "gpu.remap_pending" || k.fact == "gpu.remap_failed" ||
          k.fact == "gpu.sram_threshold" || k.fact == "gpu.retired_pending" ||
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
      facts.Add(s.Make(std::string(k.fact),
                       {{"gpu", std::to_string(index)}, {"pci", gpu}, {"value", said}}, s.At(at),
                       line));
      if (k.fact == "gpu.pcie_width") width[gpu] = said;
      if (k.fact == "gpu.pcie_width_max") width_max[gpu] = said;
      break;
    }
  }
  for (const auto& [pci, now] : width)
    if (width_max.contains(pci) && now != width_max[pci])
      facts.Add(s.Make("gpu.pcie_narrow", {{"pci", pci}, {"value", now}, {"max", width_max[pci]}},
                       s.Where(pci),
                       fmt::format("GPU {}: PCIe width {} of {}", pci, now, width_max[pci])));
  if (!keys.Holds()) AddDamage(s, facts, "nvidia-smi -q: a GPU has other keys than the first");
  if (index < 0) AddDamage(s, facts, "nvidia-smi -q lists no GPU");
  if (attached >= 0 && attached != index + 1)
    AddDamage(s, facts, fmt::format("nvidia-smi says {} GPUs and lists {}", attached, index + 1));
}

// ---- the table ----

void ReadSmiTable(const Section& s, FactStore& facts) {
  size_t offset = 0;
  std::string gpu;
  int rows = 0, second_rows = 0;
  bool ruled = false, in_order = true;  // the rule of "=" ends the headings
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    if (Contains(line, "|====")) ruled = true;
    const auto cells = Split(line, '|');
    if (cells.size() < 3) continue;
    const auto words = SplitBlank(cells[1]);
    if (words.size() >= 2 && ParseInt(words[0]).ok() && Contains(line, ":")) {
      in_order = in_order && ruled && rows == second_rows;
      gpu = words[0];
      ++rows;
      if (Contains(line, "ERR!")) facts.Add(s.Make("gpu.lost", {{"gpu", gpu}}, s.At(at), line));
      const auto last = SplitBlank(cells[cells.size() - 2]);
      if (!last.empty() && ParseInt(last.back()).ok() && last.back() != "0")
        facts.Add(s.Make("gpu.ecc_uncorrected", {{"gpu", gpu}, {"value", std::string(last.back())}},
                         s.At(at), line));
    } else if (!gpu.empty() && Contains(line, "ERR!")) {
      facts.Add(s.Make("gpu.lost", {{"gpu", gpu}}, s.At(at), line));
    } else if (Contains(line, "W / ") && Contains(line, "MiB /")) {
      in_order = in_order && rows == second_rows + 1;
      ++second_rows;
      // "| N/A   93C    P0   310W / 700W | ..."
      for (const std::string_view word : words)
        if (word.size() > 1 && word.back() == 'C' && ParseInt(word.substr(0, word.size() - 1)).ok())
          facts.Add(s.Make("gpu.temperature",
                           {{"gpu", gpu}, {"value", std::string(word.substr(0, word.size() - 1))}},
                           s.At(at), line));
    }
  }
  if (rows == 0) AddDamage(s, facts, "the table of nvidia-smi lists no GPU");
  if (!in_order) AddDamage(s, facts, "rows of nvidia-smi's table are not in their places");
  if (!Trim(s.text).ends_with('+') && !Trim(s.text).ends_with('|'))
    AddDamage(s, facts, "the table of nvidia-smi is cut");
}

// ---- csv, topo, nvlink ----

// "temperature.gpu", "memory.used [MiB]"; values where names are wanted mean that a piece is gone.
bool ColumnName(std::string_view cell) {
  const std::string_view name = cell.substr(0, cell.find(' '));
  return name.size() > 1 && std::islower(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::islower(static_cast<unsigned char>(c)) != 0 ||
                  std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
         });
}

void ReadSmiCsv(const Section& s, FactStore& facts) {
  Reading reading;
  reading.probe = "nvidia_smi.csv";
  reading.host = s.host;
  reading.text = s.text;
  const auto table = nvidia_smi::ReadCsv(s.text);
  if (!table.ok()) return AddDamage(s, facts, "nvidia-smi csv: " + table.error().message);
  if (table->rows.empty()) return AddDamage(s, facts, "nvidia-smi csv: no row");
  const std::string_view heading = std::string_view(s.text).substr(0, s.text.find('\n'));
  for (const std::string_view cell : Split(heading, ','))
    if (!ColumnName(Trim(cell)))
      return AddDamage(s, facts,
                       fmt::format("nvidia-smi csv: \"{}\" is no column", Printable(cell)));
  static constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
      {"ecc.errors.uncorrected.volatile.total", "gpu.ecc_uncorrected"},
      {"ecc.errors.uncorrected.volatile.dram", "gpu.ecc_uncorrected"},
      {"temperature.gpu", "gpu.temperature"},
      {"pcie.link.width.current", "gpu.pcie_width"},
      {"pcie.link.width.max", "gpu.pcie_width_max"},
      {"clocks_throttle_reasons.hw_thermal_slowdown", "gpu.throttle_thermal"},
      {"clocks_event_reasons.hw_thermal_slowdown", "gpu.throttle_thermal"},
      {"clocks_throttle_reasons.hw_power_brake_slowdown", "gpu.throttle_power_brake"},
      {"clocks_event_reasons.hw_power_brake_slowdown", "gpu.throttle_power_brake"},
      {"remapped_rows.pending", "gpu.remap_pending"},
      {"remapped_rows.failure", "gpu.remap_failed"},
      {"mig.mode.current", "gpu.mig_mode"}};
  for (size_t row = 0; row < table->rows.size(); ++row) {
    const auto index = table->Cell(row, "index");
    const auto bus = table->Cell(row, "pci.bus_id");
    const std::string gpu = index ? std::string(*index) : std::to_string(row);
    std::string line;
    for (const std::string& cell : table->rows[row]) line += (line.empty() ? "" : ", ") + cell;
    for (const std::string& cell : table->rows[row])
      if (nvidia_smi::SaysLost(cell))
        facts.Add(s.Make("gpu.lost", {{"gpu", gpu}}, s.Where(cell), line));
    for (const auto& [column, fact] : kColumns) {
      const auto cell = table->Cell(row, column);
      if (!cell) continue;
      std::string value(*cell);
      if (const auto flag = nvidia_smi::Flag(value); flag && fact != "gpu.mig_mode")
        value = *flag ? "true" : "false";
      if ((fact == "gpu.remap_pending" || fact == "gpu.remap_failed") && ParseInt(value).ok())
        value = value == "0" ? "false" : "true";
      facts.Add(s.Make(std::string(fact),
                       {{"gpu", gpu}, {"pci", bus ? std::string(*bus) : ""}, {"value", value}},
                       s.Where(table->rows[row].front()), line));
    }
    const auto width = table->Cell(row, "pcie.link.width.current");
    const auto most = table->Cell(row, "pcie.link.width.max");
    if (width && most && *width != *most)
      facts.Add(s.Make("gpu.pcie_narrow",
                       {{"gpu", gpu}, {"value", std::string(*width)}, {"max", std::string(*most)}},
                       s.At(0), line));
  }
}

void ReadTopoText(const Section& s, FactStore& facts) {
  const auto topo = nvidia_smi::ReadTopo(s.text);
  if (!topo.ok()) return AddDamage(s, facts, "nvidia-smi topo -m: " + topo.error().message);
  // A GPU whose neighbours it reaches by NVLink except one, or none where others do.
  std::map<std::string, std::pair<int, int>> links;  // GPU -> NV cells, other cells to GPUs
  for (const auto& row : topo->rows) {
    if (!row.name.starts_with("GPU")) continue;
    for (size_t i = 0; i < row.cells.size() && i < topo->devices.size(); ++i) {
      if (!topo->devices[i].starts_with("GPU") || row.cells[i] == "X") continue;
      ++(row.cells[i].starts_with("NV") ? links[row.name].first : links[row.name].second);
    }
  }
  int with = 0;
  for (const auto& [name, counts] : links) with += counts.first > 0 ? 1 : 0;
  for (const auto& [name, counts] : links)
    if (counts.first == 0 && with >= 2)
      facts.Add(s.Make("nvlink.topology_gap", {{"gpu", name.substr(3)}}, s.Where(name + "\t"),
                       fmt::format("{} reaches no GPU by NVLink; {} others do", name, with)));
}

// "Link 3: <inactive>", "Link 3: 25.781 GB/s".
bool NvlinkRow(std::string_view line) {
  const auto words = SplitBlank(line);
  return words.size() >= 3 && words[0] == "Link" && words[1].ends_with(':') &&
         ParseInt(words[1].substr(0, words[1].size() - 1)).ok() &&
         (words[2] == "<inactive>" || words.back() == "GB/s");
}

constexpr std::string_view kSoldered[] = {"SXM", "HBM3", "H200", "B200", "B300"};

void ReadNvlinkText(const Section& s, FactStore& facts) {
  std::string gpu;
  std::string_view model;  // the line that names it
  size_t offset = 0;
  std::map<std::string, int> active, listed;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const auto words = SplitBlank(line);
    if (words.size() >= 2 && words[0] == "GPU") {
      gpu = words[1].substr(0, words[1].find(':'));
      listed.try_emplace(gpu, 0);
      model = line;
    } else if (line.starts_with("NVML: ") && Contains(line, "all links are in")) {
      // Where NVLink is soldered this is a fault; a card of the PCIe form may have no bridge.
      ++listed[gpu];
      const bool soldered = !Contains(model, "PCIe") && !Contains(model, " NVL") &&
                            std::any_of(std::begin(kSoldered), std::end(kSoldered),
                                        [&](std::string_view m) { return Contains(model, m); });
      facts.Add(s.Make(soldered ? "nvlink.inactive" : "nvlink.all_inactive", {{"gpu", gpu}},
                       s.At(at), line));
    } else if (words.size() >= 3 && words[0] == "Link") {
      ++listed[gpu];
      const std::string link(words[1].substr(0, words[1].find(':')));
      if (Contains(line, "inactive")) {
        facts.Add(s.Make("nvlink.inactive", {{"gpu", gpu}, {"link", link}}, s.At(at), line));
      } else if (Contains(line, "GB/s")) {
        ++active[gpu];
        if (words[2] == "0" || words[2] == "0.000")
          facts.Add(s.Make("nvlink.inactive", {{"gpu", gpu}, {"link", link}}, s.At(at), line));
      } else if (Contains(line, "Error") && words.back() != "0") {
        const bool number = ParseInt(words.back()).ok();
        if (number)
          facts.Add(s.Make("counter.sample",
                           {{"device", "GPU " + gpu},
                            {"port", link},
                            {"name", fmt::format("nvlink {}", words[2])},
                            {"value", std::string(words.back())},
                            {"max", "0"},
                            {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                           s.At(at), line));
      }
    }
  }
  const bool any = std::any_of(listed.begin(), listed.end(),
                               [](const auto& gpu_lines) { return gpu_lines.second > 0; });
  for (const auto& [name, count] : listed)
    if (any && count == 0) AddDamage(s, facts, "nvlink: GPU " + name + " has no line");
  for (const std::string_view line : Lines(s.text))
    if (line.starts_with("GPU ") ? !line.ends_with(")") : line.starts_with("G"))
      AddDamage(s, facts, "nvlink: a heading cannot be read");
  int most = 0, longest = 0;
  for (const auto& [g, count] : active) most = std::max(most, count);
  for (const auto& [g, count] : listed) longest = std::max(longest, count);
  // The tool lists every link of a GPU, active or not: a shorter list was cut.
  for (const auto& [g, count] : listed)
    if (count > 0 && count < longest)
      AddDamage(s, facts,
                fmt::format("nvlink: GPU {} lists {} links, others {}: the list is cut", g, count,
                            longest));
  for (const auto& [g, count] : listed)
    if (count == longest && active.contains(g) && active[g] < most)
      facts.Add(
          s.Make("nvlink.fewer",
                 {{"gpu", g}, {"value", std::to_string(active[g])}, {"max", std::to_string(most)}},
                 s.At(0), fmt::format("GPU {}: {} active NVLinks, others {}", g, active[g], most)));
}

// ---- dcgmi diag, text ----

// "| GPU Memory   | Fail - GPU: 0   |", from the middle of a table.
bool DiagRow(std::string_view line) {
  const auto cells = Split(line, '|');
  return cells.size() == 4 && Trim(cells[0]).empty() && StartsWith(Trim(cells[2]), "Fail");
}

void ReadDiagText(const Section& s, FactStore& facts) {
  std::string test;
  int results = 0;
  size_t offset = 0;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const auto cells = Split(line, '|');
    if (cells.size() < 3) continue;
    const std::string_view name = Trim(cells[1]), value = Trim(cells[2]);
    if (!name.empty() && name != "Diagnostic" && name != "Warning" && name != "Error") test = name;
    const bool fail = StartsWith(ToLower(value), "fail");
    if (StartsWith(ToLower(value), "pass") || fail || StartsWith(ToLower(value), "skip")) ++results;
    if (fail || ((name == "Warning" || name == "Error") && !value.empty())) {
      std::string gpu;
      for (const std::string_view mark : {"GPU: ", "GPU ", "GPU"})
        if (const size_t g = value.find(mark); g != std::string_view::npos && gpu.empty()) {
          size_t end = g + mark.size();
          const size_t begin = end;
          while (end < value.size() && ((value[end] >= '0' && value[end] <= '9'))) ++end;
          gpu = value.substr(begin, end - begin);
        }
      facts.Add(s.Make(fail ? "dcgm.fail" : "dcgm.warning",
                       {{"gpu", gpu}, {"test", test}, {"what", std::string(value)}}, s.At(at),
                       line));
    }
  }
  if (results == 0) AddDamage(s, facts, "dcgmi diag shows no result");
  if (!Trim(s.text).ends_with('+')) AddDamage(s, facts, "the table of dcgmi diag is cut");
}

constexpr std::array kGpu = {
    SectionKind{"nvidia-smi -q", "nvsmi log",
                [](std::string_view l) { return l.starts_with("=="); },
                [](std::string_view l) {
                  return IndentedLine(l) || l.starts_with("GPU ") || l.starts_with("Timestamp") ||
                         l.starts_with("Driver Version") || l.starts_with("CUDA Version") ||
                         l.starts_with("Attached GPUs");
                },
                ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "attached gpus",
                [](std::string_view l) { return l.starts_with("Attached GPUs"); },
                [](std::string_view l) {
                  return IndentedLine(l) || l.starts_with("GPU ") || l.starts_with("Timestamp") ||
                         l.starts_with("Driver Version") || l.starts_with("CUDA Version") ||
                         l.starts_with("Attached GPUs");
                },
                ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "remapped rows", SmiBlock, IndentedLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "remapping failure occurred ", SmiBlock, IndentedLine,
                ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "ecc errors", SmiBlock, IndentedLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "retired pages", SmiBlock, IndentedLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "clocks event reasons", SmiBlock, IndentedLine, ReadSmiQuery},
    SectionKind{"nvidia-smi -q", "clocks throttle reasons", SmiBlock, IndentedLine, ReadSmiQuery},
    SectionKind{
        "nvidia-smi", "| nvidia-smi", [](std::string_view) { return true; },
        [](std::string_view l) { return l.empty() || l[0] == '|' || l[0] == '+' || l[0] == ' '; },
        ReadSmiTable, true},
    SectionKind{
        // rows that were pasted without their heading
        "nvidia-smi", "| 0000",
        [](std::string_view l) {
          const auto cells = Split(l, '|');
          return cells.size() >= 4 && SplitBlank(cells[1]).size() >= 2 &&
                 ParseInt(SplitBlank(cells[1])[0]).ok() && Contains(cells[2], ":");
        },
        [](std::string_view l) { return l.empty() || l[0] == '|' || l[0] == '+' || l[0] == ' '; },
        ReadSmiTable},
    SectionKind{"nvidia-smi csv", "pci.bus_id",
                [](std::string_view l) { return Contains(l, ", ") && !Contains(l, "--"); },
                [](std::string_view l) { return Contains(l, ", "); }, ReadSmiCsv, true},
    SectionKind{"nvidia-smi csv", "index, ",
                [](std::string_view l) { return l.starts_with("index, "); },
                [](std::string_view l) { return Contains(l, ", "); }, ReadSmiCsv, true},
    SectionKind{"nvidia-smi topo -m", "cpu affinity",
                [](std::string_view l) { return Contains(l, "GPU0"); },
                [](std::string_view l) {
                  return IndentedLine(l) || l.starts_with("GPU") || l.starts_with("NIC") ||
                         l.starts_with("mlx") || l.starts_with("Legend");
                },
                ReadTopoText},
    SectionKind{"nvidia-smi nvlink",
                "(uuid: ", [](std::string_view l) { return l.starts_with("GPU "); },
                [](std::string_view l) {
                  return IndentedLine(l) || l.starts_with("G") || l.starts_with("NVML: ");
                },
                ReadNvlinkText},
    SectionKind{"nvidia-smi nvlink", ": <inactive>", NvlinkRow,
                [](std::string_view l) { return IndentedLine(l) || NvlinkRow(l); }, ReadNvlinkText},
    SectionKind{"nvidia-smi nvlink", "gb/s", NvlinkRow,
                [](std::string_view l) { return IndentedLine(l) || NvlinkRow(l); }, ReadNvlinkText},
    SectionKind{"dcgmi diag", "| fail", DiagRow,
                [](std::string_view l) { return !l.empty() && (l[0] == '|' || l[0] == '+'); },
                ReadDiagText},
    SectionKind{"dcgmi diag", "| diagnostic ",
                [](std::string_view l) { return Contains(l, "Result"); },
                [](std::string_view l) { return !l.empty() && (l[0] == '|' || l[0] == '+'); },
                ReadDiagText},
};

}  // namespace

std::span<const SectionKind> GpuSections() { return kGpu; }

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
