#include "probes/infiniband/ibstat.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

// Sets a value once; the second time the key stands in one port, somebody else's lines have run
// into it.
template <typename T>
class Once {
 public:
  void Set(std::optional<T> value) {
    if (seen_) value.reset();
    seen_ = true;
    value_ = std::move(value);
  }
  const std::optional<T>& value() const { return value_; }

 private:
  bool seen_ = false;
  std::optional<T> value_;
};

struct Draft {
  std::string device;
  int port = 0;
  Once<std::string> state, physical_state, link_layer;
  Once<double> rate;
  std::string excerpt;

  PortStatus Finish(const std::optional<std::string>& firmware) const {
    return {device,
            port,
            firmware,
            state.value(),
            physical_state.value(),
            rate.value(),
            link_layer.value(),
            excerpt};
  }
};

std::optional<double> Rate(std::string_view text) {
  // "400", "2.5", "40 (FDR10)"
  const auto number = ParseDouble(text.substr(0, text.find(' ')));
  if (!number.ok() || *number <= 0) return std::nullopt;
  return *number;
}

std::optional<std::string> Word(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

// The body of "CA 'mlx5_0'" or "Infiniband device 'mlx5_0' port 1 status:".
std::optional<std::string_view> QuotedAfter(std::string_view line, std::string_view lead) {
  if (!StartsWith(line, lead)) return std::nullopt;
  return Between(line, "'", "'");
}

class IbstatReader {
 public:
  void Line(std::string_view raw) {
    const std::string_view line = Trim(raw);
    if (line.empty()) return;
    if (StartsWith(line, "CA '")) return Device(QuotedAfter(line, "CA '"));
    if (Contains(line, "ibpanic:")) return Panic(line);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = Trim(line.substr(colon + 1));
    if (key == "CA type") return Type();
    if (key == "Firmware version") return firmware_.Set(Word(value));
    if (StartsWith(key, "Port ") && key != "Port GUID") return Port(key.substr(5));
    if (draft_) Value(key, value, line);
  }
  Ibstat Finish() {
    Close();
    return std::move(result_);
  }

 private:
  void Device(std::optional<std::string_view> name) {
    Close();
    device_ = name ? std::string(*name) : "";
    firmware_ = {};
    has_type_ = false;
    if (!device_.empty()) ++result_.devices;
  }
  // A second type without a heading between: the heading was lost, and the device is not known.
  void Type() {
    if (has_type_) Device(std::nullopt);
    has_type_ = true;
  }
  void Port(std::string_view number) {
    Close();
    const auto port = ParseInt(number);
    if (!port.ok() || *port < 1 || *port > 254 || device_.empty()) return;
    draft_.emplace();
    draft_->device = device_;
    draft_->port = static_cast<int>(*port);
  }
  void Value(std::string_view key, std::string_view value, std::string_view line) {
    if (key == "State") {
      draft_->state.Set(Word(value));
      draft_->excerpt = std::string(line);
    } else if (key == "Physical state") {
      draft_->physical_state.Set(Word(value));
      draft_->excerpt += fmt::format(", {}", line);
    } else if (key == "Rate") {
      draft_->rate.Set(Rate(value));
      draft_->excerpt += fmt::format(", {}", line);
    } else if (key == "Link layer") {
      draft_->link_layer.Set(Word(value));
    }
  }
  void Panic(std::string_view line) {
    Close();
    result_.panic = std::string(line);
    if (const auto device = Between(line, "'", "'")) result_.panicked_device = std::string(*device);
  }
  void Close() {
    if (draft_) result_.ports.push_back(draft_->Finish(firmware_.value()));
    draft_.reset();
  }

  Ibstat result_;
  std::string device_;
  Once<std::string> firmware_;
  bool has_type_ = false;
  std::optional<Draft> draft_;
};

std::string HcaId(const PortStatus& port) {
  // A second port is a subject of its own; the first is the device itself, as sites name it.
  return port.port == 1 ? port.device : fmt::format("{}/{}", port.device, port.port);
}

}  // namespace

Ibstat ParseIbstat(std::string_view text) {
  IbstatReader reader;
  for (const std::string_view line : WholeLines(text)) reader.Line(line);
  return reader.Finish();
}

std::optional<std::string> StateOfSysfs(std::string_view text) {
  // drivers/infiniband/core/sysfs.c: state_show()
  struct Pair {
    std::string_view printed, word;
  };
  static constexpr Pair kStates[] = {{"1: DOWN", "Down"},
                                     {"2: INIT", "Initializing"},
                                     {"3: ARMED", "Armed"},
                                     {"4: ACTIVE", "Active"},
                                     {"5: ACTIVE_DEFER", "ActiveDefer"}};
  for (const Pair& pair : kStates) {
    if (Trim(text) == pair.printed) return std::string(pair.word);
  }
  return std::nullopt;
}

