// A real Prometheus and a real Alertmanager over the lab's exporter pages.
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "backend/lab/telemetry/monitor.h"
#include "backend/lab/telemetry/monitor_config.h"
#include "base/strings.h"
#include "probes/prometheus/api.h"

namespace muster::lab {

namespace {

constexpr Duration kStartWithin = std::chrono::seconds(15);
// Discovery takes 5 s, then one scrape: the offset of a target within its interval is its own.
constexpr Duration kScrapedWithin = std::chrono::seconds(20);
constexpr Duration kLook = std::chrono::milliseconds(25);
constexpr std::string_view kFolderPrefix = "telemetry-";
constexpr std::string_view kPackages = "apt-get install prometheus prometheus-alertmanager";
// Written by the web toolkit that both daemons share: msg="Listening on" address=127.0.0.1:41377
constexpr std::string_view kListening = "msg=\"Listening on\" address=127.0.0.1:";

std::optional<int> Port(std::string_view text) {
  const Result<int64_t> port = ParseInt(Trim(text));
  if (!port || *port < 1 || *port > 65'535) return std::nullopt;
  return static_cast<int>(*port);
}

// A logged line counts only whole: a port may be half written.
std::optional<int> PortInLog(std::string_view log) {
  const size_t at = log.find(kListening);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = log.substr(at + kListening.size());
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  return Port(rest.substr(0, end));
}

std::string LastLine(std::string_view log) {
  const auto lines = Lines(log);
  return lines.empty() ? "no word of it" : Shorten(Printable(lines.back()), 300);
}

class RealMonitor final : public MonitorPort {
 public:
  RealMonitor(const LabState& state, World& world, std::string muster_binary)
      : state_(state), world_(world), binary_(std::move(muster_binary)) {}

  ~RealMonitor() override { Stop(); }

  Status Prepare() override {
    const std::lock_guard lock(mutex_);
    return Launch();
  }

  Result<HttpResponse> Do(const HttpRequest& request) override {
    TRY(const HttpRequest real, Mapped(request));
    return world_.http.Do(real);
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    TRY(const HttpRequest real, Mapped(request));
    return world_.http.Stream(real, on_bytes, sent_at);
  }

 private:
  struct Daemon {
    std::string name;
    std::unique_ptr<Child> child;
    int port = 0;
  };

  Result<HttpRequest> Mapped(const HttpRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      TRY_VOID(Launch());
      WaitUntilScraped();
    }
    HttpRequest real = request;
    const auto map = [&](std::string_view base, int port) {
      const auto rest = After(request.url, base);
      if (rest) real.url = fmt::format("http://127.0.0.1:{}/{}", port, *rest);
      return rest.has_value();
    };
    if (map("http://prometheus/", prometheus_.port) ||
        map("http://alertmanager/", alertmanager_.port) || map("http://monitor/", exporter_.port)) {
      return real;
    }
    return Fail(Code::kNotFound, "the monitor does not serve " + Printable(request.url));
  }

  // Once; what went wrong is the answer from then on.
  Status Launch() {
    if (launched_) return *launched_;
    launched_ = StartAll();
    if (!launched_->ok()) Stop();
    return *launched_;
  }

  Status StartAll() {
    if (state_.folder.empty()) return Fail(Code::kInvalid, "a lab without a folder has no monitor");
    SweepOldFolders();
    folder_ = fmt::format("{}/{}{:016x}", state_.folder, kFolderPrefix, world_.random.Next());
    TRY_VOID(world_.files.MakeFolders(folder_));
    TRY(lock_, world_.files.Lock(folder_ + "/lock", "the lab's monitor"));
    TRY_VOID(world_.files.WriteAtomic(folder_ + "/alertmanager.yml", AlertmanagerConfig()));
    TRY_VOID(world_.files.WriteAtomic(folder_ + "/rules.yml", AlertRules()));
    begun_ = world_.clock.Monotonic();
    TRY_VOID(Start(alertmanager_, "prometheus-alertmanager",
                   {"prometheus-alertmanager", "--config.file=" + folder_ + "/alertmanager.yml",
                    "--storage.path=" + folder_ + "/alertmanager",
                    "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="}));
    TRY_VOID(Start(exporter_, "lab-exporter",
                   {binary_, "lab-exporter", "--lab", state_.folder, "--port-file",
                    folder_ + "/lab-exporter.port"}));
    TRY(alertmanager_.port, AwaitPort(alertmanager_));
    TRY(exporter_.port, AwaitPort(exporter_));
    TRY_VOID(world_.files.WriteAtomic(
        folder_ + "/prometheus.yml", PrometheusConfig(state_, exporter_.port, alertmanager_.port)));
    TRY_VOID(Start(prometheus_, "prometheus",
                   {"prometheus", "--config.file=" + folder_ + "/prometheus.yml",
                    "--storage.tsdb.path=" + folder_ + "/data", "--storage.tsdb.retention.time=1d",
                    "--web.listen-address=127.0.0.1:0"}));
    TRY(prometheus_.port, AwaitPort(prometheus_));
    return {};
  }

  Status Start(Daemon& daemon, std::string name, std::vector<std::string> argv) {
    daemon.name = std::move(name);
    Command command;
    command.argv = std::move(argv);
    Result<std::unique_ptr<Child>> child =
        world_.processes.Start(command, fmt::format("{}/{}.log", folder_, daemon.name));
    if (child.ok()) {
      daemon.child = std::move(*child);
      return {};
    }
    if (child.error().code == Code::kNotFound && daemon.name != "lab-exporter") {
      return Fail(Code::kNotFound, fmt::format("{} is not installed: {}", daemon.name, kPackages));
    }
    return Fail(std::move(child.error()).Context("starting " + daemon.name));
  }

  Result<int> AwaitPort(Daemon& daemon) {
    const std::string path = fmt::format("{}/{}.{}", folder_, daemon.name,
                                         daemon.name == "lab-exporter" ? "port" : "log");
    for (;;) {
      const Result<std::string> text = world_.files.Read(path);
      if (text.ok()) {
        const auto port = daemon.name == "lab-exporter" ? Port(*text) : PortInLog(*text);
        if (port) return *port;
      }
      const bool late = world_.clock.Monotonic() - begun_ > kStartWithin;
      if (const auto exit = daemon.child->Poll(); exit || late) {
        const std::string log =
            world_.files.Read(fmt::format("{}/{}.log", folder_, daemon.name)).value_or("");
        return Fail(Code::kUnavailable,
                    fmt::format("{} {}: {}", daemon.name,
                                exit ? fmt::format("ended with {}", *exit) : "does not listen",
                                LastLine(log)));
      }
      world_.clock.SleepFor(kLook);
    }
  }

  // The first answer would say "not scraped yet" of nodes that are well. After the limit the truth
  // is told as it is.
  void WaitUntilScraped() {
    while (!scraped_ && world_.clock.Monotonic() - begun_ < kScrapedWithin) {
      HttpRequest request;
      request.url =
          fmt::format("http://127.0.0.1:{}/api/v1/targets?state=active", prometheus_.port);
      const Result<HttpResponse> answer = world_.http.Do(request);
      scraped_ = answer.ok() && AllScraped(answer->body);
      if (!scraped_) world_.clock.SleepFor(std::chrono::milliseconds(100));
    }
    scraped_ = true;
  }

  bool AllScraped(std::string_view body) const {
    const auto answer = prometheus::ParseTargets(body);
    if (!answer.ok() || answer->active.size() < state_.cluster.nodes.size() + 1) return false;
    for (const prometheus::Target& target : answer->active) {
      // Under scrape_too_slow the first scrape may be a minute away.
      const bool slow = target.scrape_interval_s.value_or(0) > 10;
      if (target.health == "unknown" && !slow) return false;
    }
    return true;
  }

  // What a run that was killed left behind: its lock is free.
  void SweepOldFolders() {
    const auto entries = world_.files.List(state_.folder);
    if (!entries.ok()) return;
    for (const FileInfo& entry : *entries) {
      if (!entry.is_directory || !StartsWith(entry.name, kFolderPrefix)) continue;
      const std::string path = state_.folder + "/" + entry.name;
      if (!world_.files.Lock(path + "/lock", "being removed").ok()) continue;
      if (!world_.files.Remove(path).ok()) continue;
    }
  }

  void Stop() {
    for (Daemon* daemon : {&prometheus_, &alertmanager_, &exporter_}) daemon->child.reset();
    lock_.reset();
    if (folder_.empty()) return;
    // A folder that cannot be removed now is swept by the next run.
    [[maybe_unused]] const Status removed = world_.files.Remove(folder_);
    folder_.clear();
  }

  const LabState& state_;
  World world_;
  const std::string binary_;
  std::mutex mutex_;
  std::optional<Status> launched_;
  bool scraped_ = false;
  std::string folder_;
  std::unique_ptr<FileLock> lock_;
  Duration begun_{};
  Daemon exporter_, alertmanager_, prometheus_;
};

}  // namespace

std::unique_ptr<MonitorPort> MakeMonitor(const LabState& state, World& world,
                                         std::string muster_binary) {
  return std::make_unique<RealMonitor>(state, world, std::move(muster_binary));
}

}  // namespace muster::lab
