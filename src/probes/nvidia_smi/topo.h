// The matrix of `nvidia-smi topo -m`: which adapter is nearest to which GPU, and the NUMA domain of
// each GPU. Written against public outputs of drivers 470 to 590: tabs or blanks, an underlined
// header, cells without the tab between them ("PIXNODE"), any number of NICs named NICn with a
// legend, or by device name in older versions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/probe.h"

namespace muster::nvidia_smi {

struct TopoRow {
  std::string name;  // "GPU0", "NIC3"
  std::vector<std::string>
      cells;  // one per column of TopoMatrix::devices; empty when the row is damaged
  std::string cpu_affinity, numa_affinity;  // empty when not printed
  std::string line;
};

struct TopoMatrix {
  std::vector<std::string>
      devices;  // column heads that are devices, with the NIC legend applied: "GPU0", "mlx5_0"
  std::vector<TopoRow> rows;  // device names as in `devices`
};

// kParse when there is no header, or when the legend that ends the output is missing: the text was
// cut.
Result<TopoMatrix> ReadTopo(std::string_view text);

// gpu.numa and gpu.nearest_hca (nearest by the class of the path, the first column among equals).
Observations ParseTopo(const Reading& reading);

}  // namespace muster::nvidia_smi