std::optional<std::string> PhysicalStateOfSysfs(std::string_view text) {
  // drivers/infiniband/core/sysfs.c: phys_state_to_str()
  static constexpr std::string_view kStates[] = {
      "Sleep",  "Polling",           "Disabled", "PortConfigurationTraining",
      "LinkUp", "LinkErrorRecovery", "Phy Test"};
  const std::string_view trimmed = Trim(text);
  for (size_t i = 0; i < std::size(kStates); ++i) {
    if (trimmed == fmt::format("{}: {}", i + 1, kStates[i])) return std::string(kStates[i]);
  }
  return std::nullopt;
}

std::optional<double> RateOfSysfs(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  const size_t unit = trimmed.find(" Gb/sec (");
  if (unit == std::string_view::npos || !EndsWith(trimmed, ")")) return std::nullopt;
  return Rate(trimmed.substr(0, unit));
}

std::vector<PortStatus> ParseIbstatus(std::string_view text) {
  std::vector<PortStatus> ports;
  std::optional<Draft> draft;
  const auto close = [&] {
    if (draft) ports.push_back(draft->Finish(std::nullopt));
    draft.reset();
  };
  for (const std::string_view raw : WholeLines(text)) {
    const std::string_view line = Trim(raw);
    if (const auto device = QuotedAfter(line, "Infiniband device '")) {
      close();
      const auto number = Between(line, "' port ", " status:");
      const auto port = number ? ParseInt(*number) : Result<int64_t>(int64_t{0});
      if (!port.ok() || *port < 1 || *port > 254 || device->empty()) continue;
      draft.emplace();
      draft->device = std::string(*device);
      draft->port = static_cast<int>(*port);
      continue;
    }
    if (line.empty()) close();  // the script ends each port with an empty line
    const size_t colon = line.find(':');
    if (!draft || colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon), value = Trim(line.substr(colon + 1));
    if (key == "state") {
      draft->state.Set(StateOfSysfs(value));
      draft->excerpt = std::string(value);
    } else if (key == "phys state") {
      draft->physical_state.Set(PhysicalStateOfSysfs(value));
      draft->excerpt += fmt::format(", {}", value);
    } else if (key == "rate") {
      draft->rate.Set(RateOfSysfs(value));
      draft->excerpt += fmt::format(", {}", value);
    } else if (key == "link_layer") {
      draft->link_layer.Set(Word(value));
    }
  }
  close();
  return ports;
}

void ObservePort(const PortStatus& port, std::string_view host, ObservationBuilder& builder) {
  const Subject hca = HcaSubject(host, HcaId(port));
  const auto text = [&](std::string_view fact, const std::optional<std::string>& value,
                        std::string_view key) {
    if (value) {
      builder.Add(hca, fact, *value, Unit::kNone, port.excerpt);
    } else {
      builder.AddUnobserved(hca, fact, UnknownReason::kNotObserved,
                            fmt::format("no readable \"{}\" for port {}", key, port.port));
    }
  };
  text("hca.state", port.state, "State");
  text("hca.physical_state", port.physical_state, "Physical state");
  // Rate 10 with Polling is what the adapter would start with, not SDR (reference: faults, link
  // state).
  const bool up = port.physical_state && *port.physical_state == "LinkUp";
  if (up && port.rate_gbit_per_s) {
    builder.Add(hca, "hca.rate", *port.rate_gbit_per_s, Unit::kGbitPerSec, port.excerpt);
  } else {
    builder.AddUnobserved(
        hca, "hca.rate", UnknownReason::kNotObserved,
        up ? "no readable \"Rate\"" : "the port is not up, its rate is a placeholder");
  }
}

Observations ParseIbstatReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  Ibstat ibstat = ParseIbstat(reading.text);
  if (!ibstat.panic) {  // the panic itself goes to stderr; some captures hold both streams in one
                        // text
    const Ibstat complaint = ParseIbstat(reading.stderr_text + "\n");
    ibstat.panic = complaint.panic;
    ibstat.panicked_device = complaint.panicked_device;
  }
  for (const PortStatus& port : ibstat.ports) {
    ObservePort(port, reading.host, builder);
    if (port.port != 1) continue;
    const Subject hca = HcaSubject(reading.host, port.device);
    if (port.firmware) {
      builder.Add(hca, "hca.firmware", *port.firmware, Unit::kNone,
                  fmt::format("Firmware version: {}", *port.firmware));
    } else {
      builder.AddUnobserved(hca, "hca.firmware", UnknownReason::kNotObserved,
                            "no \"Firmware version\"");
    }
  }
  if (!ibstat.panicked_device.empty()) {
    const Subject hca = HcaSubject(reading.host, ibstat.panicked_device);
    for (const std::string_view fact : {"hca.state", "hca.physical_state", "hca.rate"}) {
      builder.AddUnobserved(hca, fact, UnknownReason::kToolFault, *ibstat.panic);
    }
  }
  return builder.Take();
}

Observations ParseIbstatusReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  for (const PortStatus& port : ParseIbstatus(reading.text)) {
    ObservePort(port, reading.host, builder);
  }
  return builder.Take();
}

}  // namespace muster::infiniband
