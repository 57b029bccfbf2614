// Reading, listing, looking; whatever would write is refused.
#include <algorithm>

#include <fmt/format.h>

#include "backend/remote_ports.h"
#include "base/strings.h"
#include "world/posix/shell_quote.h"

namespace muster {

namespace {

constexpr Duration kTimeout = std::chrono::seconds(30);
// Exit codes of the scripts below; cat and find use 1 and 2.
constexpr int kMissing = 44;
constexpr int kForbidden = 43;
constexpr int kFolder = 45;
constexpr std::string_view kFind = "-printf '%f\\0%Y\\0%s\\0%T@\\0'";

tl::unexpected<Error> NoWriting(std::string_view what, const std::string& path) {
  return Fail(Code::kRefused, fmt::format("{} {}: files of a host are only read", what, path));
}

class RemoteFiles final : public Files {
 public:
  RemoteFiles(std::string host, RunThere run) : host_(std::move(host)), run_(std::move(run)) {}

  Result<std::string> Read(const std::string& path, uint64_t limit) override {
    const std::string name = ShellQuote(path);
    const std::string script = fmt::format(
        "[ -e {0} ] || exit {1}\n[ ! -d {0} ] || exit {2}\n[ -r {0} ] || exit {3}\nexec cat < "
        "{0}\n",
        name, kMissing, kFolder, kForbidden);
    TRY(CommandResult result, Run(path, script, static_cast<size_t>(limit)));
    if (result.truncated) {
      return Fail(Code::kInvalid, fmt::format("{} is larger than {} bytes", path, limit));
    }
    return std::move(result.out);
  }

  Result<std::vector<FileInfo>> List(const std::string& folder) override {
    const std::string name = ShellQuote(folder);
    TRY(const CommandResult result,
        Run(folder,
            fmt::format("[ -d {0} ] || exit {1}\n[ -r {0} ] || exit {2}\n"
                        "exec find -L {0}/ -mindepth 1 -maxdepth 1 {3}\n",
                        name, kMissing, kForbidden, kFind),
            64u << 20));
    return Parse(result.out);
  }

  Result<FileInfo> Stat(const std::string& path) override {
    const std::string name = ShellQuote(path);
    TRY(const CommandResult result,
        Run(path,
            fmt::format("[ -e {0} ] || exit {1}\nexec find -L {0} -maxdepth 0 {2}\n", name,
                        kMissing, kFind),
            1u << 20));
    TRY(std::vector<FileInfo> found, Parse(result.out));
    if (found.size() != 1)
      return Fail(Code::kParse, fmt::format("looking at {} on {}", path, host_));
    return std::move(found[0]);
  }

  Status WriteAtomic(const std::string& path, std::string_view) override {
    return NoWriting("write", path);
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override {
    return NoWriting("append to", path);
  }
  Status Truncate(const std::string& path, uint64_t) override { return NoWriting("cut", path); }
  Status MakeFolders(const std::string& path) override { return NoWriting("make folder", path); }
  Status Remove(const std::string& path) override { return NoWriting("remove", path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view) override {
    return NoWriting("lock", path);
  }

 private:
  Result<CommandResult> Run(const std::string& path, const std::string& script, size_t limit) {
    Command command{{"/bin/sh", "-c", script}};
    command.timeout = kTimeout;
    command.max_output = limit;
    TRY(CommandResult result, run_(command));
    if (result.timed_out) {
      return Fail(Code::kTimeout, fmt::format("{} on {}: no answer within {}", path, host_,
                                              FormatDuration(kTimeout)));
    }
    if (result.exit_code == kMissing)
      return Fail(Code::kNotFound, fmt::format("no {} on {}", path, host_));
    if (result.exit_code == kForbidden)
      return Fail(Code::kPermission, fmt::format("{} on {}: Permission denied", path, host_));
    if (result.exit_code == kFolder)
      return Fail(Code::kInvalid, fmt::format("{} on {} is a folder", path, host_));
    if (result.exit_code != 0) {
      const bool forbidden =
          Contains(result.err, "ermission denied") || Contains(result.err, "not permitted");
      return Fail(
          forbidden ? Code::kPermission : Code::kInvalid,
          fmt::format("{} on {}: {}", path, host_, Shorten(Printable(Trim(result.err)), 200)));
    }
    return result;
  }

  // find's "%f\0%Y\0%s\0%T@\0" for each entry: name, type behind links, size, seconds since the
  // epoch.
  Result<std::vector<FileInfo>> Parse(const std::string& text) {
    std::vector<std::string_view> fields = Split(text, '\0');
    std::vector<FileInfo> found;
    if (fields.size() % 4 != 1 || !fields.back().empty()) {
      return Fail(Code::kParse, fmt::format("find on {} gave an unfinished answer", host_));
    }
    for (size_t i = 0; i + 4 < fields.size(); i += 4) {
      FileInfo info;
      info.name = std::string(fields[i]);
      info.is_directory = fields[i + 1] == "d";
      TRY(const int64_t size, ParseInt(fields[i + 2]));
      info.size = static_cast<uint64_t>(size);
      // "1795144320.1234567890": seconds, and ten digits of them that a double would round.
      const std::vector<std::string_view> time = Split(fields[i + 3], '.');
      TRY(const int64_t whole, ParseInt(time[0]));
      TRY(const int64_t nanos, ParseInt(time.size() == 2 ? time[1].substr(0, 9) : "0"));
      info.modified = TimePoint(std::chrono::seconds(whole) + Duration(nanos));
      found.push_back(std::move(info));
    }
    std::sort(found.begin(), found.end(),
              [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
    return found;
  }

  const std::string host_;
  const RunThere run_;
};

}  // namespace

std::unique_ptr<Files> MakeRemoteFiles(std::string host, RunThere run) {
  return std::make_unique<RemoteFiles>(std::move(host), std::move(run));
}

}  // namespace muster
