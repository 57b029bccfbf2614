// What software a node runs: kernel, operating system, packages of the GPU and fabric stack. The
// raw material of the bill of materials; two of its lines are facts that criteria hold.
#pragma once

#include <string>
#include <vector>

#include "probes/probe.h"

namespace muster::node {

struct SoftwareItem {
  std::string name;     // "kernel", "os", "driver", "package:containerd.io", ...
  std::string version;  // never empty
};

// Reads /proc/sys/kernel/osrelease, /etc/os-release, `nvidia-smi --version`, `ofed_info -s`,
// `dcgmi --version`, `nvidia-ctk --version`, and dpkg-query or rpm for the packages of the stack.
// What a host does not have leaves an empty section.
Reading CollectSoftware(const HostPorts& ports);

// node.kernel and node.os.
Observations ParseSoftware(const Reading& reading);

// Every item that the reading names, ordered by name; nothing when the reading was cut, so that a
// cut list is never taken for a short one.
std::optional<std::vector<SoftwareItem>> SoftwareOf(const Reading& reading);

}  // namespace muster::node
