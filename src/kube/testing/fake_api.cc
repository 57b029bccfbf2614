#include "kube/testing/fake_api.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kube::testing {

namespace {

std::string Decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(ParseHex(text.substr(i + 1, 2)).value_or('?'));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Target {
  std::string prefix, ns, plural, name, subresource;  // prefix: "/api/v1"
  std::map<std::string, std::string> query;
  std::string Collection() const { return prefix + "/" + plural; }
};

Target ParseTarget(const std::string& path_and_query) {
  Target target;
  const size_t mark = path_and_query.find('?');
  if (mark != std::string::npos) {
    for (const auto pair : Split(std::string_view(path_and_query).substr(mark + 1), '&')) {
      const size_t equals = pair.find('=');
      target.query[Decode(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : Decode(pair.substr(equals + 1));
    }
  }
  std::vector<std::string> parts;
  for (const auto part : Split(std::string_view(path_and_query).substr(0, mark), '/')) {
    if (!part.empty()) parts.push_back(Decode(part));
  }
  size_t at = !parts.empty() && parts[0] == "api" ? 2 : 3;
  for (size_t i = 0; i < std::min(at, parts.size()); ++i) target.prefix += "/" + parts[i];
  if (at + 1 < parts.size() && parts[at] == "namespaces" && at + 2 < parts.size()) {
    target.ns = parts[at + 1];
    at += 2;
  }
  if (at < parts.size()) target.plural = parts[at];
  if (at + 1 < parts.size()) target.name = parts[at + 1];
  if (at + 2 < parts.size()) target.subresource = parts[at + 2];
  return target;
}

std::string StatusBody(int code, const std::string& reason, const std::string& message,
                       const std::string& name = {}) {
  Json status = {{"kind", "Status"},         {"apiVersion", "v1"}, {"status", "Failure"},
                 {"message", message},       {"reason", reason},   {"code", code},
                 {"details", Json::object()}};
  if (!name.empty()) status["details"] = {{"name", name}, {"kind", "things"}};
  return status.dump();
}

}  // namespace

struct FakeApi::State {
  struct Stored {
    Json json;
    uint64_t version = 0;
  };
  struct Logged {
    uint64_t version;
    std::string collection, ns, type, object;
  };
  struct Open {
    uint64_t id = 0;
    Exchange exchange;
    ExchangeEvents events;
    Target target;
    bool answered = false, head_sent = false, watching = false, silent = false, ends = false;
    bool breaks = false;
    ResponseHead head;
    std::string out;  // not sent yet
    std::string last_event;
    uint64_t from = 0;  // watch: everything after it is to be sent
  };

  explicit State(uint64_t seed) : random(seed) {}

  SeededRandom random;
  uint64_t version = 1000, compacted = 0, next_id = 0, next_uid = 0;
  std::map<std::string, std::map<std::string, Stored>> objects;  // by collection, by key
  std::vector<Logged> log;
  std::map<uint64_t, std::shared_ptr<Open>> exchanges;
  std::vector<std::string> asked, tokens;

  void Log(const std::string& collection, const std::string& ns, const char* type,
           const Json& object) {
    log.push_back({version, collection, ns, type, object.dump()});
  }

  Json& Store(const std::string& collection, const std::string& ns, const std::string& name,
              Json object) {
    auto& place = objects[collection][ns.empty() ? name : ns + "/" + name];
    const bool is_new = place.version == 0;
    ++version;
    object["metadata"]["name"] = name;
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    object["metadata"]["uid"] =
        is_new ? Json(fmt::format("uid-{}", ++next_uid)) : place.json["metadata"]["uid"];
    object["metadata"]["resourceVersion"] = std::to_string(version);
    place = {std::move(object), version};
    Log(collection, ns, is_new ? "ADDED" : "MODIFIED", place.json);
    return place.json;
  }

  bool Erase(const std::string& collection, const std::string& ns, const std::string& name) {
    auto& all = objects[collection];
    const auto found = all.find(ns.empty() ? name : ns + "/" + name);
    if (found == all.end()) return false;
    ++version;
    found->second.json["metadata"]["resourceVersion"] = std::to_string(version);
    Log(collection, ns, "DELETED", found->second.json);
    all.erase(found);
    return true;
  }

  static void Reply(Open& open, int status, std::string body) {
    open.answered = true;
    open.head = {status, {{"content-type", "application/json"}}};
    open.out = std::move(body);
    open.ends = true;
  }

  void AnswerList(Open& open) {
    const auto& all = objects[open.target.Collection()];
    size_t limit = SIZE_MAX, skip = 0;
    uint64_t at = version;
    if (const auto found = open.target.query.find("limit"); found != open.target.query.end()) {
      limit = static_cast<size_t>(ParseInt(found->second).value_or(0));
    }
    if (const auto found = open.target.query.find("continue"); found != open.target.query.end()) {
      const auto parts = Split(found->second, '-');
      at = static_cast<uint64_t>(ParseInt(parts[0]).value_or(0));
      skip = static_cast<size_t>(ParseInt(parts[1]).value_or(0));
      // Pages of a moving collection: a real server reads the old state; here it is gone.
      if (at < compacted || at != version) {
        return Reply(open, 410, StatusBody(410, "Expired", "the continue token is too old"));
      }
    }
    Json items = Json::array();
    size_t index = 0, given = 0;
    for (const auto& [key, stored] : all) {
      if (!open.target.ns.empty() && !key.starts_with(open.target.ns + "/")) continue;
      if (index++ < skip) continue;
      if (given++ == limit) break;
      items.push_back(stored.json);
    }
    Json metadata = {{"resourceVersion", std::to_string(at)}};
    if (given > limit) metadata["continue"] = fmt::format("{}-{}", at, skip + limit);
    Reply(open, 200,
          Json{{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", metadata}, {"items", items}}
              .dump());
  }

  void AnswerWatch(Open& open, bool serves_watch_list) {
    const auto& query = open.target.query;
    open.answered = open.watching = true;
    open.head = {200, {}};
    if (query.count("sendInitialEvents") != 0) {
      if (!serves_watch_list) {
        return Reply(open, 422, StatusBody(422, "Invalid", "sendInitialEvents is forbidden"));
      }
      for (const auto& [key, stored] : objects[open.target.Collection()]) {
        if (!open.target.ns.empty() && !key.starts_with(open.target.ns + "/")) continue;
        Event(open, "ADDED", stored.json.dump());
      }
      const Json mark = {{"metadata",
                          {{"resourceVersion", std::to_string(version)},
                           {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}};
      Event(open, "BOOKMARK", mark.dump());
      open.from = version;
      return;
    }
    const auto found = query.find("resourceVersion");
    open.from =
        found == query.end() ? version : static_cast<uint64_t>(ParseInt(found->second).value_or(0));
    if (open.from < compacted) {
      // Both forms exist: an HTTP 410, and an event in a 200.
      const std::string status = StatusBody(410, "Expired", "too old resource version");
      if (random.Below(2) == 0) return Reply(open, 410, status);
      Event(open, "ERROR", status);
      open.ends = true;
      open.watching = false;
    }
  }

  static void Event(Open& open, const std::string& type, const std::string& object) {
    open.last_event = fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
    open.out += open.last_event;
  }

  void Feed(Open& open) {
    for (const Logged& logged : log) {
      if (logged.version <= open.from || logged.collection != open.target.Collection()) continue;
      if (!open.target.ns.empty() && logged.ns != open.target.ns) continue;
      Event(open, logged.type, logged.object);
      open.from = logged.version;
    }
  }

  void AnswerWrite(Open& open) {
    const Target& target = open.target;
    auto& all = objects[target.Collection()];
    const std::string key = target.ns.empty() ? target.name : target.ns + "/" + target.name;
    const auto found = all.find(key);
    const Json body = Json::parse(open.exchange.body, nullptr, false);
    const std::string& method = open.exchange.method;
    if (method == "POST" && target.name.empty()) {
      const std::string name = body["metadata"]["name"];
      const std::string new_key = target.ns.empty() ? name : target.ns + "/" + name;
      if (all.count(new_key) != 0) {
        return Reply(open, 409, StatusBody(409, "AlreadyExists", name + " already exists", name));
      }
      return Reply(open, 201, Store(target.Collection(), target.ns, name, body).dump());
    }
    if (found == all.end()) {
      return Reply(open, 404, StatusBody(404, "NotFound", target.name + " not found", target.name));
    }
    if (method == "DELETE") {
      Erase(target.Collection(), target.ns, target.name);
      return Reply(open, 200, R"({"kind":"Status","status":"Success"})");
    }
    if (target.subresource == "binding") {
      Json pod = found->second.json;
      if (pod["spec"].contains("nodeName")) {
        return Reply(open, 409,
                     StatusBody(409, "Conflict", "pod is already assigned", target.name));
      }
      pod["spec"]["nodeName"] = body["target"]["name"];
      Store(target.Collection(), target.ns, target.name, std::move(pod));
      return Reply(open, 201, R"({"kind":"Status","status":"Success"})");
    }
    Json next = body;
    if (method == "PATCH") {
      next = found->second.json;
      Json merged = body;
      // Server-side apply merges conditions by their type; nothing else of it is played. Volcano's
      // conditions have none.
      if (target.subresource == "status" &&
          merged.contains("/status/conditions/0/type"_json_pointer)) {
        Json conditions = next.value("/status/conditions"_json_pointer, Json::array());
        for (const Json& given : merged["status"]["conditions"]) {
          std::erase_if(conditions.get_ref<Json::array_t&>(),
                        [&](const Json& is) { return is["type"] == given["type"]; });
          conditions.push_back(given);
        }
        merged["status"]["conditions"] = conditions;
      }
      next.merge_patch(merged);
    }
    const auto named =
        body.value("metadata", Json::object()).value("resourceVersion", std::string());
    if (!named.empty() && named != std::to_string(found->second.version)) {
      return Reply(open, 409,
                   StatusBody(409, "Conflict", "the object has been modified", target.name));
    }
    Reply(open, 200, Store(target.Collection(), target.ns, target.name, std::move(next)).dump());
  }

  void Answer(Open& open, const Fault& fault, bool serves_watch_list) {
    if (fault.kind == Fault::Kind::kSilence) {
      open.answered = open.silent = true;
      return;
    }
    if (fault.kind == Fault::Kind::kRefuse) {
      Reply(open, fault.status, fault.body);
      for (const auto& [name, value] : fault.headers) open.head.headers[name] = value;
      return;
    }
    const Target& target = open.target;
    if (open.exchange.method != "GET") {
      AnswerWrite(open);
    } else if (target.plural.empty()) {
      Reply(open, 404, "404 page not found\n");
    } else if (!target.name.empty()) {
      const auto& all = objects[target.Collection()];
      const auto found = all.find(target.ns.empty() ? target.name : target.ns + "/" + target.name);
      if (found == all.end()) {
        Reply(open, 404, StatusBody(404, "NotFound", target.name + " not found", target.name));
      } else {
        Reply(open, 200, found->second.json.dump());
      }
    } else if (target.query.count("watch") != 0) {
      AnswerWatch(open, serves_watch_list);
    } else {
      AnswerList(open);
    }
    if (fault.kind == Fault::Kind::kBreak) {
      if (open.watching) Feed(open);
      open.out.resize(std::min(open.out.size(), fault.bytes));
      open.breaks = true;
      open.watching = false;
    }
  }
};

FakeApi::FakeApi(muster::testing::FakeClock& clock, uint64_t seed)
    : state_(std::make_unique<State>(seed)), clock_(clock) {}
FakeApi::~FakeApi() = default;

uint64_t FakeApi::Start(Exchange exchange, ExchangeEvents events) {
  auto open = std::make_shared<State::Open>();
  open->id = ++state_->next_id;
  open->target = ParseTarget(exchange.path);
  state_->asked.push_back(exchange.method + " " + exchange.path);
  const auto token = exchange.headers.find("Authorization");
  state_->tokens.push_back(token == exchange.headers.end() ? "" : token->second);
  open->exchange = std::move(exchange);
  open->events = std::move(events);
  state_->exchanges[open->id] = open;
  return open->id;
}

void FakeApi::Cancel(uint64_t id) { state_->exchanges.erase(id); }

void FakeApi::Poll(Duration timeout) {
  std::vector<std::shared_ptr<State::Open>> ready;
  for (const auto& [id, open] : state_->exchanges) {
    if (open->watching) state_->Feed(*open);
    const bool news = !open->answered || (!open->head_sent && !open->silent) ||
                      !open->out.empty() || open->ends || open->breaks;
    if (news && !open->silent) ready.push_back(open);
  }
  if (ready.empty()) return clock_.Advance(std::max(timeout, Duration(1)));
  const auto open = ready[state_->random.Below(ready.size())];
  if (!open->answered) {
    state_->Answer(*open, fault ? fault(open->exchange) : Fault{}, serves_watch_list);
    return;
  }
  if (!open->head_sent) {
    open->head_sent = true;
    if (open->events.head) open->events.head(open->head);
    return;
  }
  if (!open->out.empty()) {
    const size_t piece = bytes_per_step <= 0
                             ? open->out.size()
                             : 1 + state_->random.Below(static_cast<uint64_t>(bytes_per_step));
    const std::string bytes = open->out.substr(0, piece);
    open->out.erase(0, piece);
    if (open->events.body) open->events.body(bytes);
    return;
  }
  state_->exchanges.erase(open->id);
  Error broken{Code::kUnavailable, "the connection was reset", {}};
  broken.retryable = true;
  if (open->events.end) open->events.end(open->breaks ? Fail(broken) : Status());
}

uint64_t FakeApi::Put(const Resource& resource, const std::string& ns, const std::string& name,
                      const std::string& fields) {
  Json object = Json::parse("{" + fields + "}");
  object["kind"] = resource.kind;
  object["apiVersion"] = resource.ApiVersion();
  state_->Store(resource.Path(), ns, name, std::move(object));
  return state_->version;
}

bool FakeApi::Remove(const Resource& resource, const std::string& ns, const std::string& name) {
  return state_->Erase(resource.Path(), ns, name);
}

void FakeApi::Compact() {
  // A watch that is open has what happened so far.
  for (auto& [id, open] : state_->exchanges) {
    if (open->watching) state_->Feed(*open);
  }
  state_->compacted = state_->version;
  state_->log.clear();
}

void FakeApi::Bookmark() {
  for (auto& [id, open] : state_->exchanges) {
    if (!open->watching) continue;
    state_->Feed(*open);
    open->from = state_->version;
    open->out += fmt::format(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{}\"}}}}}}\n",
        state_->version);
  }
}

void FakeApi::BreakWatches() {
  for (auto& [id, open] : state_->exchanges) {
    if (!open->watching) continue;
    state_->Feed(*open);
    if (!open->out.empty()) open->out.resize(state_->random.Below(open->out.size()));
    open->watching = false;
    open->breaks = true;
  }
}

void FakeApi::EndWatches() {
  for (auto& [id, open] : state_->exchanges) {
    if (!open->watching) continue;
    open->watching = false;
    open->ends = true;
  }
}

void FakeApi::SendTwice() {
  for (auto& [id, open] : state_->exchanges) {
    if (open->watching) open->out += open->last_event;
  }
}

void FakeApi::SendRaw(const std::string& bytes) {
  for (auto& [id, open] : state_->exchanges) {
    if (!open->watching) continue;
    state_->Feed(*open);
    open->out += bytes;
  }
}

uint64_t FakeApi::version() const { return state_->version; }

size_t FakeApi::watches() const {
  return static_cast<size_t>(std::count_if(state_->exchanges.begin(), state_->exchanges.end(),
                                           [](const auto& one) { return one.second->watching; }));
}

const std::vector<std::string>& FakeApi::asked() const { return state_->asked; }

std::string FakeApi::Token(size_t request) const { return state_->tokens.at(request); }

std::map<std::string, uint64_t> FakeApi::Contents(const Resource& resource) const {
  std::map<std::string, uint64_t> contents;
  const auto found = state_->objects.find(resource.Path());
  if (found == state_->objects.end()) return contents;
  for (const auto& [key, stored] : found->second) contents[key] = stored.version;
  return contents;
}

}  // namespace muster::kube::testing
