#include "world/testing/memory_files.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace muster::testing {

namespace {

std::string Clean(std::string_view path) {
  std::string clean;
  for (const char c : path) {
    if (c == '/' && !clean.empty() && clean.back() == '/') continue;
    clean += c;
  }
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string Name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool Under(const std::string& path, const std::string& folder) {
  return folder == "/" ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

struct MemoryFiles::State {
  struct File {
    std::string bytes;
    uint64_t synced = 0;
    TimePoint modified;
  };

  const Clock* clock = nullptr;
  mutable std::mutex mutex;
  std::map<std::string, File> files;
  std::set<std::string> folders = {"/", "", "."};
  std::map<std::string, Error> forbidden;
  std::map<std::string, std::string> locks;
  uint64_t capacity = std::numeric_limits<uint64_t>::max();
  int life = 0;  // counts crashes: what was opened before one is dead

  TimePoint Now() const { return clock != nullptr ? clock->Now() : TimePoint{}; }

  uint64_t Used() const {
    uint64_t used = 0;
    for (const auto& [path, file] : files) used += file.bytes.size();
    return used;
  }

  void AddFolders(const std::string& path) {
    for (std::string at = path; !folders.contains(at); at = Parent(at)) folders.insert(at);
  }

  Status Grow(File& file, std::string_view bytes) {
    const uint64_t used = Used();
    const uint64_t room = capacity > used ? capacity - used : 0;
    file.bytes.append(bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(room, bytes.size()))));
    file.modified = Now();
    if (room < bytes.size()) return Fail(Code::kUnavailable, "no space left on device");
    return {};
  }
};

class MemoryFiles::Appender final : public AppendFile {
 public:
  Appender(std::shared_ptr<State> state, std::string path)
      : state_(std::move(state)), path_(std::move(path)), life_(state_->life) {}

  Status Append(std::string_view bytes) override {
    const std::lock_guard lock(state_->mutex);
    TRY(State::File * file, Mine());
    return state_->Grow(*file, bytes);
  }
  Status Sync() override {
    const std::lock_guard lock(state_->mutex);
    TRY(State::File * file, Mine());
    file->synced = file->bytes.size();
    return {};
  }

 private:
  Result<State::File*> Mine() {
    const auto found = state_->files.find(path_);
    if (life_ != state_->life || found == state_->files.end()) {
      return Fail(Code::kUnavailable, path_ + " is gone");
    }
    return &found->second;
  }

  std::shared_ptr<State> state_;
  std::string path_;
  int life_;
};

class MemoryFiles::Holder final : public FileLock {
 public:
  Holder(std::shared_ptr<State> state, std::string path)
      : state_(std::move(state)), path_(std::move(path)), life_(state_->life) {}
  ~Holder() override {
    const std::lock_guard lock(state_->mutex);
    if (life_ == state_->life) state_->locks.erase(path_);
  }

 private:
  std::shared_ptr<State> state_;
  std::string path_;
  int life_;
};

MemoryFiles::MemoryFiles(const Clock* clock) : state_(std::make_shared<State>()) {
  state_->clock = clock;
}
MemoryFiles::~MemoryFiles() = default;

Result<std::string> MemoryFiles::Read(const std::string& raw, uint64_t limit) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  if (const auto no = state_->forbidden.find(path); no != state_->forbidden.end()) {
    return Fail(no->second);
  }
  const auto found = state_->files.find(path);
  if (found == state_->files.end()) {
    if (state_->folders.contains(path)) return Fail(Code::kInvalid, path + " is a folder");
    return Fail(Code::kNotFound, "no file " + path);
  }
  if (found->second.bytes.size() > limit) {
    return Fail(Code::kInvalid, fmt::format("{} is larger than {} bytes", path, limit));
  }
  return found->second.bytes;
}

Status MemoryFiles::WriteAtomic(const std::string& raw, std::string_view bytes) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  // The new bytes lie beside the old ones until the rename, so both must fit.
  State::File fresh;
  TRY_VOID(state_->Grow(fresh, bytes));
  fresh.synced = fresh.bytes.size();
  state_->AddFolders(Parent(path));
  state_->files[path] = std::move(fresh);
  return {};
}

