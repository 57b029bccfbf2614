#include "backend/bmc/redfish.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/bmc/secret.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::bmc {

namespace {

using Json = nlohmann::json;

constexpr size_t kMostSaid = 400;
constexpr size_t kMostMembers = 2000;  // of a collection: one that claims more is refused
constexpr size_t kMostBody = 8u << 20;

std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

const Json& ChildOf(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto it = object.find(key);
  return it == object.end() ? kNothing : *it;
}

// The path of a link, or of a Location, which may name a host: only the path is followed, on the
// host that the site named.
Result<std::string> PathOf(std::string_view link) {
  std::string_view path = link;
  if (const size_t scheme = path.find("://"); scheme != std::string_view::npos) {
    const size_t slash = path.find('/', scheme + 3);
    path = slash == std::string_view::npos ? "" : path.substr(slash);
  }
  const bool plain =
      std::all_of(path.begin(), path.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!StartsWith(path, "/redfish/") || Contains(path, "..") || !plain || path.size() > 1000)
    return Fail(Code::kParse, fmt::format("a link that leads nowhere in /redfish/: \"{}\"",
                                          Shorten(Printable(link), 120)));
  return std::string(path);
}

Power PowerOf(std::string_view text) {
  if (text == "On") return Power::kOn;
  if (text == "Off") return Power::kOff;
  if (text == "PoweringOn" || text == "PoweringOff") return Power::kChanging;
  return Power::kUnknown;
}

// The controller's own words for what went wrong.
std::string SaidIn(const HttpResponse& response) {
  const Json body = Json::parse(response.body, nullptr, false);
  const Json& error = ChildOf(body, "error");
  std::string said = TextOf(error, "message");
  for (const Json& info : ChildOf(error, "@Message.ExtendedInfo")) {
    if (const std::string more = TextOf(info, "Message"); !more.empty()) said = more;
  }
  if (said.empty()) said = response.body;
  return Shorten(Printable(said), kMostSaid);
}

class Redfish final : public Bmc {
 public:
  Redfish(RedfishConfig config, Http& http, Clock& clock, Files& files, Environment environment)
      : config_(std::move(config)),
        http_(http),
        clock_(clock),
        files_(files),
        environment_(std::move(environment)) {
    while (EndsWith(config_.url, "/")) config_.url.pop_back();
  }
  ~Redfish() override {
    // Sessions are few on a controller: one that is left open shuts the next person out.
    if (!session_.empty()) (void)Send("DELETE", session_, "");
  }

  Result<Seen> Look() override {
    TRY(const Json system, System());
    Seen seen;
    seen.power = PowerOf(TextOf(system, "PowerState"));
    seen.last_reset = Printable(TextOf(system, "LastResetTime"));
    return seen;
  }

  DidResult Do(PowerAct act) override {
    auto system = System();
    if (!system.ok()) return {Did::kRefused, system.error().ToString()};
    if (act == PowerAct::kCycle && !Allows(*system, act) && Allows(*system, PowerAct::kForceOff) &&
        Allows(*system, PowerAct::kOn))
      return OffAndOn(*system);
    return Invoke(*system, "#ComputerSystem.Reset", std::string(ToString(act)));
  }

  DidResult RestartController() override {
    auto manager = Manager();
    if (!manager.ok()) return {Did::kRefused, manager.error().ToString()};
    return Invoke(*manager, "#Manager.Reset", "GracefulRestart");
  }

  Result<std::string> ControllerStarted() override {
    TRY(const Json manager, Manager());
    std::string started = TextOf(manager, "LastResetTime");
    if (started.empty())
      return Fail(Code::kNotFound, "the controller does not say when it was started");
    return Printable(started);
  }

  Result<std::vector<Sensor>> Sensors() override;
  Result<std::vector<Event>> Events() override;

  std::string Render(PowerAct act) const override {
    return fmt::format(
        "POST {}{}/Actions/ComputerSystem.Reset {{\"ResetType\":\"{}\"}}{}", config_.url,
        config_.system.empty() ? "/redfish/v1/Systems/(the only one)"
                               : "/redfish/v1/Systems/" + config_.system,
        ToString(act),
        act == PowerAct::kCycle ? " (ForceOff, then On, where that is not allowed)" : "");
  }
  std::string RenderRestart() const override {
    return fmt::format(
        "POST {}/redfish/v1/Managers/(the system's)/Actions/Manager.Reset "
        "{{\"ResetType\":\"GracefulRestart\"}}",
        config_.url);
  }

 private:
  static bool Allows(const Json& system, PowerAct act) {
    const Json& spec = ChildOf(ChildOf(system, "Actions"), "#ComputerSystem.Reset");
    const Json& allowed = ChildOf(spec, "ResetType@Redfish.AllowableValues");
    return !allowed.is_array() || std::find(allowed.begin(), allowed.end(),
                                            Json(std::string(ToString(act)))) != allowed.end();
  }

