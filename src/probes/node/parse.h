// The parsers of the node probes, apart from collecting so that stored readings go through them
// too.
#pragma once

#include "probes/probe.h"

namespace muster::node {

// Sections asked, answered (our clock before and after, as seconds since the epoch), date (`date
// +%s.%N`), boot_id, end. node.reachable, node.clock_offset (seconds, absolute: its clock less the
// middle of our two), node.boot_id.
Observations ParseIdentity(const Reading& reading);

// The word of `systemctl is-active nvidia-fabricmanager`: node.fabric_manager, "absent" when
// systemd knows no such unit (exit 4).
Observations ParseServices(const Reading& reading);

// Sections kernel (release), loaded (/proc/driver/nvidia/version), on_disk (`modinfo -F version
// nvidia`), smi (`nvidia-smi --version`), modules (/proc/modules), fabric_manager
// (`nv-fabricmanager --version`), end. node.peermem: nvidia_peermem is loaded, or the open kernel
// module of driver 515 or later runs on Linux 5.12 or later, which serves dma_buf (NCCL 2.13
// release notes, NVIDIA GPUDirect RDMA documentation). node.driver_loaded_matches: the loaded
// module is of the version of the user-space driver and, where modinfo answers, of the module on
// disk. node.fabric_manager_matches.
Observations ParseModules(const Reading& reading);

}  // namespace muster::node
