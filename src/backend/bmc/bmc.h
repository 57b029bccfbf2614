// The management controller beside a node: power, sensors, event log. Two protocols speak to it
// (redfish.h, ipmi.h); what it says of itself may be wrong, so whoever acts looks at the host too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/actuator.h"
#include "base/result.h"

namespace muster::bmc {

enum class Power { kOn, kOff, kChanging, kUnknown };
std::string_view ToString(Power power);  // "on", "off", "changing", "unknown"

enum class PowerAct { kOn, kGracefulShutdown, kForceOff, kGracefulRestart, kForceRestart, kCycle };
std::string_view ToString(PowerAct act);  // Redfish's words: "On", "GracefulShutdown", ...
Result<PowerAct> ParsePowerAct(std::string_view text);

struct Sensor {
  std::string name, unit;  // unit as the controller says it: "Cel", "RPM", "Watts"
  std::optional<double> value;
  std::string state;  // "OK", "ok", "cr"; as the controller says it
};
struct Event {
  std::string id, at, message, severity;  // `at` is the controller's own clock, as it prints it
};

// A look that costs one or two requests.
struct Seen {
  Power power = Power::kUnknown;
  std::string last_reset;  // when the host was last reset, as the controller prints it; "" = unsaid
};

class Bmc {
 public:
  virtual ~Bmc() = default;
  virtual Result<Seen> Look() = 0;
  // kAccepted: the controller took it; that it happened is shown by Look() and by the host alone.
  // kRefused: proven not taken. kUnknown: no whole answer came.
  virtual DidResult Do(PowerAct act) = 0;
  virtual DidResult RestartController() = 0;
  // When the controller itself was last started; kNotFound where it does not say.
  virtual Result<std::string> ControllerStarted() = 0;
  virtual Result<std::vector<Sensor>> Sensors() = 0;
  virtual Result<std::vector<Event>> Events() = 0;  // newest last
  // The exact request or command, without any secret. Pure.
  virtual std::string Render(PowerAct act) const = 0;
  virtual std::string RenderRestart() const = 0;
};

// Where a password lies: "env:NAME" or "file:/path". The text itself is never kept, printed or
// journaled.
struct SecretRef {
  std::string text;
  // kInvalid for anything else: a password in a site file is refused.
  static Result<SecretRef> Parse(std::string_view text);
};
// What an environment variable holds; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

}  // namespace muster::bmc
