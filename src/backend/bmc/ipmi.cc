#include "backend/bmc/ipmi.h"

#include <fmt/format.h>

#include "backend/bmc/secret.h"
#include "base/strings.h"

namespace muster::bmc {

namespace {

constexpr size_t kMostPrinted = 400;

class Ipmi final : public Bmc {
 public:
  Ipmi(IpmiConfig config, Processes& processes, Files& files, Environment environment)
      : config_(std::move(config)),
        processes_(processes),
        files_(files),
        environment_(std::move(environment)) {}

  Result<Seen> Look() override {
    TRY(const std::string out, Ask({"chassis", "power", "status"}));
    TRY(const Power power, ParseChassisPower(out));
    return Seen{power, ""};
  }

  DidResult Do(PowerAct act) override {
    if (act == PowerAct::kGracefulRestart)
      return {Did::kRefused, "IPMI has no graceful restart: shut down, then switch on"};
    return Order(Words(act));
  }
  DidResult RestartController() override { return Order({"mc", "reset", "cold"}); }

  Result<std::string> ControllerStarted() override {
    return Fail(Code::kNotFound, "IPMI does not say when a controller was started");
  }

  Result<std::vector<Sensor>> Sensors() override {
    TRY(const std::string out, Ask({"-c", "sdr", "list", "full"}));
    return ParseSdr(out);
  }
  Result<std::vector<Event>> Events() override {
    TRY(const std::string out, Ask({"-c", "sel", "elist"}));
    return ParseSel(out);
  }

  std::string Render(PowerAct act) const override { return Line(Words(act)); }
  std::string RenderRestart() const override { return Line({"mc", "reset", "cold"}); }

 private:
  static std::vector<std::string> Words(PowerAct act) {
    switch (act) {
      case PowerAct::kOn:
        return {"chassis", "power", "on"};
      case PowerAct::kGracefulShutdown:
        return {"chassis", "power", "soft"};
      case PowerAct::kForceOff:
        return {"chassis", "power", "off"};
      case PowerAct::kForceRestart:
        return {"chassis", "power", "reset"};
      case PowerAct::kGracefulRestart:  // IPMI has none: refused in Do, never made into a hard one
      case PowerAct::kCycle:
        break;
    }
    return {"chassis", "power", "cycle"};
  }

  Command CommandFor(const std::vector<std::string>& words) const {
    Command command;
    command.argv = {"ipmitool",
                    "-I",
                    "lanplus",
                    "-C",
                    std::to_string(config_.cipher_suite),
                    "-H",
                    config_.host,
                    "-p",
                    std::to_string(config_.port),
                    "-U",
                    config_.user,
                    "-E"};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.timeout = config_.timeout;
    command.max_output = 4u << 20;
    return command;
  }
  std::string Line(const std::vector<std::string>& words) const {
    return CommandFor(words).ToString();
  }

  Result<CommandResult> Run(const std::vector<std::string>& words) {
    TRY(const std::string secret, ReadSecret(config_.password, files_, environment_));
    Command command = CommandFor(words);
    command.env["IPMI_PASSWORD"] = secret;
    TRY(CommandResult ran, processes_.Run(command));
    ran.out = WithoutSecret(std::move(ran.out), secret);
    ran.err = WithoutSecret(std::move(ran.err), secret);
    return ran;
  }

  Result<std::string> Ask(const std::vector<std::string>& words) {
    TRY(const CommandResult ran, Run(words));
    const std::string line = Line(words);
    if (ran.timed_out)
      return Fail(Code::kTimeout,
                  fmt::format("{} did not end within {}", line, FormatDuration(config_.timeout)));
    if (ran.truncated) return Fail(Code::kParse, line + " printed more than is read");
    if (ran.exit_code != 0)
      return Fail(Contains(ran.err, "Unable to establish") ? Code::kUnavailable : Code::kPermission,
                  fmt::format("{} ends with {}: {}", line, ran.exit_code, Said(ran)));
    return ran.out;
  }

  static std::string Said(const CommandResult& ran) {
    return Shorten(Printable(Trim(ran.err.empty() ? ran.out : ran.err)), kMostPrinted);
  }

  DidResult Order(const std::vector<std::string>& words) {
    const auto ran = Run(words);
    if (!ran.ok()) {
      // The program could not be started, or there is no password: nothing was sent.
      const bool sent = ran.error().code == Code::kTimeout;
      return {sent ? Did::kUnknown : Did::kRefused, ran.error().ToString()};
    }
    if (ran->timed_out) return {Did::kUnknown, "no answer within its time"};
    if (ran->exit_code == 0) return {Did::kAccepted, Said(*ran)};
    // Without a session nothing was sent; after one, the answer may have been lost.
    const bool no_session = Contains(ran->err, "Unable to establish");
    return {no_session ? Did::kRefused : Did::kUnknown, Said(*ran)};
  }

  const IpmiConfig config_;
  Processes& processes_;
  Files& files_;
  Environment environment_;
};

}  // namespace

std::unique_ptr<Bmc> MakeIpmi(IpmiConfig config, Processes& processes, Files& files,
                              Environment environment) {
  return std::make_unique<Ipmi>(std::move(config), processes, files, std::move(environment));
}

Result<Power> ParseChassisPower(std::string_view out) {
  const std::string_view line = Trim(out);
  if (line == "Chassis Power is on") return Power::kOn;
  if (line == "Chassis Power is off") return Power::kOff;
  return Fail(Code::kParse, fmt::format("expected \"Chassis Power is on\" or off, found \"{}\"",
                                        Shorten(Printable(line), 80)));
}

// "Inlet Temp,23,degrees C,ok"
Result<std::vector<Sensor>> ParseSdr(std::string_view csv) {
  std::vector<Sensor> sensors;
  for (const std::string_view line : Lines(csv)) {
    if (Trim(line).empty()) continue;
    const auto fields = Split(line, ',');
    if (fields.size() < 4)
      return Fail(Code::kParse, fmt::format("expected name,value,unit,state, found \"{}\"",
                                            Shorten(Printable(line), 80)));
    Sensor sensor;
    sensor.name = Printable(fields[0]);
    sensor.unit = Printable(fields[2]);
    sensor.state = Printable(fields[3]);
    // A sensor that cannot be read has no value, and a state that is not "ok".
    if (const auto value = ParseDouble(Trim(fields[1])); value.ok()) sensor.value = *value;
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

// "1,11/20/2026,10:00:00,Power Supply PS1,Presence detected,Asserted"
Result<std::vector<Event>> ParseSel(std::string_view csv) {
  std::vector<Event> events;
  for (const std::string_view line : Lines(csv)) {
    if (Trim(line).empty() || StartsWith(line, "SEL has no entries")) continue;
    const auto fields = Split(line, ',');
    if (fields.size() < 4)
      return Fail(Code::kParse, fmt::format("expected id,date,time,what, found \"{}\"",
                                            Shorten(Printable(line), 80)));
    Event event;
    event.id = Printable(Trim(fields[0]));
    event.at = Printable(fmt::format("{} {}", Trim(fields[1]), Trim(fields[2])));
    std::vector<std::string> rest;
    for (size_t i = 3; i < fields.size(); ++i) rest.push_back(Printable(Trim(fields[i])));
    event.message = Join(rest, ", ");
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace muster::bmc
