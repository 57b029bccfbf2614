// AMD GPUs: the few facts of gate 3 that amd-smi and rocm-smi give in documented form. Written
// against the published JSON shapes of ROCm 6 and 7 (ROCm/amdsmi command line documentation) and
// public outputs; no capture of an own machine exists yet.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// rocm_smi.query: `amd-smi static --json` and `amd-smi metric --json`, or `rocm-smi --showallinfo
// --json` where amd-smi is missing.
std::span<const Probe> RocmSmiProbes();

namespace rocm_smi {
// gpu.count, gpu.present, gpu.model, gpu.ecc_uncorrected, gpu.temperature (hot spot where there is
// one, else edge), node.driver_version. The reading holds JSON documents, one after the other. One
// of them cut: nothing is known. rocm-smi tells no ECC counts.
Observations ParseQuery(const Reading& reading);
}  // namespace rocm_smi

}  // namespace muster