  // Many controllers have no PowerCycle of their own. Cut off in between the host stays off: the
  // next order finds it so, and switches it on.
  DidResult OffAndOn(const Json& system) {
    DidResult off = Invoke(system, "#ComputerSystem.Reset", "ForceOff");
    if (off.did != Did::kAccepted) return off;
    const Duration until = clock_.Monotonic() + config_.off_limit;
    std::string last = "it was not looked at";
    while (clock_.Monotonic() < until) {
      const auto seen = Look();
      if (seen.ok() && seen->power == Power::kOff) {
        const DidResult on = Invoke(system, "#ComputerSystem.Reset", "On");
        if (on.did == Did::kAccepted) return {Did::kAccepted, "switched off, then on"};
        return {Did::kUnknown, "it is off, and was told to go on: " + on.detail};
      }
      last = seen.ok() ? fmt::format("its power is {}", ToString(seen->power))
                       : seen.error().ToString();
      clock_.SleepFor(config_.task_poll);
    }
    return {Did::kUnknown, "it was told to go off: " + last};
  }

  Result<std::string> Secret() { return ReadSecret(config_.password, files_, environment_); }

  Status LogIn() {
    if (!token_.empty() || basic_) return {};
    TRY(const std::string secret, Secret());
    if (config_.auth == RedfishConfig::Auth::kSessionElseBasic) {
      const Json body = {{"UserName", config_.user}, {"Password", secret}};
      TRY(const HttpResponse response,
          Raw("POST", "/redfish/v1/SessionService/Sessions", body.dump(), {}, secret));
      if (response.status == 200 || response.status == 201) {
        const auto token = response.headers.find("x-auth-token");
        if (token == response.headers.end() || token->second.empty())
          return Fail(Code::kParse, "a session was opened, and no X-Auth-Token came with it");
        token_ = token->second;
        if (const auto at = response.headers.find("location"); at != response.headers.end()) {
          if (auto path = PathOf(at->second); path.ok()) session_ = *path;
        }
        return {};
      }
      if (response.status == 401 || response.status == 403)
        return Fail(Code::kPermission, fmt::format("{} does not let {} in (HTTP {})", config_.url,
                                                   config_.user, response.status));
      // Everything else: it has no sessions.
    }
    basic_ = true;
    return {};
  }

  Result<HttpResponse> Raw(const std::string& method, const std::string& path,
                           const std::string& body, std::map<std::string, std::string> headers,
                           const std::string& secret) {
    HttpRequest request;
    request.method = method;
    request.url = config_.url + path;
    request.headers = std::move(headers);
    request.headers["Accept"] = "application/json";
    request.headers["OData-Version"] = "4.0";
    if (!body.empty()) request.headers["Content-Type"] = "application/json";
    request.body = body;
    request.timeout = config_.timeout;
    request.max_body = kMostBody;
    auto response = http_.Do(request);
    if (!response.ok()) {
      Error error = response.error();
      error.message = WithoutSecret(std::move(error.message), secret);
      return Fail(std::move(error));
    }
    response->body = WithoutSecret(std::move(response->body), secret);
    return std::move(*response);
  }

  Result<HttpResponse> Send(const std::string& method, const std::string& path,
                            const std::string& body) {
    TRY_VOID(LogIn());
    std::map<std::string, std::string> headers;
    std::string secret;
    if (basic_) {
      TRY(secret, Secret());
      headers["Authorization"] = "Basic " + Base64Encode(config_.user + ":" + secret);
    } else {
      headers["X-Auth-Token"] = token_;
    }
    return Raw(method, path, body, std::move(headers), secret);
  }

  Result<Json> Get(const std::string& path) {
    TRY(const HttpResponse response, Send("GET", path, ""));
    if (response.status == 401 || response.status == 403)
      return Fail(Code::kPermission, fmt::format("{}{}: HTTP {}: {}", config_.url, path,
                                                 response.status, SaidIn(response)));
    if (response.status == 404 || response.status == 501)
      return Fail(Code::kNotFound, fmt::format("{} has no {}", config_.url, path));
    if (response.status != 200)
      return Fail(Code::kUnavailable, fmt::format("{}{}: HTTP {}: {}", config_.url, path,
                                                  response.status, SaidIn(response)));
    Json body = Json::parse(response.body, nullptr, false);
    if (!body.is_object())
      return Fail(Code::kParse, fmt::format("{}{}: not a JSON object: \"{}\"", config_.url, path,
                                            Shorten(Printable(response.body), 80)));
    return body;
  }

