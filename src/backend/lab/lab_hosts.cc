#include "backend/lab/lab_hosts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lab/facility.h"
#include "backend/lab/telemetry/exporter.h"
#include "backend/lab/telemetry/monitor.h"
#include "backend/lab/tool_faults.h"
#include "backend/lab/tool_table.h"
#include "base/strings.h"
#include "world/stream_whole.h"

namespace muster::lab {

namespace {

std::string_view BaseName(std::string_view program) {
  const size_t slash = program.rfind('/');
  return slash == std::string_view::npos ? program : program.substr(slash + 1);
}

Error NoSuchFile(std::string_view path) {
  return Fail(Code::kNotFound, fmt::format("{}: no such file", Printable(path))).value();
}
Error NotWritable(std::string_view path) {
  return Fail(Code::kPermission,
              fmt::format("{}: files of a lab node cannot be written", Printable(path)))
      .value();
}

// A command that has ended already.
class EndedChild final : public Child {
 public:
  explicit EndedChild(CommandResult result) : result_(std::move(result)) {}
  int pid() const override { return 0; }
  std::optional<int> Poll() override { return result_.exit_code; }
  Result<int> Wait(Duration) override { return result_.exit_code; }
  void Kill() override {}
  std::string Output() override { return result_.out + result_.err; }

 private:
  CommandResult result_;
};

class NodeFiles final : public Files {
 public:
  NodeFiles(const LabState& state, const Node& node, World base)
      : state_(state), node_(node), base_(base) {}

  Result<std::string> Read(const std::string& path, uint64_t limit) override {
    if (auto down = Unreachable(state_, node_, base_.clock.Now())) return Fail(std::move(*down));
    const LabFile* file = FindLabFile(path);
    if (file == nullptr || file->read == nullptr) return Fail(NoSuchFile(path));
    auto text = file->read(state_, node_, path, base_.clock.Now());
    if (text.ok() && text->size() > limit)
      return Fail(Code::kInvalid, fmt::format("{}: more than {} bytes", path, limit));
    return text;
  }
  Result<std::vector<FileInfo>> List(const std::string& folder) override {
    if (auto down = Unreachable(state_, node_, base_.clock.Now())) return Fail(std::move(*down));
    const LabFile* file = FindLabFile(folder);
    if (file == nullptr || file->list == nullptr) return Fail(NoSuchFile(folder));
    const TimePoint now = base_.clock.Now();
    TRY(std::vector<std::string> names, file->list(state_, node_, folder, now));
    std::sort(names.begin(), names.end());
    std::vector<FileInfo> infos;
    for (const std::string& name : names) {
      // What can be listed itself is a folder.
      const std::string path = folder + (EndsWith(folder, "/") ? "" : "/") + name;
      infos.push_back({name, file->list(state_, node_, path, now).ok(), 0, state_.created});
    }
    return infos;
  }
  Result<FileInfo> Stat(const std::string& path) override {
    if (auto down = Unreachable(state_, node_, base_.clock.Now())) return Fail(std::move(*down));
    const LabFile* file = FindLabFile(path);
    if (file == nullptr) return Fail(NoSuchFile(path));
    const std::string name(BaseName(path));
    const TimePoint now = base_.clock.Now();
    if (file->list != nullptr && file->list(state_, node_, path, now).ok())
      return FileInfo{name, true, 0, state_.created};
    TRY(const std::string text, Read(path, ~0ull));
    return FileInfo{name, false, text.size(), state_.created};
  }
  Status WriteAtomic(const std::string& path, std::string_view) override {
    return Fail(NotWritable(path));
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override {
    return Fail(NotWritable(path));
  }
  Status Truncate(const std::string& path, uint64_t) override { return Fail(NotWritable(path)); }
  Status MakeFolders(const std::string& path) override { return Fail(NotWritable(path)); }
  Status Remove(const std::string& path) override { return Fail(NotWritable(path)); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view) override {
    return Fail(NotWritable(path));
  }

 private:
  const LabState& state_;
  const Node& node_;
  World base_;
};

class NodeProcesses final : public Processes {
 public:
  NodeProcesses(const LabState& state, const Node& node, Files& files, World base)
      : state_(state), node_(node), files_(files), base_(base) {}

