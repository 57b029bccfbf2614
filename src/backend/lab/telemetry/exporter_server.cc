// The process behind `lab-exporter`. cpp-httplib stays in this file. It has no unit test, because
// all it does is serve a socket until it is ended: tests/e2e/prometheus scrapes it with the real
// Prometheus.
#include <atomic>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <httplib.h>

#include "backend/lab/telemetry/exporter.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr const char* kText004 = "text/plain; version=0.0.4; charset=utf-8";

struct Options {
  std::string lab, port_file;
};

Result<Options> ReadOptions(const std::vector<std::string>& args) {
  Options options;
  for (size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size()) return Fail(Code::kInvalid, args[i] + " needs a value");
    if (args[i] == "--lab") {
      options.lab = args[i + 1];
    } else if (args[i] == "--port-file") {
      options.port_file = args[i + 1];
    } else {
      return Fail(Code::kInvalid, "unknown option " + Printable(args[i]));
    }
  }
  if (options.lab.empty() || options.port_file.empty()) {
    return Fail(Code::kInvalid, "lab-exporter needs --lab DIR and --port-file FILE");
  }
  return options;
}

// The lab as its file has it now. Requests come in on several threads.
class LabView {
 public:
  LabView(Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  Result<std::string> Page(std::string_view node_name, TimePoint now) {
    const std::lock_guard lock(mutex_);
    TRY_VOID(Refresh());
    const Node* node = state_->cluster.FindNode(node_name);
    if (node == nullptr) {
      return Fail(Code::kNotFound, fmt::format("the lab has no node {}", Printable(node_name)));
    }
    return ExporterPage(*state_, *node, now);
  }

 private:
  Status Refresh() {
    TRY(const FileInfo info, files_.Stat(folder_ + "/lab.json"));
    if (state_ && info.modified == read_.modified && info.size == read_.size) return {};
    Result<LabState> loaded = LoadLab(files_, folder_);
    if (!loaded.ok()) return Fail(std::move(loaded.error()));
    state_ = std::move(*loaded);
    read_ = info;
    return {};
  }

  Files& files_;
  const std::string folder_;
  std::mutex mutex_;
  std::optional<LabState> state_;
  FileInfo read_;
};

void Answer(httplib::Response& response, Result<std::string> page) {
  if (page.ok()) {
    response.set_content(*page, kText004);
    return;
  }
  response.status = page.error().code == Code::kNotFound ? 404 : 503;
  response.set_content(page.error().ToString() + "\n", "text/plain");
}

class ExporterServer {
 public:
  ExporterServer(const Options& options, World& world)
      : options_(options), world_(world), lab_(world.files, options.lab) {
    // Prometheus keeps one connection for each target, and a kept connection holds a worker: with
    // more targets than workers the rest would starve.
    server_.set_keep_alive_max_count(1);
    server_.set_exception_handler(
        [](const auto&, auto& response, std::exception_ptr) { response.status = 500; });
    server_.Get("/muster/metrics", [this](const auto&, auto& response) {
      response.set_content(
          fmt::format("# HELP muster_synthetic_condition 1 while the alert proof runs.\n"
                      "# TYPE muster_synthetic_condition gauge\nmuster_synthetic_condition {}\n",
                      synthetic_.load()),
          kText004);
    });
    server_.Get(R"(/([^/]+)/metrics)", [this](const auto& request, auto& response) {
      Answer(response, lab_.Page(request.matches[1].str(), world_.clock.Now()));
    });
    const auto change = [this](const auto& request, auto& response) {
      const std::string value = request.get_param_value("value");
      if (value != "0" && value != "1") {
        response.status = 400;
        response.set_content("value must be 0 or 1\n", "text/plain");
        return;
      }
      synthetic_ = value == "1" ? 1 : 0;
      response.set_content(value + "\n", "text/plain");
    };
    server_.Post("/synthetic", change);
    server_.Put("/synthetic", change);
  }

  Status Serve() {
    const int port = server_.bind_to_any_port("127.0.0.1");
    if (port <= 0) return Fail(Code::kUnavailable, "no free port on 127.0.0.1");
    // Bound and listening already: a client that reads the file can connect.
    TRY_VOID(world_.files.WriteAtomic(options_.port_file, fmt::format("{}\n", port)));
    if (!server_.listen_after_bind()) return Fail(Code::kInternal, "the server stopped");
    return {};
  }

 private:
  const Options& options_;
  World& world_;
  LabView lab_;
  std::atomic<int> synthetic_ = 0;
  httplib::Server server_;
};

}  // namespace

int ExporterMain(const std::vector<std::string>& args, World& world) {
  const Result<Options> options = ReadOptions(args);
  if (!options.ok()) {
    Log(LogLevel::kError, options.error().ToString());
    return static_cast<int>(ExitCode::kUsage);
  }
  const Status served = ExporterServer(*options, world).Serve();
  if (!served.ok()) Log(LogLevel::kError, "lab-exporter: " + served.error().ToString());
  return static_cast<int>(served.ok() ? ExitCode::kDone : ExitCode::kInternal);
}

}  // namespace muster::lab