  // The paths of a collection's members.
  Result<std::vector<std::string>> Members(const std::string& path) {
    TRY(const Json collection, Get(path));
    const Json& members = ChildOf(collection, "Members");
    if (!members.is_array()) return Fail(Code::kParse, fmt::format("{}: expected Members", path));
    if (members.size() > kMostMembers)
      return Fail(Code::kParse, fmt::format("{} names {} members, more than the {} that are read",
                                            path, members.size(), kMostMembers));
    std::vector<std::string> paths;
    for (const Json& member : members) {
      TRY(std::string of, PathOf(TextOf(member, "@odata.id")));
      paths.push_back(std::move(of));
    }
    return paths;
  }

  Result<std::string> SystemPath() {
    if (!system_path_.empty()) return system_path_;
    TRY(const std::vector<std::string> systems, Members("/redfish/v1/Systems"));
    if (config_.system.empty()) {
      if (systems.size() != 1)
        return Fail(Code::kInvalid, fmt::format("{} has {} systems; the site names one with "
                                                "system:",
                                                config_.url, systems.size()));
      return system_path_ = systems.front();
    }
    for (const std::string& path : systems) {
      if (path.substr(path.rfind('/') + 1) == config_.system) return system_path_ = path;
    }
    for (const std::string& path : systems) {
      TRY(const Json system, Get(path));
      if (TextOf(system, "Name") == config_.system) return system_path_ = path;
    }
    return Fail(Code::kNotFound,
                fmt::format("{} has no system {}", config_.url, Printable(config_.system)));
  }

  Result<Json> System() {
    TRY(const std::string path, SystemPath());
    return Get(path);
  }

  Result<Json> Manager() {
    TRY(const Json system, System());
    for (const Json& by : ChildOf(ChildOf(system, "Links"), "ManagedBy")) {
      TRY(const std::string path, PathOf(TextOf(by, "@odata.id")));
      return Get(path);
    }
    TRY(const std::vector<std::string> managers, Members("/redfish/v1/Managers"));
    if (managers.size() != 1)
      return Fail(Code::kNotFound, "the system does not say which controller manages it");
    return Get(managers.front());
  }

  DidResult Invoke(const Json& resource, const char* action, const std::string& type) {
    const Json& spec = ChildOf(ChildOf(resource, "Actions"), action);
    const auto target = PathOf(TextOf(spec, "target"));
    if (!target.ok()) return {Did::kRefused, std::string(action) + ": it has no such action"};
    const Json& allowed = ChildOf(spec, "ResetType@Redfish.AllowableValues");
    if (allowed.is_array() &&
        std::find(allowed.begin(), allowed.end(), Json(type)) == allowed.end())
      return {Did::kRefused, fmt::format("it allows {} and not {}",
                                         Shorten(Printable(allowed.dump()), 200), type)};
    const auto answer = Send("POST", *target, Json{{"ResetType", type}}.dump());
    if (!answer.ok()) {
      // Nobody can tell whether it arrived.
      return {Did::kUnknown, answer.error().ToString()};
    }
    const int status = answer->status;
    if (status == 202) return FollowTask(*answer);
    if (status >= 200 && status < 300) return {Did::kAccepted, fmt::format("HTTP {}", status)};
    const std::string said = fmt::format("HTTP {}: {}", status, SaidIn(*answer));
    if (status >= 400 && status < 500) return {Did::kRefused, said};
    return {Did::kUnknown, said};
  }

  // A task that ends well is still no proof; one that fails says why.
  DidResult FollowTask(const HttpResponse& accepted) {
    std::string link;
    if (const auto at = accepted.headers.find("location"); at != accepted.headers.end())
      link = at->second;
    const Json body = Json::parse(accepted.body, nullptr, false);
    if (link.empty()) link = TextOf(body, "@odata.id");
    const auto path = PathOf(link);
    if (!path.ok()) return {Did::kAccepted, "HTTP 202, without a task to follow"};
    const Duration until = clock_.Monotonic() + config_.task_limit;
    std::string state = "no state";
    while (clock_.Monotonic() < until) {
      const auto response = Send("GET", *path, "");
      if (!response.ok()) return {Did::kUnknown, response.error().ToString()};
      // A task monitor answers with what the request itself would have answered, once it is over.
      if (response->status == 404 || response->status == 204 || response->status == 410)
        return {Did::kAccepted, fmt::format("its task is gone (HTTP {})", response->status)};
      const Json task = Json::parse(response->body, nullptr, false);
      state = TextOf(task, "TaskState");
      if (state == "Completed") return {Did::kAccepted, "its task completed"};
      if (state == "Exception" || state == "Cancelled" || state == "Killed") {
        std::string said;
        for (const Json& message : ChildOf(task, "Messages")) said = TextOf(message, "Message");
        return {Did::kFailed, fmt::format("its task ended as {}: {}", state,
                                          Shorten(Printable(said), kMostSaid))};
      }
      if (response->status >= 400)
        return {Did::kUnknown, fmt::format("its task: HTTP {}", response->status)};
      clock_.SleepFor(config_.task_poll);
    }
    return {Did::kUnknown, fmt::format("its task is still {} after {}", Printable(state),
                                       FormatDuration(config_.task_limit))};
  }

