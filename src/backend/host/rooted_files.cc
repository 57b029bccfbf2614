#include "backend/host/rooted_files.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::host {

namespace {

class RootedFiles final : public Files {
 public:
  RootedFiles(Files& inner, std::string root) : inner_(inner), root_(std::move(root)) {}

  Result<std::string> Read(const std::string& path, uint64_t limit) override {
    TRY(const std::string below, Below(path));
    return inner_.Read(below, limit);
  }
  Status WriteAtomic(const std::string& path, std::string_view bytes) override {
    TRY(const std::string below, Below(path));
    return inner_.WriteAtomic(below, bytes);
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override {
    TRY(const std::string below, Below(path));
    return inner_.OpenAppend(below);
  }
  Status Truncate(const std::string& path, uint64_t size) override {
    TRY(const std::string below, Below(path));
    return inner_.Truncate(below, size);
  }
  Result<std::vector<FileInfo>> List(const std::string& folder) override {
    TRY(const std::string below, Below(folder));
    return inner_.List(below);
  }
  Result<FileInfo> Stat(const std::string& path) override {
    TRY(const std::string below, Below(path));
    return inner_.Stat(below);
  }
  Status MakeFolders(const std::string& path) override {
    TRY(const std::string below, Below(path));
    return inner_.MakeFolders(below);
  }
  Status Remove(const std::string& path) override {
    TRY(const std::string below, Below(path));
    return inner_.Remove(below);
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override {
    TRY(const std::string below, Below(path));
    return inner_.Lock(below, note);
  }

 private:
  Result<std::string> Below(const std::string& path) const {
    for (const std::string_view part : Split(path, '/')) {
      if (part == "..")
        return Fail(Code::kPermission, fmt::format("{} leaves the folder of the site", path));
    }
    return root_ + (path.starts_with('/') ? "" : "/") + path;
  }

  Files& inner_;
  std::string root_;
};

}  // namespace

std::unique_ptr<Files> MakeRootedFiles(Files& inner, std::string root) {
  return std::make_unique<RootedFiles>(inner, root.empty() ? "." : std::move(root));
}

}  // namespace muster::host
