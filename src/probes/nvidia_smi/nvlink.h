// `nvidia-smi nvlink -s`: the speed of every NVLink of every GPU. Written against public outputs of
// drivers 470 to 590: H100 SXM and PCIe, A6000, and the message of GPUs whose links are all down.
#pragma once

#include "probes/probe.h"

namespace muster::nvidia_smi {

// nvlink.active per GPU: links with a speed above zero. A GPU that lists fewer links than the
// others was cut off and is Unobserved.
Observations ParseNvlink(const Reading& reading);

}  // namespace muster::nvidia_smi
