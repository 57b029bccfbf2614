#include "probes/nvidia_smi/topo.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nvidia_smi/complaint.h"
#include "probes/nvidia_smi/field.h"

namespace muster::nvidia_smi {
namespace {

// Nearest first. "PIX" is one bridge, "PXB" several, "PHB" the host bridge, "NODE" one NUMA domain,
// "SYS" between sockets.
constexpr std::array<std::string_view, 5> kPaths = {"PIX", "PXB", "PHB", "NODE", "SYS"};

bool IsDevice(std::string_view word) {
  for (std::string_view prefix : {"GPU", "NIC", "mlx", "rdmap", "bnxt", "irdma"})
    if (StartsWith(word, prefix) && word.size() > prefix.size() && word.back() >= '0' &&
        word.back() <= '9')
      return true;
  return false;
}

std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

// Cuts one path class off the front of a cell.
std::optional<std::string_view> TakePath(std::string_view& cell) {
  for (std::string_view word :
       {"NODE", "SYS", "PHB", "PXB", "PIX", "PXN", "P2C", "C2C", "DIS", "X"}) {
    if (StartsWith(cell, word)) {
      const auto taken = cell.substr(0, word.size());
      cell.remove_prefix(word.size());
      return taken;
    }
  }
  if (StartsWith(cell, "NV")) {
    size_t end = 2;
    while (end < cell.size() && cell[end] >= '0' && cell[end] <= '9') ++end;
    if (end == 2) return std::nullopt;
    const auto taken = cell.substr(0, end);
    cell.remove_prefix(end);
    return taken;
  }
  return std::nullopt;
}

// A cell holds one path, or several where the tool left the tab out. False when it holds anything
// else.
bool TakeCell(std::string_view cell, std::vector<std::string>& paths) {
  if (cell.empty()) return false;
  while (!cell.empty()) {
    auto path = TakePath(cell);
    if (!path) return false;
    paths.emplace_back(*path);
  }
  return true;
}

struct Header {
  std::vector<std::string> devices;
  bool tabs = false, cpu = false, numa = false, gpu_numa = false;
};

std::optional<Header> ReadHeader(std::string_view line) {
  Header header;
  const auto words = SplitBlank(line);
  if (words.empty() || !StartsWith(words[0], "GPU") || !IsDevice(words[0])) return std::nullopt;
  for (auto word : words) {
    if (!IsDevice(word)) break;
    header.devices.emplace_back(word);
  }
  // A matrix row begins like a header with one device; its second word is a path.
  if (header.devices.size() == 1 && words.size() > 1 && words[1] != "CPU" && words[1] != "NUMA")
    return std::nullopt;
  header.tabs = Contains(line, "\t");
  header.cpu = Contains(line, "CPU Affinity");
  header.numa = Contains(line, "NUMA Affinity");
  header.gpu_numa = Contains(line, "GPU NUMA ID");
  return header;
}

TopoRow ReadRow(const Header& header, std::string_view line) {
  TopoRow row;
  row.line = Shorten(Printable(Trim(line)), 160);
  std::vector<std::string_view> cells = header.tabs ? Split(line, '\t') : SplitBlank(line);
  for (auto& cell : cells) cell = Trim(cell);
  row.name = std::string(cells[0]);
  std::vector<std::string> paths;
  size_t next = 1;
  while (next < cells.size() && paths.size() < header.devices.size())
    if (!TakeCell(cells[next++], paths)) return row;
  if (paths.size() != header.devices.size()) return row;
  row.cells = std::move(paths);
  // With tabs an empty affinity keeps its place; with blanks it does not, so then all of them must
  // be there.
  const size_t wanted =
      (header.cpu ? 1u : 0u) + (header.numa ? 1u : 0u) + (header.gpu_numa ? 1u : 0u);
  const size_t there = cells.size() - next;
  if (!header.tabs && there != wanted) return row;
  if (header.cpu && next < cells.size()) row.cpu_affinity = std::string(cells[next++]);
  if (header.numa && next < cells.size()) row.numa_affinity = std::string(cells[next]);
  return row;
}

// "  NIC0: mlx5_0". The last line of a text without its end of line may be cut in the middle of a
// name.
std::map<std::string, std::string, std::less<>> ReadLegend(std::string_view text) {
  std::map<std::string, std::string, std::less<>> names;
  if (const size_t end = text.rfind('\n'); end != std::string_view::npos)
    text = text.substr(0, end);
  const size_t begin = text.find("NIC Legend:");
  if (begin == std::string_view::npos) return names;
  for (auto line : Lines(text.substr(begin))) {
    const auto parts = SplitBlank(line);
    if (parts.size() == 2 && StartsWith(parts[0], "NIC") && EndsWith(parts[0], ":"))
      names.emplace(parts[0].substr(0, parts[0].size() - 1), parts[1]);
  }
  return names;
}

std::optional<int> GpuIndex(std::string_view name) {
  auto digits = After(name, "GPU");
  auto index = digits ? Count(*digits) : std::nullopt;
  return index && *index < 1024 ? std::optional(static_cast<int>(*index)) : std::nullopt;
}

void AddNuma(ObservationBuilder& out, const Subject& gpu, const TopoRow& row) {
  if (auto numa = Count(row.numa_affinity))
    out.Add(gpu, "gpu.numa", *numa, Unit::kCount, row.line);
  else
    out.AddUnobserved(gpu, "gpu.numa", UnknownReason::kNotObserved,
                      row.numa_affinity.empty()
                          ? std::string("no NUMA affinity is printed")
                          : fmt::format("NUMA affinity is {}", Shorten(row.numa_affinity, 40)));
}

void AddNearest(ObservationBuilder& out, const Subject& gpu, const TopoMatrix& matrix,
                const TopoRow& row) {
  size_t best = kPaths.size();
  const std::string* nearest = nullptr;
  for (size_t i = 0; i < row.cells.size(); ++i) {
    if (StartsWith(matrix.devices[i], "GPU")) continue;
    const auto rank =
        static_cast<size_t>(std::find(kPaths.begin(), kPaths.end(), row.cells[i]) - kPaths.begin());
    if (rank < best) {
      best = rank;
      nearest = &matrix.devices[i];
    }
  }
  if (nearest == nullptr)
    out.AddUnobserved(gpu, "gpu.nearest_hca", UnknownReason::kNotObserved,
                      "the matrix has no adapter with a path to it");
  else if (StartsWith(*nearest, "NIC"))
    out.AddUnobserved(gpu, "gpu.nearest_hca", UnknownReason::kNotObserved,
                      fmt::format("the legend does not name {}", *nearest));
  else
    out.Add(gpu, "gpu.nearest_hca", *nearest, Unit::kNone, row.line);
}

}  // namespace

Result<TopoMatrix> ReadTopo(std::string_view raw) {
  const std::string text = WithoutEscapes(raw);
  const auto lines = Lines(text);
  std::optional<Header> header;
  TopoMatrix matrix;
  bool ended = false;
  for (auto line : lines) {
    if (!header) {
      header = ReadHeader(line);
      continue;
    }
    if (StartsWith(Trim(line), "Legend:")) {
      ended = true;
      break;
    }
    const auto words = SplitBlank(line);
    if (!words.empty() && IsDevice(words[0]))
      matrix.rows.push_back(
          ReadRow(*header, Trim(line) == line ? line : line.substr(line.find(words[0]))));
  }
  if (!header) return Fail(Code::kParse, "expected a header that names GPU0");
  if (!ended)
    return Fail(Code::kParse, "the legend after the matrix is missing: the output was cut");
  const auto names = ReadLegend(text);
  auto rename = [&names](std::string& name) {
    if (auto found = names.find(name); found != names.end()) name = found->second;
  };
  matrix.devices = header->devices;
  for (auto& device : matrix.devices) rename(device);
  for (auto& row : matrix.rows) rename(row.name);
  return matrix;
}

Observations ParseTopo(const Reading& reading) {
  ObservationBuilder out(reading);
  auto nothing = [&](UnknownReason reason, std::string_view detail) {
    for (std::string_view fact : {"gpu.numa", "gpu.nearest_hca"})
      out.AddUnobserved(NodeSubject(reading.host), fact, reason, detail);
    return out.Take();
  };
  auto matrix = ReadTopo(reading.text);
  if (!matrix.ok()) {
    const Complaint complaint = ReadComplaint(reading.text);
    if (complaint.reason == UnknownReason::kUnparsable)
      return nothing(complaint.reason, matrix.error().message);
    return nothing(complaint.reason, complaint.line);
  }
  for (const TopoRow& row : matrix->rows) {
    const auto index = GpuIndex(row.name);
    if (!index) continue;
    const Subject gpu = GpuSubject(reading.host, *index);
    if (row.cells.empty()) {
      for (std::string_view fact : {"gpu.numa", "gpu.nearest_hca"})
        out.AddUnobserved(gpu, fact, UnknownReason::kUnparsable,
                          fmt::format("damaged row: {}", row.line));
      continue;
    }
    AddNuma(out, gpu, row);
    AddNearest(out, gpu, *matrix, row);
  }
  return out.Take();
}

}  // namespace muster::nvidia_smi
