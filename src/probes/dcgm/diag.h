// What a DCGM diagnostic means for each GPU. Written against public documents of DCGM 3.1, 3.3, 4.2
// and 4.5 and the schema of 4.6.
#pragma once

#include "probes/probe.h"

namespace muster::dcgm {

// dcgm.result: the worst over all tests that this GPU took part in, in the order Fail, Skip, Warn,
// Pass. A failure that names no GPU (a summary, a CPU entity) counts for every GPU of the node.
// Skip stands for a test that level 3 owes (software, memory, pcie, diagnostic, memory_bandwidth,
// targeted_stress, targeted_power) and that did not run; tests that depend on the installation
// (eud, nvbandwidth, nccl_tests, pulse_test, ...) may be skipped. One of the owed tests missing, or
// a status that is no status, makes it Unobserved. dcgm.hidden_errors: errors and warnings inside
// tests whose status is Pass (NVIDIA/DCGM issue 284). dcgm.tests_run: tests with a result other
// than Skip. A cut document, a runtime_error or no document at all gives no value whatever the exit
// code was (205 and 226 come with a valid one).
Observations ParseDiag(const Reading& reading);

}  // namespace muster::dcgm
