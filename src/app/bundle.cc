#include "app/bundle.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/capture.h"
#include "app/ledger.h"

namespace muster {

namespace {

// A ustar header (POSIX.1-1988): 512 bytes, octal texts, a checksum computed with its own field
// blank.
std::string Header(std::string_view name, size_t size, char type) {
  std::array<char, 512> block{};
  const auto put = [&](size_t at, size_t width, std::string_view text) {
    std::memcpy(block.data() + at, text.data(), std::min(width, text.size()));
  };
  put(0, 100, name);
  put(100, 8, "0000644");
  put(108, 8, "0000000");
  put(116, 8, "0000000");
  put(124, 12, fmt::format("{:011o}", size));
  put(136, 12, "00000000000");
  put(148, 8, "        ");
  block[156] = type;
  put(257, 6, std::string_view("ustar\0", 6));
  put(263, 2, "00");
  put(265, 32, "root");
  put(297, 32, "root");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, 8, std::string_view(fmt::format("{:06o}\0 ", sum)).substr(0, 8));
  block[154] = '\0';
  block[155] = ' ';
  return {block.data(), block.size()};
}

void Append(std::string& tar, std::string_view name, std::string_view bytes, char type) {
  tar += Header(name, bytes.size(), type);
  tar += bytes;
  tar.append((512 - bytes.size() % 512) % 512, '\0');
}

// A pax record: its own length in decimal, a blank, key=value, an end of line (POSIX.1-2001).
std::string PaxRecord(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length)
    length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

// A mistyped path is told before anything is read; no folder is made for it.
Status CheckFolderOf(Files& files, const std::string& out) {
  const size_t slash = out.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = out.substr(0, slash);
  const auto info = files.Stat(folder);
  if (info.ok() && info->is_directory) return {};
  return Fail(Code::kInvalid, fmt::format("--out {}: there is no folder {}", out, folder));
}

}  // namespace

std::string TarOf(const std::vector<BundleEntry>& entries) {
  std::string tar;
  for (const BundleEntry& entry : entries) {
    // A name longer than the header's field stands in a pax header before the entry.
    if (entry.name.size() > 100) Append(tar, "name", PaxRecord("path", entry.name), 'x');
    Append(tar, entry.name, entry.bytes, '0');
  }
  tar.append(1024, '\0');
  return tar;
}

Result<std::vector<std::string>> WriteBundle(World& world, const SitePaths& paths,
                                             const std::string& run, const std::string& out) {
  TRY_VOID(CheckFolderOf(world.files, out));
  TRY(const Run stored,
      ReadLedger(world.files, paths.Ledger(run)).Context(fmt::format("run {}", run)));
  TRY(std::string ledger, world.files.Read(paths.Ledger(run)));
  std::vector<BundleEntry> entries;
  const std::string root = fmt::format("muster-{}/", run);
  entries.push_back({root + "site.yaml", Redact(stored.header.site_text)});
  // The ledger is sealed: blanking a byte of it would break the seal. Its readings were redacted
  // when they were captured.
  entries.push_back({root + "ledger", std::move(ledger)});
  for (const auto& [path, name] :
       {std::pair{paths.Signatures(), "signatures.json"},
        std::pair{paths.state + "/changes.json", "changes.json"},
        std::pair{paths.RunFolder(run) + "/report.html", "report.html"}}) {
    if (auto text = world.files.Read(path); text.ok())
      entries.push_back({root + name, std::move(*text)});
  }
  if (auto baselines = world.files.List(paths.Baselines()); baselines.ok()) {
    for (const FileInfo& info : *baselines) {
      if (auto text = world.files.Read(paths.Baselines() + "/" + info.name); text.ok())
        entries.push_back({root + "baselines/" + info.name, std::move(*text)});
    }
  }
  nlohmann::ordered_json manifest = {{"apiVersion", "muster/v1"},
                                     {"kind", "BundleManifest"},
                                     {"run", run},
                                     {"files", nlohmann::ordered_json::object()}};
  std::vector<std::string> names;
  for (const BundleEntry& entry : entries) {
    manifest["files"][entry.name] = Sha256Hex(entry.bytes);
    names.push_back(entry.name);
  }
  entries.push_back({root + "manifest.json", manifest.dump(2) + "\n"});
  names.push_back(entries.back().name);
  TRY_VOID(world.files.WriteAtomic(out, TarOf(entries)));
  return names;
}

}  // namespace muster