  RedfishConfig config_;
  Http& http_;
  Clock& clock_;
  Files& files_;
  Environment environment_;
  std::string token_, session_, system_path_;
  bool basic_ = false;
};

void AddReadings(const Json& list, const char* value, const char* unit_key, const char* unit,
                 std::vector<Sensor>& sensors) {
  for (const Json& item : list) {
    Sensor sensor;
    sensor.name = Printable(TextOf(item, "Name"));
    sensor.unit = Printable(TextOf(item, unit_key));
    if (sensor.unit.empty()) sensor.unit = unit;
    if (const Json& reading = ChildOf(item, value); reading.is_number())
      sensor.value = reading.get<double>();
    sensor.state = Printable(TextOf(ChildOf(item, "Status"), "Health"));
    sensors.push_back(std::move(sensor));
  }
}

// Every chassis of the system: the Sensors collection of newer controllers, else Thermal and Power.
Result<std::vector<Sensor>> Redfish::Sensors() {
  TRY(const Json system, System());
  std::vector<std::string> chassis;
  for (const Json& link : ChildOf(ChildOf(system, "Links"), "Chassis")) {
    TRY(std::string path, PathOf(TextOf(link, "@odata.id")));
    chassis.push_back(std::move(path));
  }
  if (chassis.empty()) {
    TRY(chassis, Members("/redfish/v1/Chassis"));
  }
  std::vector<Sensor> sensors;
  for (const std::string& path : chassis) {
    const auto listed = Members(path + "/Sensors");
    if (listed.ok()) {
      for (const std::string& sensor : *listed) {
        TRY(const Json one, Get(sensor));
        AddReadings(Json::array({one}), "Reading", "ReadingUnits", "", sensors);
      }
      continue;
    }
    if (listed.error().code != Code::kNotFound) return Fail(listed.error());
    for (const char* part : {"/Thermal", "/Power"}) {
      const auto page = Get(path + part);
      if (!page.ok() && page.error().code == Code::kNotFound) continue;
      if (!page.ok()) return Fail(page.error());
      AddReadings(ChildOf(*page, "Temperatures"), "ReadingCelsius", "", "Cel", sensors);
      AddReadings(ChildOf(*page, "Fans"), "Reading", "ReadingUnits", "RPM", sensors);
      AddReadings(ChildOf(*page, "PowerControl"), "PowerConsumedWatts", "", "W", sensors);
    }
  }
  return sensors;
}

Result<std::vector<Event>> Redfish::Events() {
  std::vector<Event> events;
  TRY(const std::string system, SystemPath());
  std::vector<std::string> owners = {system};
  if (const auto manager = Manager(); manager.ok()) owners.push_back(TextOf(*manager, "@odata.id"));
  bool any = false;
  for (const std::string& owner : owners) {
    if (owner.empty()) continue;
    const auto services = Members(owner + "/LogServices");
    if (!services.ok() && services.error().code == Code::kNotFound) continue;
    if (!services.ok()) return Fail(services.error());
    any = true;
    for (const std::string& service : *services) {
      TRY(const Json log, Get(service + "/Entries"));
      for (const Json& entry : ChildOf(log, "Members")) {
        if (events.size() == kMostMembers)
          return Fail(Code::kParse, fmt::format("{} has more than the {} events that are read",
                                                config_.url, kMostMembers));
        events.push_back({Printable(TextOf(entry, "Id")), Printable(TextOf(entry, "Created")),
                          Printable(TextOf(entry, "Message")),
                          Printable(TextOf(entry, "Severity"))});
      }
    }
  }
  if (!any) return Fail(Code::kNotFound, config_.url + " keeps no event log that Redfish shows");
  return events;
}

}  // namespace

std::unique_ptr<Bmc> MakeRedfish(RedfishConfig config, Http& http, Clock& clock, Files& files,
                                 Environment environment) {
  return std::make_unique<Redfish>(std::move(config), http, clock, files, std::move(environment));
}

Status CheckRedfish(const RedfishConfig& config) {
  if (StartsWith(config.url, "https://")) return {};
  const auto rest = After(config.url, "http://");
  if (!rest)
    return Fail(Code::kInvalid, fmt::format("a controller's url begins with https://, found \"{}\"",
                                            Printable(config.url)));
  const std::string_view host = rest->substr(0, rest->find_first_of(":/"));
  if (host == "127.0.0.1" || host == "localhost" || StartsWith(*rest, "[::1]")) return {};
  return Fail(Code::kInvalid,
              fmt::format("{}: over plain HTTP the password would cross the network in the clear; "
                          "expected https://",
                          Printable(config.url)));
}

}  // namespace muster::bmc
