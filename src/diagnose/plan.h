// What a reader prepares from the catalogue's lines once: one automaton over all anchors, and for
// each anchor who asked for it. Making it takes longer than reading a small file.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "diagnose/scan.h"
#include "diagnose/section.h"

namespace muster::diagnose {

enum class Owner : uint8_t {
  kPattern,  // a line of the catalogue; index into Knowledge::lines
  kSection,  // the heading of a tool's output; index into ReaderPlan::kinds
  kMarker,   // tells what kind of log a line is from; index for MarkerAt
  kKernel,   // an event of the kernel may stand here
  kLevel,    // a header of klog or glog may stand here
  kInside,   // stands only inside the output of one tool; index for InsideAt
  kFrame,    // a frame of a Python traceback may stand here
  kCaught,   // says that the traceback after it was caught
  kPace,     // a job's pace may stand here; index into PaceKeys()
  kDevices   // how many devices a node has or offers may stand here
};
struct AnchorUse {
  Owner owner = Owner::kPattern;
  size_t index = 0;
};
struct ReaderPlan {
  std::vector<AnchorUse> uses;  // by the automaton's number of the anchor
  std::vector<const SectionKind*> kinds;
  std::unique_ptr<Scanner> scanner;
};

// Words that tell what kind of log a line is from; they name no fault.
struct Marker {
  std::string_view anchor, name;
  // Is a log of this kind, with nothing wrong in it, a sign of health? A traceback or the
  // launcher's first lines are not: they name the log and say nothing of how it went.
  bool proves = true;
  bool digit = false;  // a digit must follow within a few characters: "step 12", not "a step"
};
const Marker& MarkerAt(size_t index);
bool Says(const Marker& marker, std::string_view line);

// A key that one tool prints below its own heading: without the heading something was lost.
struct InsideKey {
  std::string_view anchor, section;
};
const InsideKey& InsideAt(size_t index);

}  // namespace muster::diagnose
