#include "world/testing/faulty.h"

namespace muster::testing {

namespace {

Error Broken(FaultKind kind, const std::string& what) {
  return kind == FaultKind::kHang || kind == FaultKind::kLate
             ? Error{Code::kTimeout, what + ": no answer in time", {}}
             : Error{Code::kUnavailable, what + ": input/output error", {}};
}

class FaultyAppend final : public AppendFile {
 public:
  FaultyAppend(std::unique_ptr<AppendFile> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}

  Status Append(std::string_view bytes) override {
    if (!plan_.Hit()) return inner_->Append(bytes);
    if (plan_.kind() == FaultKind::kGarble)
      TRY_VOID(inner_->Append(bytes.substr(0, bytes.size() / 2)));
    if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_->Append(bytes));
    return Fail(Broken(plan_.kind(), "append"));
  }
  Status Sync() override {
    if (!plan_.Hit()) return inner_->Sync();
    if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_->Sync());
    return Fail(Broken(plan_.kind(), "sync"));
  }

 private:
  std::unique_ptr<AppendFile> inner_;
  FaultPlan& plan_;
};

}  // namespace

std::string Garbled(std::string_view text) {
  return std::string(text.substr(0, text.size() / 2)) + "\xff\xfe\x1b[31m\x01garbage\n";
}

Result<std::string> FaultyFiles::Read(const std::string& path, uint64_t limit) {
  if (!plan_.Hit()) return inner_.Read(path, limit);
  if (plan_.kind() == FaultKind::kGarble) {
    TRY(const std::string bytes, inner_.Read(path, limit));
    return Garbled(bytes);
  }
  return Fail(Broken(plan_.kind(), "read " + path));
}

Status FaultyFiles::WriteAtomic(const std::string& path, std::string_view bytes) {
  if (!plan_.Hit()) return inner_.WriteAtomic(path, bytes);
  if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_.WriteAtomic(path, bytes));
  return Fail(Broken(plan_.kind(), "write " + path));
}

Result<std::unique_ptr<AppendFile>> FaultyFiles::OpenAppend(const std::string& path) {
  if (plan_.Hit()) return Fail(Broken(plan_.kind(), "open " + path));
  TRY(std::unique_ptr<AppendFile> inner, inner_.OpenAppend(path));
  return std::make_unique<FaultyAppend>(std::move(inner), plan_);
}

Status FaultyFiles::Truncate(const std::string& path, uint64_t size) {
  if (!plan_.Hit()) return inner_.Truncate(path, size);
  if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_.Truncate(path, size));
  return Fail(Broken(plan_.kind(), "cut " + path));
}

Result<std::vector<FileInfo>> FaultyFiles::List(const std::string& folder) {
  if (plan_.Hit()) return Fail(Broken(plan_.kind(), "list " + folder));
  return inner_.List(folder);
}

Result<FileInfo> FaultyFiles::Stat(const std::string& path) {
  if (plan_.Hit()) return Fail(Broken(plan_.kind(), "stat " + path));
  return inner_.Stat(path);
}

Status FaultyFiles::MakeFolders(const std::string& path) {
  if (!plan_.Hit()) return inner_.MakeFolders(path);
  if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_.MakeFolders(path));
  return Fail(Broken(plan_.kind(), "make folder " + path));
}

Status FaultyFiles::Remove(const std::string& path) {
  if (!plan_.Hit()) return inner_.Remove(path);
  if (plan_.kind() == FaultKind::kLate) TRY_VOID(inner_.Remove(path));
  return Fail(Broken(plan_.kind(), "remove " + path));
}

Result<std::unique_ptr<FileLock>> FaultyFiles::Lock(const std::string& path,
                                                    std::string_view note) {
  if (plan_.Hit()) return Fail(Broken(plan_.kind(), "lock " + path));
  return inner_.Lock(path, note);
}

Result<CommandResult> FaultyProcesses::Run(const Command& command) {
  if (!plan_.Hit()) return inner_.Run(command);
  const std::string name = command.argv.empty() ? "" : command.argv[0];
  if (plan_.kind() == FaultKind::kFail) return Fail(Broken(plan_.kind(), name));
  TRY(CommandResult result, inner_.Run(command));
  if (plan_.kind() == FaultKind::kGarble) {
    result.out = Garbled(result.out);
    return result;
  }
  result.took = command.timeout;
  if (plan_.kind() == FaultKind::kHang) {
    result.timed_out = true;
    result.exit_code = 137;
    result.out.resize(result.out.size() / 2);
  }
  return result;
}

Result<std::unique_ptr<Child>> FaultyProcesses::Start(const Command& command,
                                                      const std::string& log_path) {
  if (plan_.Hit()) {
    return Fail(Broken(plan_.kind(), command.argv.empty() ? "" : command.argv[0]));
  }
  return inner_.Start(command, log_path);
}

Result<HttpResponse> FaultyHttp::Do(const HttpRequest& request) {
  if (!plan_.Hit()) return inner_.Do(request);
  if (plan_.kind() == FaultKind::kFail || plan_.kind() == FaultKind::kHang) {
    return Fail(Broken(plan_.kind(), request.method + " " + request.url));
  }
  TRY(HttpResponse response, inner_.Do(request));
  if (plan_.kind() == FaultKind::kGarble) response.body = Garbled(response.body);
  if (plan_.kind() == FaultKind::kLate) response.took = request.timeout;
  return response;
}

Result<HttpResponse> FaultyHttp::Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                        Duration& sent_at) {
  if (!plan_.Hit()) return inner_.Stream(request, on_bytes, sent_at);
  if (plan_.kind() == FaultKind::kFail) {
    return Fail(Broken(plan_.kind(), request.method + " " + request.url));
  }
  bool first = true;
  const OnBytes broken = [&](std::string_view bytes, Duration at) {
    if (plan_.kind() == FaultKind::kGarble) return on_bytes(Garbled(bytes), at);
    if (plan_.kind() == FaultKind::kLate) return on_bytes(bytes, at + request.timeout);
    // A hang: the first piece came, the rest never does.
    return std::exchange(first, false) && on_bytes(bytes, at);
  };
  TRY(HttpResponse response, inner_.Stream(request, broken, sent_at));
  if (plan_.kind() == FaultKind::kHang) {
    return Fail(Broken(plan_.kind(), request.method + " " + request.url));
  }
  return response;
}

}  // namespace muster::testing
