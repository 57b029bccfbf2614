#include "api/alert_server.h"

#include <atomic>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "app/progress.h"
#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostBytes = 1u << 20;
constexpr size_t kListenWorkers = 8;
constexpr size_t kShown = 200;
constexpr Duration kBetweenForgetting = std::chrono::hours(1);
constexpr const char* kJsonType = "application/json";

// Takes as long for a wrong token as for a right one.
bool SameToken(std::string_view given, std::string_view token) {
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < token.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    differs |= static_cast<unsigned>(static_cast<unsigned char>(token[i] ^ other));
  }
  return differs == 0;
}

class ServerProgress final : public Progress {
 public:
  explicit ServerProgress(const AlertServerOptions& options) : options_(options) {}
  void GateBegins(int, std::string_view, size_t) override {}
  void ReadingDone(std::string_view) override {}
  void Note(std::string_view text) override {
    if (options_.say) options_.say(std::string(text));
  }
  void GateEnds(int, Level, std::string_view) override {}
  bool Stopped() const override { return options_.stopped(); }

 private:
  const AlertServerOptions& options_;
};

class HttplibAlertServer final : public AlertServer {
 public:
  HttplibAlertServer(AlertDesk& desk, World& world, AlertServerOptions options)
      : desk_(desk), world_(world), options_(std::move(options)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kListenWorkers); };
    server_.set_keep_alive_max_count(1);  // an idle connection would hold a worker
    server_.set_read_timeout(5);
    server_.set_write_timeout(5);
    server_.set_payload_max_length(kMostBytes);
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
          Refuse(response, 500, "internal error");
        });
    server_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      Refuse(response, response.status,
             response.status == 404
                 ? fmt::format("no route {} {}; alerts go to POST /alerts", request.method,
                               Shorten(Printable(request.path), 80))
             : response.status == 413 ? "a body of at most 1 MiB is taken"
                                      : "the request cannot be read");
    });
    server_.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain");
    });
    server_.Get("/alerts", [this](const httplib::Request& request, httplib::Response& response) {
      if (Allowed(request, response)) List(response);
    });
    // Read piece by piece: the library's own limit does not hold for chunked bodies.
    server_.Post("/alerts", [this](const httplib::Request& request, httplib::Response& response,
                                   const httplib::ContentReader& read) {
      if (Allowed(request, response)) Take(request, response, read);
    });
  }

  ~HttplibAlertServer() override { JoinAll(); }

  Status Bind() {
    port_ = options_.port == 0
                ? server_.bind_to_any_port(options_.host)
                : (server_.bind_to_port(options_.host, options_.port) ? options_.port : -1);
    if (port_ <= 0)
      return Fail(Code::kConflict,
                  fmt::format("cannot listen at {}:{}", options_.host, options_.port));
    return {};
  }

  int port() const override { return port_; }

  void Serve() override {
    std::thread listening([this] { server_.listen_after_bind(); });
    while (!options_.stopped()) {
      Round();
      world_.clock.SleepFor(std::chrono::milliseconds(200));
    }
    server_.stop();
    listening.join();
    JoinAll();
  }

 private:
  static void Refuse(httplib::Response& response, int status, const std::string& why) {
    response.status = status;
    response.set_content(Json{{"error", why}}.dump() + "\n", kJsonType);
  }

  bool Allowed(const httplib::Request& request, httplib::Response& response) const {
    if (options_.token.empty()) return true;
    const std::string given = request.get_header_value("Authorization");
    const auto token = After(given, "Bearer ");
    if (token && SameToken(*token, options_.token)) return true;
    response.set_header("WWW-Authenticate", "Bearer");
    Refuse(response, 401, "expected Authorization: Bearer with the token of this server");
    return false;
  }

  void Take(const httplib::Request& request, httplib::Response& response,
            const httplib::ContentReader& read) {
    std::string body;
    bool over = false;
    if (request.is_multipart_form_data())
      return Refuse(response, 400, "a form is no webhook: expected JSON");
    const auto length = ParseInt(request.get_header_value("Content-Length"));
    if (length.ok() && static_cast<uint64_t>(*length) > kMostBytes)
      return Refuse(response, 413, "a body of at most 1 MiB is taken");
    const bool whole = read([&](const char* data, size_t size) {
      over = body.size() + size > kMostBytes;
      if (!over) body.append(data, size);
      return !over;
    });
    if (over) return Refuse(response, 413, "a body of at most 1 MiB is taken");
    if (!whole) return Refuse(response, 400, "the body did not arrive whole");
    const auto heard = desk_.Hear(body);
    if (!heard.ok()) {
      const bool theirs = heard.error().code == Code::kInvalid;
      if (!theirs && options_.say) options_.say("not taken: " + heard.error().ToString());
      return Refuse(response, theirs ? 400 : 503, heard.error().message);
    }
    for (const std::string& note : heard->notes) {
      if (options_.say) options_.say(note);
    }
    response.set_content(Json{{"opened", heard->opened},
                              {"resolved", heard->resolved},
                              {"duplicate", heard->duplicate},
                              {"nothing", heard->nothing}}
                                 .dump() +
                             "\n",
                         kJsonType);
  }

  void List(httplib::Response& response) const {
    const AlertBook book = desk_.Snapshot();
    Json rows = Json::array();
    const auto& all = book.episodes();
    for (auto it = all.rbegin(); it != all.rend() && rows.size() < kShown; ++it)
      rows.push_back({{"id", it->id},
                      {"alert", it->alert.name},
                      {"runbook", it->runbook},
                      {"on", it->on.id},
                      {"stage", ToString(it->stage)},
                      {"run", it->run},
                      {"end", it->end},
                      {"why", it->why}});
    response.set_content(Json{{"alerts", rows}}.dump() + "\n", kJsonType);
  }

  struct Worker {
    std::thread thread;
    std::atomic<bool> done = false;
  };

  void ForgetOldOnes(Duration now) {
    if (now < forget_at_) return;
    forget_at_ = now + kBetweenForgetting;
    const auto forgotten = desk_.Forget();
    if (!options_.say) return;
    if (!forgotten.ok())
      options_.say("the journal of alerts stays as long as it is: " + forgotten.error().ToString());
    else if (*forgotten > 0)
      options_.say(
          fmt::format("{} old alerts are left out of the journal from now on", *forgotten));
  }

  // One thread for each episode that is worked on; an episode is tried again after a pause.
  void Round() {
    const Duration now = world_.clock.Monotonic();
    ForgetOldOnes(now);
    std::erase_if(not_before_, [&](const auto& pause) { return now >= pause.second; });
    for (auto it = workers_.begin(); it != workers_.end();) {
      if (!it->second->done) {
        ++it;
        continue;
      }
      it->second->thread.join();
      not_before_[it->first] = now + options_.pause;
      it = workers_.erase(it);
    }
    const auto due = desk_.Due();
    if (!due.ok()) {
      if (said_ != due.error().message && options_.say) options_.say(due.error().ToString());
      said_ = due.error().message;
      return;
    }
    for (const std::string& id : *due) {
      if (workers_.size() >= options_.at_once) return;
      const auto pause = not_before_.find(id);
      if (workers_.contains(id) || (pause != not_before_.end() && now < pause->second)) continue;
      auto worker = std::make_unique<Worker>();
      Worker* const own = worker.get();
      own->thread = std::thread([this, id, own] {
        ServerProgress progress(options_);
        // Planned and begun in one go; what waits for a person comes back at once.
        Status worked = desk_.Work(id, progress);
        if (worked.has_value() && !options_.stopped()) worked = desk_.Work(id, progress);
        if (!worked.has_value() && options_.say)
          options_.say(fmt::format("{}: {}", id, worked.error().ToString()));
        own->done = true;
      });
      workers_.emplace(id, std::move(worker));
    }
  }

  void JoinAll() {
    for (auto& [id, worker] : workers_) worker->thread.join();
    workers_.clear();
  }

  AlertDesk& desk_;
  World& world_;
  const AlertServerOptions options_;
  httplib::Server server_;
  int port_ = 0;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::map<std::string, Duration> not_before_;
  Duration forget_at_{};
  std::string said_;
};

}  // namespace

Result<std::unique_ptr<AlertServer>> MakeAlertServer(AlertDesk& desk, World& world,
                                                     const AlertServerOptions& options) {
  auto server = std::make_unique<HttplibAlertServer>(desk, world, options);
  TRY_VOID(server->Bind());
  return std::unique_ptr<AlertServer>(std::move(server));
}

}  // namespace muster
