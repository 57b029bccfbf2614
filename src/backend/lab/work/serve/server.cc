#include "backend/lab/work/serve/server.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <sys/socket.h>

#include <fmt/format.h>
#include <httplib.h>

#include "backend/lab/work/serve/generator.h"
#include "backend/lab/work/serve/openai_api.h"
#include "backend/lab/work/serve/serve_metrics.h"

namespace muster::lab {
namespace {

constexpr int kWorkers = 160;     // an open connection holds one, also while it is idle
constexpr int kMaxAnswers = 128;  // /health keeps workers of its own
constexpr size_t kMaxBody = 1u << 20;
constexpr const char* kJson = "application/json";

class HttplibServer final : public ModelServer {
 public:
  HttplibServer(const ServerOptions& options, const CharModel& model, World& world)
      : options_(options), model_(model), world_(world), metrics_(options.model) {
    Settings();
    Routes();
  }

  Status Bind() {
    int listening = -1;
    server_.set_socket_options([&listening](socket_t fd) {
      listening = static_cast<int>(fd);
      const int on = 1;
      setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    port_ = options_.port == 0
                ? server_.bind_to_any_port(options_.host)
                : (server_.bind_to_port(options_.host, options_.port) ? options_.port : -1);
    if (port_ <= 0) {
      return Fail(Code::kConflict,
                  fmt::format("cannot listen at {}:{}", options_.host, options_.port));
    }
    // The library listens with a backlog of 5: a burst of connections would wait a second for their
    // second try.
    if (listening >= 0) listen(listening, 512);
    return {};
  }

  int port() const override { return port_; }
  void Serve() override { server_.listen_after_bind(); }

 private:
  // One answer while it is made; shared with the library's callback, which may outlive the handler.
  struct Answer {
    Answer(const CharModel& model, const GenerationRequest& request, uint64_t seed)
        : generator(model, request, seed) {}
    Generator generator;
    AnswerHead head;
    ServeFaults faults;
    Duration began{}, first{};
    bool include_usage = false, role_sent = false, ended = false;
  };

  void Settings() {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kWorkers); };
    server_.set_keep_alive_max_count(100'000);
    server_.set_keep_alive_timeout(30);
    server_.set_read_timeout(10);
    server_.set_write_timeout(10);
    server_.set_payload_max_length(kMaxBody);
    server_.set_tcp_nodelay(true);
    server_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      const std::string what = response.status == 404
                                   ? fmt::format("no route {} {}", request.method, request.path)
                                   : fmt::format("status {}", response.status);
      response.set_content(ApiError{response.status, what, "invalid_request_error", ""}.ToJson(),
                           kJson);
    });
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
          Refuse(response, {500, "internal error", "internal_error", ""});
        });
  }

  void Routes() {
    server_.Get("/health", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(R"({"status":"ok"})", kJson);
    });
    server_.Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(ModelList(options_.model, UnixSeconds()), kJson);
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics_.Text(), "text/plain; version=0.0.4");
    });
    for (const bool chat : {true, false}) {
      server_.Post(chat ? "/v1/chat/completions" : "/v1/completions",
                   [this, chat](const httplib::Request& request, httplib::Response& response) {
                     Generate(chat, request, response);
                   });
    }
  }

  static void Refuse(httplib::Response& response, const ApiError& error) {
    response.status = error.status;
    response.set_content(error.ToJson(), kJson);
  }

  int64_t UnixSeconds() const {
    return static_cast<int64_t>(std::floor(Seconds(world_.clock.Now().time_since_epoch())));
  }

  uint64_t Chance() {
    const std::lock_guard lock(chance_mutex_);
    return world_.random.Next();
  }

  // Spread evenly, so that a share of 0.3 fails three of ten whoever asks.
  bool FailsNow(double share) {
    const double n = static_cast<double>(asked_.fetch_add(1));
    return std::floor((n + 1) * share) > std::floor(n * share);
  }

  void Generate(bool chat, const httplib::Request& http, httplib::Response& response) {
    const ServeFaults faults = options_.faults();
    if (faults.failing > 0 && FailsNow(faults.failing))
      return Refuse(response, {500, "the engine has failed", "internal_error", ""});
    const ParsedRequest parsed = ParseGeneration(chat, http.body);
    if (!parsed.request) return Refuse(response, parsed.error);
    const GenerationRequest& request = *parsed.request;
    if (!request.model.empty() && request.model != options_.model) {
      return Refuse(response, {404, fmt::format("the model `{}` does not exist", request.model),
                               "not_found_error", "model"});
    }
    if (metrics_.running() >= kMaxAnswers)
      return Refuse(response,
                    {429, "too many requests are being answered", "rate_limit_error", ""});

    auto answer = std::make_shared<Answer>(model_, request, Chance());
    answer->head = {chat, fmt::format("{}-{:016x}", chat ? "chatcmpl" : "cmpl", Chance()),
                    options_.model, UnixSeconds()};
    answer->faults = faults;
    answer->began = world_.clock.Monotonic();
    answer->include_usage = request.include_usage;
    metrics_.Began();
    if (request.stream) {
      response.set_header("Cache-Control", "no-cache");
      response.set_chunked_content_provider(
          "text/event-stream",
          [this, answer](size_t, httplib::DataSink& sink) { return Stream(*answer, sink); },
          [this, answer](bool) { End(*answer, "abort"); });
    } else {
      std::string text;
      while (const auto piece = NextPiece(*answer)) text += *piece;
      const Generator& generator = answer->generator;
      response.set_content(
          WholeAnswer(answer->head, text, generator.finish_reason(), generator.usage()), kJson);
      End(*answer, std::string(generator.finish_reason()));
    }
  }

  // The next text, after the waiting that a fault asks for.
  std::optional<std::string> NextPiece(Answer& answer) {
    const bool first = answer.generator.usage().completion_tokens == 0;
    const Duration wait = first ? answer.faults.before_first : answer.faults.between;
    if (answer.generator.finish_reason().empty() && wait > Duration::zero())
      world_.clock.SleepFor(wait);
    auto piece = answer.generator.Next();
    if (first) answer.first = world_.clock.Monotonic() - answer.began;
    return piece;
  }

  // Writes one event a call; false ends the connection.
  bool Stream(Answer& answer, httplib::DataSink& sink) {
    const auto write = [&sink](std::string_view event) {
      return sink.write(event.data(), event.size());
    };
    if (answer.head.chat && !answer.role_sent) {
      answer.role_sent = true;
      return write(RoleEvent(answer.head));
    }
    while (const auto piece = NextPiece(answer)) {
      if (!piece->empty()) return write(ContentEvent(answer.head, *piece));
    }
    const Generator& generator = answer.generator;
    std::string last = FinishEvent(answer.head, generator.finish_reason());
    if (answer.include_usage) last += UsageEvent(answer.head, generator.usage());
    last += kDoneEvent;
    const bool sent = write(last);
    if (sent) End(answer, std::string(generator.finish_reason()));
    sink.done();
    return sent;
  }

  void End(Answer& answer, const std::string& finish) {
    if (answer.ended) return;
    answer.ended = true;
    const Usage& usage = answer.generator.usage();
    metrics_.Ended({finish, usage.prompt_tokens, usage.completion_tokens, answer.first,
                    world_.clock.Monotonic() - answer.began});
  }

  const ServerOptions options_;
  const CharModel& model_;
  World& world_;
  ServeMetrics metrics_;
  std::mutex chance_mutex_;
  std::atomic<uint64_t> asked_{0};
  httplib::Server server_;
  int port_ = 0;
};

}  // namespace

Result<std::unique_ptr<ModelServer>> MakeModelServer(const ServerOptions& options,
                                                     const CharModel& model, World& world) {
  auto server = std::make_unique<HttplibServer>(options, model, world);
  TRY_VOID(server->Bind());
  return std::unique_ptr<ModelServer>(std::move(server));
}

}  // namespace muster::lab
