// Private to src/probes/kubernetes: the pure parsers.
#pragma once

#include "probes/probe.h"

namespace muster {

Observations ParseKubeNodes(const Reading& reading);
Observations ParseNodeInfo(const Reading& reading);
Observations ParseNodeSoftware(const Reading& reading);
Observations ParseGpuOperator(const Reading& reading);
Observations ParseGpuOperands(const Reading& reading);
Observations ParseNetworkOperator(const Reading& reading);
Observations ParseAttachments(const Reading& reading);
Observations ParseKubelet(const Reading& reading);

}  // namespace muster
