// How GPUs reach each other: nvidia-smi topo -m, nvlink -s and -e, dcgmi nvlink -s.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "probes/nvidia_smi/topo.h"

namespace muster::diagnose {

namespace {

void ReadTopoText(const Section& s, FactStore& facts) {
  const auto topo = nvidia_smi::ReadTopo(s.text);
  if (!topo.ok()) return AddDamage(s, facts, "nvidia-smi topo -m: " + topo.error().message);
  // A GPU whose neighbours it reaches by NVLink except one, or none where others do.
  std::map<std::string, std::pair<int, int>> links;  // GPU -> NV cells, other cells to GPUs
  for (const auto& row : topo->rows) {
    if (!row.name.starts_with("GPU")) continue;
    for (size_t i = 0; i < row.cells.size() && i < topo->devices.size(); ++i) {
      if (!topo->devices[i].starts_with("GPU") || row.cells[i] == "X") continue;
      ++(row.cells[i].starts_with("NV") ? links[row.name].first : links[row.name].second);
    }
  }
  int with = 0;
  for (const auto& [name, counts] : links) with += counts.first > 0 ? 1 : 0;
  for (const auto& [name, counts] : links)
    if (counts.first == 0 && with >= 2)
      facts.Add(s.Make("nvlink.topology_gap", {{"gpu", name.substr(3)}}, s.Where(name + "\t"),
                       fmt::format("{} reaches no GPU by NVLink; {} others do", name, with)));
}

// "Link 3: <inactive>", "Link 3: 25.781 GB/s".
bool NvlinkRow(std::string_view line) {
  const auto words = SplitBlank(line);
  return words.size() >= 3 && words[0] == "Link" && words[1].ends_with(':') &&
         ParseInt(words[1].substr(0, words[1].size() - 1)).ok() &&
         (words[2] == "<inactive>" || words.back() == "GB/s");
}

constexpr std::string_view kSoldered[] = {"SXM", "HBM3", "H200", "B200", "B300"};

void ReadNvlinkText(const Section& s, FactStore& facts) {
  std::string gpu;
  std::string_view model;  // the line that names it
  size_t offset = 0;
  std::map<std::string, int> active, listed;
  std::map<std::string, std::set<std::string>> rates;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const auto words = SplitBlank(line);
    if (words.size() >= 2 && words[0] == "GPU") {
      gpu = words[1].substr(0, words[1].find(':'));
      listed.try_emplace(gpu, 0);
      model = line;
    } else if (line.starts_with("NVML: ") && Contains(line, "all links are in")) {
      // Where NVLink is soldered this is a fault; a card of the PCIe form may have no bridge.
      ++listed[gpu];
      const bool soldered = !Contains(model, "PCIe") && !Contains(model, " NVL") &&
                            std::any_of(std::begin(kSoldered), std::end(kSoldered),
                                        [&](std::string_view m) { return Contains(model, m); });
      facts.Add(s.Make(soldered ? "nvlink.inactive" : "nvlink.all_inactive", {{"gpu", gpu}},
                       s.At(at), line));
    } else if (words.size() >= 3 && words[0] == "Link") {
      ++listed[gpu];
      const std::string link(words[1].substr(0, words[1].find(':')));
      if (Contains(line, "inactive")) {
        facts.Add(s.Make("nvlink.inactive", {{"gpu", gpu}, {"link", link}}, s.At(at), line));
      } else if (Contains(line, "GB/s")) {
        if (link != std::to_string(listed[gpu] - 1))
          AddDamage(s, facts, "nvlink: links are missing or not in order");
        ++active[gpu];
        rates[gpu].insert(std::string(words[2]));
        if (words[2] == "0" || words[2] == "0.000")
          facts.Add(s.Make("nvlink.inactive", {{"gpu", gpu}, {"link", link}}, s.At(at), line));
      } else if (Contains(line, "Error") && words.back() != "0") {
        const bool number = ParseInt(words.back()).ok();
        if (number)
          facts.Add(s.Make("counter.sample",
                           {{"device", "GPU " + gpu},
                            {"port", link},
                            {"name", fmt::format("nvlink {}", words[2])},
                            {"value", std::string(words.back())},
                            {"max", "0"},
                            {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                           s.At(at), line));
      }
    }
  }
  for (const auto& [name, seen] : rates)
    if (seen.size() > 1)
      facts.Add(s.Make("nvlink.uneven", {{"gpu", name}}, s.At(0),
                       fmt::format("GPU {}: links of {} different rates", name, seen.size())));
  const bool any = std::any_of(listed.begin(), listed.end(),
                               [](const auto& gpu_lines) { return gpu_lines.second > 0; });
  // nvidia-smi -L: machines have one GPU or an even number of them.
  if (!any && listed.size() > 1 && listed.size() % 2 == 1)
    facts.Add(s.Make("gpu.odd_number", {{"value", std::to_string(listed.size())}}, s.At(0),
                     fmt::format("{} GPUs are listed", listed.size())));
  for (const auto& [name, count] : listed)
    if (any && count == 0) AddDamage(s, facts, "nvlink: GPU " + name + " has no line");
  for (const std::string_view line : Lines(s.text))
    if (line.starts_with("GPU ") ? !line.ends_with(")") : line.starts_with("G"))
      AddDamage(s, facts, "nvlink: a heading cannot be read");
  int most = 0, longest = 0;
  for (const auto& [g, count] : active) most = std::max(most, count);
  for (const auto& [g, count] : listed) longest = std::max(longest, count);
  // The tool lists every link of a GPU, active or not: a shorter list was cut.
  for (const auto& [g, count] : listed)
    if (count > 0 && count < longest)
      AddDamage(s, facts,
                fmt::format("nvlink: GPU {} lists {} links, others {}: the list is cut", g, count,
                            longest));
  for (const auto& [g, count] : listed)
    if (count == longest && active.contains(g) && active[g] < most)
      facts.Add(
          s.Make("nvlink.fewer",
                 {{"gpu", g}, {"value", std::to_string(active[g])}, {"max", std::to_string(most)}},
                 s.At(0), fmt::format("GPU {}: {} active NVLinks, others {}", g, active[g], most)));
}

// The rows of "U U D X _" below "gpuId 3:" of dcgmi nvlink -s. Ports of an NVSwitch that nothing is
// plugged into are D as well: only those of GPUs are judged.
void ReadDcgmiNvlink(const Section& s, FactStore& facts) {
  std::string gpu;
  size_t offset = 0;
  std::map<std::string, int> up;  // of each GPU
  std::vector<Fact> down;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const auto words = SplitBlank(line);
    if (words.empty()) continue;
    if (gpu == "-") {
      if (words[0] == "gpuId") AddDamage(s, facts, "dcgmi nvlink -s: a GPU after the table's end");
      continue;
    }
    if (words[0] == "gpuId" && words.size() == 2 && words[1].ends_with(':')) {
      gpu = words[1].substr(0, words[1].size() - 1);
      up.try_emplace(gpu, -1);
      continue;
    }
    if (line.starts_with("NvSwitches") || line.starts_with("Key")) gpu = "-";
    if (gpu.empty() || gpu == "-") continue;
    up[gpu] = std::max(up[gpu], 0);
    for (size_t link = 0; link < words.size(); ++link) {
      if (words[link] == "U") ++up[gpu];
      if (words[link] == "D")
        down.push_back(s.Make("nvlink.inactive", {{"gpu", gpu}, {"link", std::to_string(link)}},
                              s.At(at), fmt::format("gpuId {}: {}", gpu, Trim(line))));
      else if (words[link] != "U" && words[link] != "X" && words[link] != "_")
        AddDamage(s, facts, fmt::format("dcgmi nvlink -s: '{}' is no state", words[link]));
    }
  }
  const bool none = std::none_of(up.begin(), up.end(), [](const auto& g) { return g.second > 0; });
  for (const auto& [name, count] : up)
    if (count < 0) AddDamage(s, facts, "dcgmi nvlink -s: GPU " + name + " has no row");
  for (Fact& fact : down) {
    // Down everywhere: cards without a bridge look like that too.
    if (none) fact.id = "nvlink.all_inactive";
    facts.Add(std::move(fact));
  }
}

constexpr std::array kNvlink = {
    SectionKind{
        "dcgmi nvlink", "gpuid ",
        [](std::string_view l) { return Trim(l).starts_with("gpuId ") && Trim(l).ends_with(':'); },
        [](std::string_view l) {
          return Indented(l) || l.starts_with("NvSwitches") || l.starts_with("Key");
        },
        ReadDcgmiNvlink},
    SectionKind{"nvidia-smi topo -m", "cpu affinity",
                [](std::string_view l) { return Contains(l, "GPU0"); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("GPU") || l.starts_with("NIC") ||
                         l.starts_with("mlx") || l.starts_with("Legend");
                },
                ReadTopoText},
    SectionKind{"nvidia-smi nvlink",
                "(uuid: ", [](std::string_view l) { return l.starts_with("GPU "); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("G") || l.starts_with("NVML: ");
                },
                ReadNvlinkText},
    SectionKind{"nvidia-smi nvlink", ": <inactive>", NvlinkRow,
                [](std::string_view l) { return Indented(l) || NvlinkRow(l); }, ReadNvlinkText},
    SectionKind{"nvidia-smi nvlink", "gb/s", NvlinkRow,
                [](std::string_view l) { return Indented(l) || NvlinkRow(l); }, ReadNvlinkText},
};

}  // namespace

std::span<const SectionKind> NvlinkSections() { return kNvlink; }

}  // namespace muster::diagnose
