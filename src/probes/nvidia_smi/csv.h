// `nvidia-smi --query-gpu=... --format=csv[,nounits]`: what most people script. Read here so that
// such output is evidence too. Written against public outputs of drivers 470 to 590.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/probe.h"

namespace muster::nvidia_smi {

struct SmiTable {
  std::vector<std::string> columns;            // "pci.bus_id", without the unit in brackets
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
  // The cell of a row, or nothing when there is no such column or the cell holds one of the tool's
  // phrases instead of a value.
  std::optional<std::string_view> Cell(size_t row, std::string_view column) const;
};

// With a header line. kParse when a row has another number of cells, or when the last line is not
// ended.
Result<SmiTable> ReadCsv(std::string_view text);

// Facts of the columns that are known here (index, name, uuid, serial, pci.bus_id, driver_version,
// temperature.gpu, mig.mode.current, persistence_mode, ecc.errors.uncorrected.volatile.total,
// pcie.link.gen.max, pcie.link.width.current). Needs the column index.
Observations ParseCsv(const Reading& reading);

}  // namespace muster::nvidia_smi
