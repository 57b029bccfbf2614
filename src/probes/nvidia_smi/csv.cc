#include "probes/nvidia_smi/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nvidia_smi/complaint.h"
#include "probes/nvidia_smi/field.h"

namespace muster::nvidia_smi {
namespace {

std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> cells;
  for (auto cell : Split(line, ',')) cells.emplace_back(Trim(cell));
  return cells;
}

struct Mapping {
  std::string_view column, fact;
  enum Kind { kText, kCount, kCelsius, kFlag } kind;
  bool of_node = false;
};
constexpr Mapping kMappings[] = {
    {"name", "gpu.model", Mapping::kText},
    {"uuid", "gpu.uuid", Mapping::kText},
    {"serial", "gpu.serial", Mapping::kText},
    {"pci.bus_id", "gpu.pci_bus_id", Mapping::kText},
    {"temperature.gpu", "gpu.temperature", Mapping::kCelsius},
    {"mig.mode.current", "gpu.mig_mode", Mapping::kText},
    {"persistence_mode", "gpu.persistence", Mapping::kFlag},
    {"ecc.errors.uncorrected.volatile.total", "gpu.ecc_uncorrected", Mapping::kCount},
    {"pcie.link.gen.max", "gpu.pcie_gen", Mapping::kCount},
    {"pcie.link.width.current", "gpu.pcie_width", Mapping::kCount},
    {"driver_version", "node.driver_version", Mapping::kText, true},
};

std::optional<std::pair<Value, Unit>> Read(const Mapping& mapping, std::string_view cell) {
  switch (mapping.kind) {
    case Mapping::kText:
      return std::pair<Value, Unit>(std::string(cell), Unit::kNone);
    case Mapping::kCount:
      if (auto count = Count(cell)) return std::pair<Value, Unit>(*count, Unit::kCount);
      return std::nullopt;
    case Mapping::kCelsius:  // csv prints the bare number, with or without units
      if (auto celsius = Count(cell))
        return std::pair<Value, Unit>(static_cast<double>(*celsius), Unit::kCelsius);
      return std::nullopt;
    case Mapping::kFlag:
      if (auto flag = Flag(cell)) return std::pair<Value, Unit>(*flag, Unit::kNone);
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> SmiTable::Cell(size_t row, std::string_view column) const {
  const auto at = std::find(columns.begin(), columns.end(), column);
  if (at == columns.end() || row >= rows.size()) return std::nullopt;
  const std::string& cell = rows[row][static_cast<size_t>(at - columns.begin())];
  if (IsSentinel(cell)) return std::nullopt;
  return cell;
}

Result<SmiTable> ReadCsv(std::string_view text) {
  SmiTable table;
  if (!EndsWith(text, "\n"))
    return Fail(Code::kParse, "the last line is not ended: the output was cut");
  for (auto line : Lines(text)) {
    if (Trim(line).empty()) continue;
    auto cells = Cells(line);
    if (table.columns.empty()) {
      for (auto& cell : cells)
        table.columns.emplace_back(Trim(std::string_view(cell).substr(0, cell.find('['))));
      continue;
    }
    if (cells.size() != table.columns.size())
      return Fail(Code::kParse, fmt::format("expected {} cells, found {}: {}", table.columns.size(),
                                            cells.size(), Shorten(Printable(line), 80)));
    table.rows.push_back(std::move(cells));
  }
  if (table.columns.empty()) return Fail(Code::kParse, "expected a header line");
  return table;
}

Observations ParseCsv(const Reading& reading) {
  ObservationBuilder out(reading);
  const auto table = ReadCsv(reading.text);
  if (!table.ok() ||
      std::find(table->columns.begin(), table->columns.end(), "index") == table->columns.end()) {
    const Complaint complaint = ReadComplaint(reading.text);
    for (const auto& mapping : kMappings)
      out.AddUnobserved(NodeSubject(reading.host), mapping.fact, complaint.reason,
                        table.ok() ? "there is no column index" : table.error().message);
    return out.Take();
  }
  for (size_t row = 0; row < table->rows.size(); ++row) {
    const auto index = Count(table->Cell(row, "index").value_or(""));
    if (!index || *index >= 1024) continue;
    const Subject gpu = GpuSubject(reading.host, static_cast<int>(*index));
    for (const auto& mapping : kMappings) {
      if (std::find(table->columns.begin(), table->columns.end(), mapping.column) ==
          table->columns.end())
        continue;
      const Subject subject = mapping.of_node ? NodeSubject(reading.host) : gpu;
      const auto cell = table->Cell(row, mapping.column);
      const auto value = cell ? Read(mapping, *cell) : std::nullopt;
      if (value)
        out.Add(subject, mapping.fact, value->first, value->second,
                fmt::format("{}: {}", mapping.column, *cell));
      else
        out.AddUnobserved(subject, mapping.fact, UnknownReason::kNotObserved,
                          fmt::format("no value of {}", mapping.column));
    }
  }
  return out.Take();
}

}  // namespace muster::nvidia_smi