  Result<CommandResult> Run(const Command& command) override {
    if (auto down = Unreachable(state_, node_, base_.clock.Now())) return Fail(std::move(*down));
    if (command.argv.empty()) return Fail(Code::kInvalid, "an empty command");
    const std::string_view program = BaseName(command.argv[0]);
    // Lab users are root.
    if (program == "sudo") return Run(WithoutSudo(command));
    if (program == "cat") return Cat(command);
    if (program == "ls") return Ls(command);
    const Tool* tool = FindTool(program);
    if (tool == nullptr) {
      return Fail(Code::kNotFound,
                  fmt::format("{}: no such program on {}", Printable(command.argv[0]), node_.name));
    }
    if (auto instead = InsteadOf(state_, node_, program, command)) return *instead;
    const std::span<const std::string> args(command.argv.data() + 1, command.argv.size() - 1);
    CommandResult result = tool->run({state_, &node_, args, base_.clock.Now()});
    Spoil(state_, node_, program, result);
    if (result.out.size() > command.max_output) {
      result.out.resize(command.max_output);
      result.truncated = true;
    }
    return result;
  }
  Result<std::unique_ptr<Child>> Start(const Command& command,
                                       const std::string& log_path) override {
    if (!log_path.empty()) return Fail(NotWritable(log_path));
    TRY(CommandResult result, Run(command));
    return std::unique_ptr<Child>(std::make_unique<EndedChild>(std::move(result)));
  }

 private:
  static Command WithoutSudo(Command command) {
    command.argv.erase(command.argv.begin());
    while (!command.argv.empty() && StartsWith(command.argv[0], "-"))
      command.argv.erase(command.argv.begin());
    return command;
  }

  CommandResult Cat(const Command& command) {
    CommandResult result;
    for (size_t i = 1; i < command.argv.size(); ++i) {
      const auto text = files_.Read(command.argv[i]);
      if (text.ok()) {
        result.out += *text;
      } else {
        result.err += fmt::format("cat: {}: No such file or directory\n", command.argv[i]);
        result.exit_code = 1;
      }
    }
    return result;
  }

  CommandResult Ls(const Command& command) {
    CommandResult result;
    for (size_t i = 1; i < command.argv.size(); ++i) {
      if (StartsWith(command.argv[i], "-")) continue;
      const auto infos = files_.List(command.argv[i]);
      if (!infos.ok()) {
        result.err +=
            fmt::format("ls: cannot access '{}': No such file or directory\n", command.argv[i]);
        result.exit_code = 2;
        continue;
      }
      for (const FileInfo& info : *infos) result.out += info.name + "\n";
    }
    return result;
  }

  const LabState& state_;
  const Node& node_;
  Files& files_;
  World base_;
};

// A node's own HTTP: its exporter on port 9400.
class NodeHttp final : public Http {
 public:
  NodeHttp(const LabState& state, const Node& node, World base)
      : state_(state), node_(node), base_(base) {}

  Result<HttpResponse> Do(const HttpRequest& request) override {
    if (auto down = Unreachable(state_, node_, base_.clock.Now())) return Fail(std::move(*down));
    if (!Contains(request.url, ":9400/")) {
      return Fail(Code::kUnavailable,
                  fmt::format("{}: connection refused", Printable(request.url)));
    }
    TRY(std::string page, ExporterPage(state_, node_, base_.clock.Now()));
    HttpResponse response;
    response.status = EndsWith(request.url, "/metrics") ? 200 : 404;
    response.headers = {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}};
    if (response.status == 200) response.body = std::move(page);
    return response;
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    return StreamWhole(*this, base_.clock, request, on_bytes, sent_at);
  }

