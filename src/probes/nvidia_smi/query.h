// The XML of `nvidia-smi -q -x`, read once from front to back. Written against public samples of
// DTD v11 (driver 515), v12 (535) and v13 (590), and against the lab's v12 (570); older ones with
// single_bit/double_bit error counts are understood too.
#pragma once

#include <span>
#include <string_view>

#include "probes/probe.h"

namespace muster::nvidia_smi {

// Every fact that ParseQuery can observe.
std::span<const std::string_view> QueryFacts();

// Facts of all GPUs of the node. A GPU's index is its place in the document, which nvidia-smi
// orders by PCI address; GPUs it names as unreachable in a line of its own take their place in that
// order. All or nothing for the node's document: when it is cut, is no XML, or lists another number
// of GPUs than it announces, every fact is Unobserved. A value that is missing or one of the tool's
// phrases ("N/A", "GPU is lost") is Unobserved for that GPU alone.
Observations ParseQuery(const Reading& reading);

}  // namespace muster::nvidia_smi
