#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "backend/lab/work/serve.h"
#include "backend/lab/work/serve/server.h"
#include "backend/lab/work/trainer/checkpoint.h"
#include "backend/lab/work/trainer/options.h"
#include "base/exit_code.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr const char* kDown = "the engine has stopped (endpoint_down)";

struct ServeArguments {
  std::string checkpoint, host = "127.0.0.1", model = kServedModel;
  int port = 0;
  bool with_parent = false;
};

Result<ServeArguments> ParseServeArguments(std::span<const std::string> args) {
  ServeArguments parsed;
  TRY_VOID(ParsePairs(args, [&](std::string_view key, const std::string& value) -> Result<bool> {
    if (key == "--checkpoint") {
      parsed.checkpoint = value;
    } else if (key == "--host") {
      parsed.host = value;
    } else if (key == "--model") {
      parsed.model = value;
    } else if (key == "--with-parent") {
      parsed.with_parent = value == "yes";
    } else if (key == "--port") {
      TRY(const int64_t port, ParseInt(value).Context("--port"));
      if (port < 0 || port > 65535)
        return Fail(Code::kInvalid, "--port: expected a number from 0 to 65535");
      parsed.port = static_cast<int>(port);
    } else {
      return false;
    }
    return true;
  }));
  if (parsed.checkpoint.empty()) return Fail(Code::kInvalid, "--checkpoint FOLDER is needed");
  return parsed;
}

// The lab's faults on the endpoint, read again at most every 100 ms; a state that cannot be read
// changes nothing.
class FaultWatch {
 public:
  FaultWatch(World& world, std::string lab) : world_(world), lab_(std::move(lab)) {}

  ServeFaults Now() {
    const std::lock_guard lock(mutex_);
    const Duration now = world_.clock.Monotonic();
    if (lab_.empty() || (read_ && now - read_at_ < std::chrono::milliseconds(100))) return faults_;
    read_ = true;
    read_at_ = now;
    // A large lab takes a while to build; most looks find the file as it was.
    auto text = world_.files.Read(lab_ + "/lab.json", 16u << 20);
    if (!text.ok() || *text == text_) return faults_;
    if (const auto state = LoadLab(world_.files, lab_); state.ok()) {
      faults_ = Of(*state);
      text_ = std::move(*text);
    }
    return faults_;
  }

 private:
  static ServeFaults Of(const LabState& state) {
    ServeFaults faults;
    if (state.FindAny("endpoint_down") != nullptr) faults.down = true;
    if (const Fault* fault = state.FindAny("endpoint_failing"); fault != nullptr)
      faults.failing = std::clamp(FigureOf(*fault, "ratio", 0.3), 0.0, 1.0);
    // Requests that are preempted and computed again come late.
    for (const char* kind : {"kv_cache_pressure", "endpoint_slow"}) {
      const Fault* fault = state.FindAny(kind);
      if (fault == nullptr) continue;
      faults.before_first = FromSeconds(std::clamp(FigureOf(*fault, "ttft_seconds", 3), 0.0, 60.0));
      faults.between = FromSeconds(std::clamp(FigureOf(*fault, "tpot_seconds", 0.3), 0.0, 10.0));
    }
    return faults;
  }

  World& world_;
  const std::string lab_;
  std::mutex mutex_;
  bool read_ = false;
  Duration read_at_{};
  std::string text_;
  ServeFaults faults_;
};

Result<CharModel> LoadModel(Files& files, const std::string& folder) {
  TRY(const Manifest manifest, ReadManifest(files, folder));
  TRY(TrainingState state, ReadCheckpoint(files, folder, manifest));
  CharModel model(manifest.shape, manifest.seed);
  model.parameters() = std::move(state.parameters);
  return model;
}

// Ends the process when the endpoint is to be down, or whoever started it has gone: at once, as an
// engine that crashes, for the library would wait half a minute for idle connections.
class Watcher {
 public:
  Watcher(FaultWatch& faults, World& world, bool with_parent)
      : thread_([this, &faults, &world, with_parent, parent = getppid()] {
          while (!ended_) {
            const bool alone = with_parent && getppid() != parent;
            if (alone || faults.Now().down) {
              fmt::print(stderr, "serve: {}\n", alone ? "the one who started it has gone" : kDown);
              std::fflush(stderr);
              std::_Exit(static_cast<int>(ExitCode::kInternal));
            }
            world.clock.SleepFor(std::chrono::milliseconds(100));
          }
        }) {}
  ~Watcher() {
    ended_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

Status Run(const ServeArguments& args, World& world) {
  FaultWatch watch(world, FromProcess("MUSTER_LAB").value_or(""));
  TRY(const CharModel model, LoadModel(world.files, args.checkpoint));
  const ServerOptions options{args.host, args.port, args.model, [&watch] { return watch.Now(); }};
  TRY(const std::unique_ptr<ModelServer> server, MakeModelServer(options, model, world));
  fmt::print("listening on http://{}:{}\n", args.host, server->port());
  std::fflush(stdout);
  if (watch.Now().down) return Fail(Code::kUnavailable, kDown);
  const Watcher watcher(watch, world, args.with_parent);
  server->Serve();
  return Fail(Code::kUnavailable, "the server stopped listening");
}

}  // namespace

int ServeMain(std::span<const std::string> args, World& world) {
  const auto parsed = ParseServeArguments(args);
  if (!parsed.ok()) {
    fmt::print(stderr, "serve: {}\n", parsed.error().ToString());
    return static_cast<int>(ExitCode::kUsage);
  }
  const Status served = Run(*parsed, world);
  fmt::print(stderr, "serve: {}\n", served.error().ToString());
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace muster::lab
