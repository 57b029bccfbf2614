// Lines of the kernel log as facts, by the parser of the kernel log's probe and the published
// tables of Xid codes: the class and the severity of a code come from there, never from the line's
// look.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/fact.h"

namespace muster::diagnose {

// Adds "xid", "sxid", "gpu.fallen_off", "pcie.aer", "nic.port" and so on; false when the line holds
// no event of the kernel.
bool ReadKernelLine(std::string_view line, const std::string& file, size_t number,
                    FactStore& facts);
// Adds "link.event" for a network port that came up or went down.
bool ReadLinkLine(std::string_view line, const std::string& file, size_t number, FactStore& facts);
// "link.went_down" and "link.flaps", from all events of a port; see links.cc.
void AddLinkFacts(FactStore& facts);
// Gives a fact that has a code but no class ("xid" told by another tool) its class and severity.
void ClassifyXid(Fact& fact);

}  // namespace muster::diagnose