Result<std::unique_ptr<AppendFile>> MemoryFiles::OpenAppend(const std::string& raw) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  if (state_->folders.contains(path)) return Fail(Code::kInvalid, path + " is a folder");
  state_->AddFolders(Parent(path));
  state_->files.try_emplace(path).first->second.modified = state_->Now();
  return std::make_unique<Appender>(state_, path);
}

Status MemoryFiles::Truncate(const std::string& raw, uint64_t size) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->files.find(path);
  if (found == state_->files.end()) return Fail(Code::kNotFound, "no file " + path);
  found->second.bytes.resize(static_cast<size_t>(size));
  found->second.synced = size;
  found->second.modified = state_->Now();
  return {};
}

Result<std::vector<FileInfo>> MemoryFiles::List(const std::string& raw) {
  const std::string folder = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  if (!state_->folders.contains(folder)) return Fail(Code::kNotFound, "no folder " + folder);
  std::vector<FileInfo> found;
  for (const std::string& path : state_->folders) {
    if (path != folder && !Name(path).empty() && Parent(path) == folder) {
      found.push_back({Name(path), true, 0, {}});
    }
  }
  for (const auto& [path, file] : state_->files) {
    if (Parent(path) == folder) {
      found.push_back({Name(path), false, file.bytes.size(), file.modified});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return found;
}

Result<FileInfo> MemoryFiles::Stat(const std::string& raw) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  if (const auto found = state_->files.find(path); found != state_->files.end()) {
    return FileInfo{Name(path), false, found->second.bytes.size(), found->second.modified};
  }
  if (state_->folders.contains(path)) return FileInfo{Name(path), true, 0, {}};
  return Fail(Code::kNotFound, "no file " + path);
}

Status MemoryFiles::MakeFolders(const std::string& raw) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  if (state_->files.contains(path)) return Fail(Code::kConflict, path + " is a file");
  state_->AddFolders(path);
  return {};
}

Status MemoryFiles::Remove(const std::string& raw) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->files,
                [&](const auto& f) { return f.first == path || Under(f.first, path); });
  std::erase_if(state_->folders, [&](const auto& f) {
    return !f.empty() && f != "/" && f != "." && (f == path || Under(f, path));
  });
  return {};
}

Result<std::unique_ptr<FileLock>> MemoryFiles::Lock(const std::string& raw, std::string_view note) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  const auto [held, fresh] = state_->locks.try_emplace(path, note);
  if (!fresh) {
    return Fail(Code::kConflict, fmt::format("{} is held by {}", path, held->second));
  }
  state_->AddFolders(Parent(path));
  State::File& file = state_->files[path];
  file.bytes = std::string(note);
  file.synced = file.bytes.size();
  return std::make_unique<Holder>(state_, path);
}

void MemoryFiles::Crash(uint64_t kept) {
  const std::lock_guard lock(state_->mutex);
  ++state_->life;
  state_->locks.clear();
  for (auto& [path, file] : state_->files) {
    const uint64_t survives = std::min<uint64_t>(file.bytes.size(), file.synced + kept);
    file.bytes.resize(static_cast<size_t>(survives));
    file.synced = survives;
  }
}

void MemoryFiles::Put(const std::string& raw, std::string_view bytes) {
  const std::string path = Clean(raw);
  const std::lock_guard lock(state_->mutex);
  state_->forbidden.erase(path);
  state_->AddFolders(Parent(path));
  state_->files[path] = {std::string(bytes), bytes.size(), state_->Now()};
}

void MemoryFiles::SetCapacity(uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->capacity = bytes;
}

void MemoryFiles::Forbid(const std::string& raw, Error error) {
  const std::lock_guard lock(state_->mutex);
  state_->forbidden.insert_or_assign(Clean(raw), std::move(error));
}

std::vector<std::string> MemoryFiles::Paths() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> paths;
  for (const auto& [path, file] : state_->files) paths.push_back(path);
  return paths;
}

}  // namespace muster::testing
