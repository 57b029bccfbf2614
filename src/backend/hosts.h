// The hosts of a site: each answers commands, file reads and HTTP through the world ports, wherever
// it is (a lab's model, this machine, OpenSSH, a folder of captures). Three names beside the nodes
// are always there: "facility" (sign-off documents and PDU endpoints), "fabric" (where fabric-wide
// tools run) and "monitor" (Prometheus and Alertmanager).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/probe.h"

namespace muster {

// One read that is about to happen, as a function of its host's ports. It may be called several
// times, and with empty answers.
struct Foreseen {
  std::string host;
  std::function<void(const HostPorts&)> read;
};

class Hosts {
 public:
  virtual ~Hosts() = default;
  virtual std::vector<std::string> Names() const = 0;  // node names, in the site's order
  // The ports of one host; valid as long as this object. kNotFound for a name the site does not
  // have. A host that does not answer is no error here: its ports answer kUnavailable.
  virtual Result<HostPorts> At(std::string_view host) = 0;
  virtual Origin origin() const = 0;
  // How many hosts may usefully be asked at the same time.
  virtual int Parallel() const = 0;
  // Where a command is dear (a pod each), what these reads will ask is brought in one go, and
  // answers them until Forget(). Elsewhere nothing happens. Forget() says what could not be taken
  // away again.
  virtual void Foresee(std::span<const Foreseen> /*reads*/) {}
  virtual Status Forget() { return {}; }
};

}  // namespace muster
