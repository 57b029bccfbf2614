// The tools of an NVIDIA node as a lab plays them: nvidia-smi, dcgmi, the kernel log and the host
// commands around the driver. They ask lab/state/truth.h what is so and only write it down, in the
// forms of driver 570 and DCGM 4.2.
#pragma once

#include <span>

#include "backend/lab/state/tool.h"

namespace muster::lab {

// nvidia-smi, dcgmi, dmesg, journalctl, lsmod, modinfo, systemctl, nv-fabricmanager, lspci.
std::span<const Tool> NvidiaTools();
// /proc/driver/nvidia/version, /proc/modules, /proc/sys/kernel/random/boot_id,
// /proc/sys/kernel/osrelease.
std::span<const LabFile> NvidiaFiles();

}  // namespace muster::lab
