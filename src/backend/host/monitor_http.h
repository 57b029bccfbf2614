// HTTP to a site's monitor: http://prometheus, http://alertmanager and http://monitor/synthetic, as
// the probes call them, are the URLs of the site file's telemetry. One that it does not name is not
// asked.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/site.h"
#include "world/http.h"

namespace muster::host {

// `http` is borrowed.
std::unique_ptr<Http> MakeMonitorHttp(const std::map<std::string, Endpoint>& endpoints, Http& http);

}  // namespace muster::host
