#include "world/posix/posix_inputs.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>

#include "world/posix/errno_error.h"
#include "world/posix/unique_fd.h"

namespace muster {

namespace {

constexpr size_t kPieceBytes = 1u << 20;
constexpr int kDeepest = 32;             // of folders
constexpr size_t kMostMembers = 100000;  // of an archive

// Known by their first bytes; everything else is read as it is.
bool LooksPacked(std::string_view head) {
  static constexpr std::array<std::string_view, 5> kMagic = {
      std::string_view("\x1f\x8b", 2), std::string_view("\x28\xb5\x2f\xfd", 4),
      std::string_view("\xfd"
                       "7zXZ\0",
                       6),
      std::string_view("BZh", 3), std::string_view("PK\x03\x04", 4)};
  for (const std::string_view magic : kMagic)
    if (head.starts_with(magic)) return true;
  return head.size() >= 262 && head.substr(257, 5) == "ustar";
}

// What libarchive reads from: the first piece, then the rest of the file.
struct Source {
  int fd = -1;
  std::vector<char> piece;
  size_t ready = 0;  // bytes of the first piece not yet handed over
};

la_ssize_t ReadPiece(archive* a, void* data, const void** out) {
  auto& source = *static_cast<Source*>(data);
  *out = source.piece.data();
  if (source.ready > 0) return static_cast<la_ssize_t>(std::exchange(source.ready, 0));
  ssize_t got;
  do got = ::read(source.fd, source.piece.data(), source.piece.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) archive_set_error(a, errno, "%s", std::strerror(errno));
  return got;
}

struct ArchiveFree {
  void operator()(archive* a) const { archive_read_free(a); }
};

void VisitArchive(const std::string& path, Source& source, InputSink& sink) {
  std::unique_ptr<archive, ArchiveFree> a(archive_read_new());
  for (const auto filter : {archive_read_support_filter_gzip, archive_read_support_filter_xz,
                            archive_read_support_filter_zstd, archive_read_support_filter_bzip2})
    filter(a.get());
  for (const auto format : {archive_read_support_format_tar, archive_read_support_format_zip,
                            archive_read_support_format_raw})
    format(a.get());
  const auto why = [&] {
    const char* text = archive_error_string(a.get());
    return std::string(text == nullptr ? "damaged archive" : text);
  };
  if (archive_read_open(a.get(), &source, nullptr, ReadPiece, nullptr) != ARCHIVE_OK)
    return sink.Broken(path, why());
  std::vector<char> buffer(kPieceBytes);
  for (size_t members = 0; members < kMostMembers; ++members) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(a.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    if (result < ARCHIVE_WARN) return sink.Broken(path, why());
    if (archive_entry_filetype(entry) != AE_IFREG && archive_format(a.get()) != ARCHIVE_FORMAT_RAW)
      continue;
    const char* member = archive_entry_pathname(entry);
    const bool raw = archive_format(a.get()) == ARCHIVE_FORMAT_RAW;
    const std::string name = raw || member == nullptr ? path : fmt::format("{}!{}", path, member);
    sink.Begin(name);
    while (true) {
      const la_ssize_t got = archive_read_data(a.get(), buffer.data(), buffer.size());
      if (got == 0) break;
      if (got < 0) {
        sink.End();
        return sink.Broken(name, why());
      }
      if (!sink.Feed({buffer.data(), static_cast<size_t>(got)})) break;
    }
    sink.End();
  }
  sink.Broken(path, fmt::format("more than {} members; the rest was not read", kMostMembers));
}

}  // namespace

void PosixInputs::Visit(const std::string& path, InputSink& sink) {
  struct stat info{};
  if (path != "-" && ::stat(path.c_str(), &info) != 0)
    return sink.Broken(path, std::strerror(errno));
  if (path != "-" && S_ISDIR(info.st_mode)) return VisitFolder(path, sink, 0);
  VisitFile(path, sink);
}

void PosixInputs::VisitFolder(const std::string& path, InputSink& sink, int depth) {
  if (depth > kDeepest) return sink.Broken(path, "folders are nested too deep");
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return sink.Broken(path, std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string below = path + "/" + name;
    struct stat info{}, target{};
    if (::lstat(below.c_str(), &info) != 0 || ::stat(below.c_str(), &target) != 0) {
      sink.Broken(below, std::strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
      VisitFolder(below, sink, depth + 1);
    } else if (S_ISREG(target.st_mode)) {
      VisitFile(below, sink);
    } else {
      sink.Broken(below, S_ISLNK(info.st_mode) ? "a link to a folder is not followed"
                                               : "no file that ends");
    }
  }
}

void PosixInputs::VisitFile(const std::string& path, InputSink& sink) {
  UniqueFd fd(path == "-" ? ::dup(0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return sink.Broken(path, std::strerror(errno));
  Source source{fd.get(), std::vector<char>(kPieceBytes), 0};
  const auto fill = [&]() -> ssize_t {
    ssize_t got;
    do got = ::read(fd.get(), source.piece.data(), source.piece.size());
    while (got < 0 && errno == EINTR);
    return got;
  };
  ssize_t got = fill();
  if (got < 0) return sink.Broken(path, std::strerror(errno));
  if (LooksPacked({source.piece.data(), static_cast<size_t>(got)})) {
    source.ready = static_cast<size_t>(got);
    return VisitArchive(path, source, sink);
  }
  sink.Begin(path);
  while (got > 0) {
    if (!sink.Feed({source.piece.data(), static_cast<size_t>(got)})) break;
    got = fill();
  }
  sink.End();
  if (got < 0) sink.Broken(path, std::strerror(errno));
}

Result<uint64_t> PosixInputs::ReadFrom(const std::string& path, uint64_t offset, InputSink& sink) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return Fail(ErrnoError(errno, path));
  struct stat info{};
  // A file that shrank was begun anew.
  if (::fstat(fd.get(), &info) == 0 && static_cast<uint64_t>(info.st_size) < offset) offset = 0;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const ssize_t got = ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(ErrnoError(errno, path));
    if (got == 0) return offset;
    sink.Feed({piece.data(), static_cast<size_t>(got)});
    offset += static_cast<uint64_t>(got);
  }
}

}  // namespace muster
