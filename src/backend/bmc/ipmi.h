// A controller over IPMI 2.0 through ipmitool (lanplus). The password goes by the environment of
// that one process, never on its command line, where every user of the machine could read it.
#pragma once

#include <memory>
#include <string>

#include "backend/bmc/bmc.h"
#include "world/files.h"
#include "world/processes.h"

namespace muster::bmc {

struct IpmiConfig {
  std::string host, user;
  int port = 623;
  int cipher_suite = 17;  // SHA-256; 3 (SHA-1) where the controller has no other
  SecretRef password;
  Duration timeout = std::chrono::seconds(20);  // ipmitool itself may wait far longer
};

std::unique_ptr<Bmc> MakeIpmi(IpmiConfig config, Processes& processes, Files& files,
                              Environment environment);

// For tests of hostile text. kParse where it is not what ipmitool prints.
Result<Power> ParseChassisPower(std::string_view out);
Result<std::vector<Sensor>> ParseSdr(std::string_view csv);
Result<std::vector<Event>> ParseSel(std::string_view csv);

}  // namespace muster::bmc