 private:
  const LabState& state_;
  const Node& node_;
  World base_;
};

class NoFiles final : public Files {
 public:
  Result<std::string> Read(const std::string& path, uint64_t) override {
    return Fail(NoSuchFile(path));
  }
  Status WriteAtomic(const std::string& path, std::string_view) override {
    return Fail(NotWritable(path));
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override {
    return Fail(NotWritable(path));
  }
  Status Truncate(const std::string& path, uint64_t) override { return Fail(NotWritable(path)); }
  Result<std::vector<FileInfo>> List(const std::string& folder) override {
    return Fail(NoSuchFile(folder));
  }
  Result<FileInfo> Stat(const std::string& path) override { return Fail(NoSuchFile(path)); }
  Status MakeFolders(const std::string& path) override { return Fail(NotWritable(path)); }
  Status Remove(const std::string& path) override { return Fail(NotWritable(path)); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view) override {
    return Fail(NotWritable(path));
  }
};

class NoProcesses final : public Processes {
 public:
  Result<CommandResult> Run(const Command& command) override { return Fail(Refusal(command)); }
  Result<std::unique_ptr<Child>> Start(const Command& command, const std::string&) override {
    return Fail(Refusal(command));
  }

 private:
  static Error Refusal(const Command& command) {
    return Fail(Code::kNotFound,
                fmt::format("{}: this place runs no programs", Printable(command.ToString())))
        .value();
  }
};

}  // namespace

// Hands requests to the monitor, which starts with the first of them.
class LabHosts::MonitorHttp final : public Http {
 public:
  explicit MonitorHttp(LabHosts& hosts) : hosts_(hosts) {}
  Result<HttpResponse> Do(const HttpRequest& request) override {
    return hosts_.Monitor().Do(request);
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    return hosts_.Monitor().Stream(request, on_bytes, sent_at);
  }

 private:
  LabHosts& hosts_;
};

// The ports of one host.
class LabHosts::Host {
 public:
  std::unique_ptr<Files> files;
  std::unique_ptr<Processes> processes;
  std::unique_ptr<Http> http;
};

LabHosts::LabHosts(LabState state, World base, LabHostsOptions options)
    : state_(std::move(state)), base_(base), options_(std::move(options)) {
  const auto add_node = [&](const std::string& name, const Node& node) {
    auto host = std::make_unique<Host>();
    host->files = std::make_unique<NodeFiles>(state_, node, base_);
    host->processes = std::make_unique<NodeProcesses>(state_, node, *host->files, base_);
    host->http = std::make_unique<NodeHttp>(state_, node, base_);
    hosts_.emplace(name, std::move(host));
  };
  for (const Node& node : state_.cluster.nodes) add_node(node.name, node);
  if (!state_.cluster.nodes.empty()) add_node("fabric", state_.cluster.nodes.front());
  auto facility = std::make_unique<Host>();
  facility->files = std::make_unique<FacilityFiles>(state_, base_);
  facility->processes = std::make_unique<NoProcesses>();
  facility->http = std::make_unique<FacilityHttp>(state_);
  hosts_.emplace("facility", std::move(facility));
  auto monitor = std::make_unique<Host>();
  monitor->files = std::make_unique<NoFiles>();
  monitor->processes = std::make_unique<NoProcesses>();
  monitor->http = std::make_unique<MonitorHttp>(*this);
  hosts_.emplace("monitor", std::move(monitor));
}

LabHosts::~LabHosts() = default;

std::vector<std::string> LabHosts::Names() const {
  std::vector<std::string> names;
  for (const Node& node : state_.cluster.nodes) names.push_back(node.name);
  return names;
}

Result<HostPorts> LabHosts::At(std::string_view host) {
  const auto it = hosts_.find(host);
  if (it == hosts_.end())
    return Fail(Code::kNotFound, fmt::format("this lab has no host \"{}\"", Printable(host)));
  Host& ports = *it->second;
  return HostPorts{std::string(host),
                   {base_.clock, *ports.files, *ports.processes, *ports.http, base_.random},
                   Origin::kRehearsed};
}

MonitorPort& LabHosts::Monitor() {
  const std::lock_guard lock(mutex_);
  if (monitor_ == nullptr) {
    monitor_ = options_.modelled_telemetry ? MakeModelledMonitor(state_, base_.clock)
                                           : MakeMonitor(state_, base_, options_.self_binary);
  }
  return *monitor_;
}

Status LabHosts::PrepareMonitor() { return Monitor().Prepare(); }

}  // namespace muster::lab
