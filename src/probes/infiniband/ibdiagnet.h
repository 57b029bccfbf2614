// ibdiagnet: how many errors its stages report. Two programs bear this name: ibutils 1.5.7 (Debian;
// its table is "STAGE Errors Warnings") and ibdiagnet 2 of MLNX_OFED, MFT and UFM ("Stage Warnings
// Errors Comment": the columns are the other way round).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::infiniband {

struct IbdiagnetStage {
  std::string name;
  int64_t errors = 0, warnings = 0;
  std::string excerpt;
};
struct Ibdiagnet {
  int generation = 0;  // 1 or 2
  std::vector<IbdiagnetStage> stages;
  std::vector<std::string> unread;  // stages whose numbers could not be read ("NA", "skipped")
  bool complete = false;            // the line after the table was printed
  std::string complaint;            // the first "-E-" line, wherever it stands
};

// Captures exist of ibutils 1.5.7; generation 2 is read as its user manual and published outputs
// show it.
Ibdiagnet ParseIbdiagnet(std::string_view text);
// ibdiagnet.errors; unknown where the table is missing, cut, empty or names a stage that did not
// run.
Observations ParseIbdiagnetReading(const Reading& reading);

}  // namespace muster::infiniband
