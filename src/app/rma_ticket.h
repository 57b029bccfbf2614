// The RMA ticket: everything a vendor asks for, from what is seen now and from what the run wrote
// down. Every Xid is classified first: the fault of a program replaces no GPU, and a GPU is
// replaced only when its row remap failed or its diagnostic did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/runbooks.h"

namespace muster {

struct RmaTicket {
  std::string target, run, site;
  bool replace = false;
  std::string advice;                        // why, or why not
  std::map<std::string, std::string> facts;  // serial, UUID, PCI address, ECC, remap, versions
  std::vector<std::string> xids;             // each with its class and action, and the log line
  std::vector<std::string> diagnostic;       // verdicts of the level-3 diagnostic
  std::vector<std::string> tried;            // the run's own records of the target
  Origin origin = Origin::kLive;
};

// One for each target of the run.
std::vector<RmaTicket> MakeTickets(SiteContext& site, const RunbookRun& run);
std::string TicketText(const RmaTicket& ticket);  // Markdown

}  // namespace muster
