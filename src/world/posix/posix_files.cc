#include "world/posix/posix_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/posix/errno_error.h"
#include "world/posix/unique_fd.h"

namespace muster {

namespace {

UniqueFd Open(const std::string& path, int flags, mode_t mode = 0644) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return UniqueFd(fd);
}

tl::unexpected<Error> Errno(std::string_view verb, const std::string& path) {
  return Fail(ErrnoError(errno, fmt::format("cannot {} {}", verb, path)));
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Errno("write", path);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status SyncFolder(const std::string& folder) {
  const UniqueFd fd = Open(folder, O_RDONLY | O_DIRECTORY);
  // Some network file systems refuse to sync a folder; they have no better to offer.
  if (!fd.open() || (::fsync(fd.get()) != 0 && errno != EINVAL)) return Errno("sync", folder);
  return {};
}

FileInfo InfoOf(std::string name, const struct stat& s) {
  FileInfo info;
  info.name = std::move(name);
  info.is_directory = S_ISDIR(s.st_mode);
  info.size = static_cast<uint64_t>(s.st_size);
  info.modified = TimePoint(std::chrono::seconds(s.st_mtim.tv_sec) + Duration(s.st_mtim.tv_nsec));
  return info;
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Status Append(std::string_view bytes) override { return WriteAll(fd_.get(), bytes, path_); }
  Status Sync() override {
    if (::fdatasync(fd_.get()) != 0) return Errno("sync", path_);
    return {};
  }

 private:
  UniqueFd fd_;
  std::string path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  UniqueFd fd_;
};

}  // namespace

Result<std::string> PosixFiles::Read(const std::string& path, uint64_t limit) {
  const UniqueFd fd = Open(path, O_RDONLY | O_NONBLOCK);
  if (!fd.open()) return Errno("read", path);
  struct stat s{};
  if (::fstat(fd.get(), &s) != 0) return Errno("read", path);
  // Files under /proc and /sys say 0 or a page; the size is only a first guess.
  std::string bytes;
  bytes.resize(static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(s.st_size), limit)) +
               4096);
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
    const ssize_t got = ::read(fd.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Errno("read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > limit) {
      return Fail(Code::kInvalid, fmt::format("{} is larger than {} bytes", path, limit));
    }
  }
  bytes.resize(filled);
  return bytes;
}

Status PosixFiles::WriteAtomic(const std::string& path, std::string_view bytes) {
  static std::atomic<uint64_t> counter{0};
  const std::string beside = fmt::format("{}.tmp.{}.{}", path, ::getpid(), counter++);
  const mode_t mode = path.ends_with(".key") ? 0600 : 0644;
  const auto write = [&]() -> Status {
    const UniqueFd fd = Open(beside, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (!fd.open()) return Errno("write", path);
    TRY_VOID(WriteAll(fd.get(), bytes, path));
    if (::fsync(fd.get()) != 0) return Errno("sync", path);
    if (::rename(beside.c_str(), path.c_str()) != 0) return Errno("replace", path);
    return {};
  };
  if (Status written = write(); !written.ok()) {
    ::unlink(beside.c_str());
    return written;
  }
  return SyncFolder(FolderOf(path));
}

Result<std::unique_ptr<AppendFile>> PosixFiles::OpenAppend(const std::string& path) {
  UniqueFd fd = Open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL);
  if (fd.open()) {
    TRY_VOID(SyncFolder(FolderOf(path)));
  } else if (errno == EEXIST) {
    fd = Open(path, O_WRONLY | O_APPEND);
  }
  if (!fd.open()) return Errno("append to", path);
  return std::make_unique<PosixAppendFile>(std::move(fd), path);
}

Status PosixFiles::Truncate(const std::string& path, uint64_t size) {
  const UniqueFd fd = Open(path, O_WRONLY);
  if (!fd.open() || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fsync(fd.get()) != 0) {
    return Errno("cut", path);
  }
  return {};
}

Result<std::vector<FileInfo>> PosixFiles::List(const std::string& folder) {
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return Errno("list", folder);
  std::vector<FileInfo> found;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat s{};
    // Through links first (all of /sys/class is links); a dangling one is still an entry.
    if (::fstatat(::dirfd(dir), entry->d_name, &s, 0) == 0 ||
        ::fstatat(::dirfd(dir), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
      found.push_back(InfoOf(std::string(name), s));
    }
  }
  ::closedir(dir);
  std::sort(found.begin(), found.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return found;
}

Result<FileInfo> PosixFiles::Stat(const std::string& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0) return Errno("look at", path);
  std::string_view name = path;
  while (name.size() > 1 && name.back() == '/') name.remove_suffix(1);
  return InfoOf(std::string(name.substr(name.rfind('/') + 1)), s);
}

Status PosixFiles::MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Fail(ErrnoError(error.value(), "cannot make folder " + path));
  return {};
}

Status PosixFiles::Remove(const std::string& path) {
  // A file that its own program removes under our hands (a socket, say) ends remove_all with
  // ENOENT and everything else still there: only a path that is gone is removed.
  constexpr int kTries = 10'000;  // each means that somebody else removed something
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    std::filesystem::remove_all(path, error);
    if (!error) return {};
    if (error.value() != ENOENT) break;
    struct stat left = {};
    if (::lstat(path.c_str(), &left) != 0 && errno == ENOENT) return {};
  }
  return Fail(ErrnoError(error.value(), "cannot remove " + path));
}

Result<std::unique_ptr<FileLock>> PosixFiles::Lock(const std::string& path, std::string_view note) {
  UniqueFd fd = Open(path, O_RDWR | O_CREAT);
  if (!fd.open()) return Errno("lock", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Errno("lock", path);
    const Result<std::string> holder = Read(path, 4096);
    return Fail(Code::kConflict,
                fmt::format("{} is held by {}", path,
                            holder.ok() && !Trim(*holder).empty() ? Printable(Trim(*holder))
                                                                  : "another process"));
  }
  if (::ftruncate(fd.get(), 0) != 0) return Errno("lock", path);
  TRY_VOID(WriteAll(fd.get(), note, path));
  return std::make_unique<PosixFileLock>(std::move(fd));
}

}  // namespace muster
