// A controller over Redfish (DMTF DSP0266): session or basic authentication, power, tasks, sensors,
// event log. Paths come from the controller's own links; only those below /redfish/ on the host
// that was named are followed.
#pragma once

#include <memory>
#include <string>

#include "backend/bmc/bmc.h"
#include "world/clock.h"
#include "world/files.h"
#include "world/http.h"

namespace muster::bmc {

struct RedfishConfig {
  std::string url;  // "https://bmc-07"; http:// only to a loopback address
  std::string user;
  SecretRef password;
  std::string system;  // id or name below /redfish/v1/Systems; "" where there is only one
  enum class Auth { kSessionElseBasic, kBasic } auth = Auth::kSessionElseBasic;
  Duration timeout = std::chrono::seconds(20);    // of one request
  Duration task_limit = std::chrono::minutes(5);  // of a task that a reset opens
  Duration task_poll = std::chrono::seconds(2);
  Duration off_limit = std::chrono::minutes(1);  // to go off, where a cycle is off and on
};

// Checks nothing about certificates itself: the port does. A controller whose certificate nobody
// signed is reached through a port made with that one exception, which the site states with its
// reason.
std::unique_ptr<Bmc> MakeRedfish(RedfishConfig config, Http& http, Clock& clock, Files& files,
                                 Environment environment);

// kInvalid: not a URL, or plain HTTP to somewhere else than this machine (a password would cross
// the network in the clear).
Status CheckRedfish(const RedfishConfig& config);

}  // namespace muster::bmc
