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

// A GPU that works all the time at less than half of its clock.
void AddSlowClock(const Section& s, const nvidia_smi::SmiTable& table, size_t row,
                  const std::string& gpu, const std::string& line, FactStore& facts) {
  const auto number = [&](std::string_view column) -> double {
    const auto cell = table.Cell(row, column);
    return cell ? ParseDouble(SplitBlank(*cell)[0]).value_or(-1) : -1;
  };
  const double now = number("clocks.sm") < 0 ? number("clocks.current.sm") : number("clocks.sm");
  const double most = number("clocks.max.sm"), busy = number("utilization.gpu");
  if (now > 0 && most > 0 && busy >= 90 && now < most / 2)
    facts.Add(s.Make(
        "gpu.slow_clock",
        {{"gpu", gpu}, {"value", fmt::format("{:.0f}", now)}, {"max", fmt::format("{:.0f}", most)}},
        s.Where(table.rows[row].front()), line));
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
      {"temperature.memory", "gpu.memory_temperature"},
      {"retired_pages.pending", "gpu.retired_pending"},
      {"clocks_throttle_reasons.sw_thermal_slowdown", "gpu.throttle_thermal"},
      {"clocks_event_reasons.sw_thermal_slowdown", "gpu.throttle_thermal"},
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
    AddSlowClock(s, *table, row, gpu, line, facts);
    const auto rate = table->Cell(row, "pcie.link.gen.current");
    const auto fastest = table->Cell(row, "pcie.link.gen.max");
    if (rate && fastest && ParseInt(*rate).ok() && *rate < *fastest)
      facts.Add(s.Make("gpu.pcie_slow",
                       {{"gpu", gpu},
                        {"pci", bus ? std::string(*bus) : ""},
                        {"value", std::string(*rate)},
                        {"max", std::string(*fastest)}},
                       s.Where(table->rows[row].front()), line));
    const auto width = table->Cell(row, "pcie.link.width.current");
    const auto most = table->Cell(row, "pcie.link.width.max");
    if (width && most && *width != *most)
      facts.Add(s.Make("gpu.pcie_narrow",
                       {{"gpu", gpu}, {"value", std::string(*width)}, {"max", std::string(*most)}},
                       s.At(0), line));
  }
}

// "timestamp, index, pstate, clocks.sm [MHz]": only names of columns, whatever comes first.
bool SmiHeading(std::string_view line) {
  const auto cells = Split(line, ',');
  return cells.size() > 1 && std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
           const auto words = SplitBlank(cell);
           return !words.empty() && ColumnName(words[0]) &&
                  (words.size() == 1 || words[1].starts_with('['));
         });
}

bool SmiRow(std::string_view line) { return Contains(line, ", "); }

constexpr SectionKind Headed(std::string_view by) {
  return {"nvidia-smi csv", by, SmiHeading, SmiRow, ReadSmiCsv, true};
}

// nvidia-smi dmon: "# gpu   pwr gtemp mtemp    sm", and below it a row for each GPU and second.
void ReadMonitor(const Section& s, FactStore& facts) {
  const auto heads = SplitBlank(Lines(s.text).front());  // "#" stands before the first head
  size_t rows = 0;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words.size() + 1 != heads.size()) {
      AddDamage(s, facts, "nvidia-smi dmon: a row is not as long as its heading");
      continue;
    }
    if (rows++ == 0 && words[0] != "0")
      AddDamage(s, facts, "nvidia-smi dmon: the first row is not of GPU 0");
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view head = heads[i + 1];
      if ((head != "gtemp" && head != "mtemp") || !ParseInt(words[i]).ok()) continue;
      facts.Add(s.Make(head == "gtemp" ? "gpu.temperature" : "gpu.memory_temperature",
                       {{"gpu", std::string(words[0])}, {"value", std::string(words[i])}},
                       s.Where(line), line));
    }
  }
  if (rows == 0) AddDamage(s, facts, "nvidia-smi dmon: no row");
}

constexpr std::array kSmiTables = {
    SectionKind{"nvidia-smi dmon", "# gpu ", [](std::string_view l) { return Contains(l, "pwr"); },
                [](std::string_view l) {
                  const auto words = SplitBlank(l);
                  return words.size() > 2 && (words[0] == "#" || ParseInt(words[0]).ok());
                },
                ReadMonitor, true},
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
    Headed("temperature."),
    Headed("utilization."),
    Headed("memory."),
    Headed("power.draw"),
    Headed("clocks_event_reasons."),
    Headed("clocks_throttle_reasons."),
    Headed("remapped_rows."),
    Headed("retired_pages."),
    Headed("ecc."),
    Headed("pcie.link."),
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
