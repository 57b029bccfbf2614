// What nvidia-smi prints in rows: the table of all GPUs, csv of --query-gpu.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "probes/nvidia_smi/csv.h"
#include "probes/nvidia_smi/field.h"

namespace muster::diagnose {

namespace {

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

constexpr std::array kSmiTables = {
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
    SectionKind{"nvidia-smi csv", "gpu_bus_id, ",
                [](std::string_view l) { return l.starts_with("gpu_bus_id, "); },
                [](std::string_view l) { return Contains(l, ", "); }, ReadSmiCsv, true},
    SectionKind{"nvidia-smi csv", "gpu_uuid, ",
                [](std::string_view l) { return l.starts_with("gpu_uuid, "); },
                [](std::string_view l) { return Contains(l, ", "); }, ReadSmiCsv, true},
};

}  // namespace

std::span<const SectionKind> SmiTableSections() { return kSmiTables; }

}  // namespace muster::diagnose
