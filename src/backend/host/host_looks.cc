// What is asked of a host about the object of an act, and how its answers are understood.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backend/host/act_details.h"
#include "base/strings.h"

namespace muster::host {

using namespace detail;

namespace {

constexpr std::string_view kFields =
    "index,pci.bus_id,uuid,persistence_mode,power.limit,ecc.mode.pending,mig.mode.current,"
    "ecc.errors.uncorrected.volatile.total,driver_version";
// The names of these columns in a fingerprint; "" = not kept.
constexpr std::array<std::string_view, 9> kColumns = {
    "",         "bus",         "uuid",  "persistence", "power_w", "ecc_pending",
    "mig_mode", "uncorrected", "driver"};

}  // namespace

std::vector<Words> QuestionsOf(const Action& action, const PackageNames& packages) {
  if (OfService(action.kind))
    return {{"systemctl", "show", Param(action, "unit"), "--property=LoadState",
             "--property=ActiveState", "--property=InvocationID"}};
  if (OfModule(action.kind)) {
    std::string name = Param(action, "module");
    std::replace(name.begin(), name.end(), '-', '_');
    // A module that was loaded anew has a new folder: another inode.
    return {{"find", "/sys/module", "-maxdepth", "1", "-name", name, "-printf", "%i\n"}};
  }
  if (OfGpu(action.kind)) {
    std::vector<Words> questions = {
        {"nvidia-smi", "--query-gpu=" + std::string(kFields), "--format=csv,noheader,nounits"}};
    if (action.kind == K::kMigSet || action.kind == K::kMigClear)
      questions.push_back({"nvidia-smi", "-L"});
    return questions;
  }
  if (action.kind == K::kFileWrite)
    return {{"/bin/sh", "-c", "if [ -e \"$1\" ]; then exec sha256sum <\"$1\"; else echo absent; fi",
             "sh", Param(action, "path")}};
  if (action.kind == K::kPackages) {
    Words words = {"dpkg-query", "-W", "-f=${Package}=${Version}=${db:Status-Abbrev}\n"};
    const auto pins = PinsOf(action, packages, "");
    if (!pins.ok() || pins->empty()) return {};
    for (const std::string& pin : *pins) words.push_back(NameOf(pin));
    // Ansible, or the host's own upgrade, may be in the middle of it: dpkg's lock is in
    // /proc/locks.
    return {words,
            {"cat", "/sys/module/nvidia/version"},
            {"/bin/sh", "-c",
             "i=$(stat -c %i /var/lib/dpkg/lock-frontend) && grep -q \":$i \" /proc/locks"}};
  }
  if (action.kind == K::kCommand) {
    Words words;
    const std::string text = Param(action, "probe_argv");
    for (const std::string_view word : SplitBlank(text)) words.emplace_back(word);
    return {words};
  }
  return {};
}

namespace {

tl::unexpected<Error> Unsaid(std::string_view what, const Answer& answer) {
  return Fail(
      Code::kUnavailable,
      fmt::format("{} (exit {}): {}", what, answer.exit_code,
                  Shorten(Printable(Trim(answer.err.empty() ? answer.out : answer.err)), 200)));
}

Result<Fingerprint> UnderstandUnit(const Answer& answer) {
  Fingerprint print;
  for (const std::string_view line : Lines(answer.out)) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    print["unit_" + std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  if (answer.exit_code != 0 || !print.contains("unit_ActiveState") ||
      !print.contains("unit_LoadState"))
    return Unsaid("systemctl does not say how the unit is", answer);
  if (print["unit_LoadState"] != "loaded")
    return Unsaid("the unit is " + Printable(print["unit_LoadState"]), answer);
  return print;
}

// The rows of nvidia-smi's answer, checked to be this node's GPUs.
Result<Fingerprint> UnderstandGpus(const Action& action, const Node& node, const Answer& answer) {
  if (answer.exit_code != 0) return Unsaid("nvidia-smi does not list the GPUs", answer);
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : Lines(answer.out)) {
    if (Trim(line).empty()) continue;
    std::vector<std::string> row;
    for (const std::string_view cell : Split(line, ',')) row.emplace_back(Trim(cell));
    if (row.size() != kColumns.size() || !ParseInt(row[0]).ok() || !IsWord(row[1], ":."))
      return Unsaid("nvidia-smi prints no list of GPUs", answer);
    rows.push_back(std::move(row));
  }
  const size_t slash = action.on.id.find("/gpu");
  if (slash != std::string::npos) {
    const auto index = ParseInt(action.on.id.substr(slash + 4));
    const Gpu* pinned = nullptr;
    for (const Gpu& gpu : node.gpus) {
      if (index.ok() && gpu.index == *index) pinned = &gpu;
    }
    if (pinned == nullptr)
      return Fail(Code::kUnavailable, fmt::format("the site has no {}", action.on.id));
    if (pinned->uuid.empty() && rows.size() != node.gpus.size())
      return Fail(Code::kUnavailable,
                  fmt::format("nvidia-smi lists {} of {} GPUs: indices may have shifted, and the "
                              "site pins no UUIDs",
                              rows.size(), node.gpus.size()));
    std::erase_if(rows, [&](const auto& row) {
      return pinned->uuid.empty() ? row[0] != std::to_string(pinned->index)
                                  : row[2] != pinned->uuid;
    });
  }
  if (rows.empty()) return Fail(Code::kUnavailable, "nvidia-smi does not list it");
  Fingerprint print;
  for (const auto& row : rows) {
    for (size_t i = 1; i < kColumns.size(); ++i) {
      std::string& list = print[std::string(kColumns[i])];
      list += (list.empty() ? "" : ";") + row[i];
    }
  }
  return print;
}

// "GPU 0: NAME (UUID: GPU-...)", then "  MIG 3g.20gb     Device  0: (UUID: MIG-...)" for each.
std::string MigOf(const std::string& list, const std::string& uuids) {
  std::string found, gpu;
  for (const std::string_view line : Lines(list)) {
    if (StartsWith(line, "GPU ")) {
      const size_t at = line.find("(UUID: ");
      gpu = at == std::string_view::npos
                ? ""
                : std::string(line.substr(at + 7, line.find(')') - at - 7));
      continue;
    }
    const auto words = SplitBlank(line);
    if (words.size() < 2 || words[0] != "MIG") continue;
    const auto all = Split(uuids, ';');
    if (std::find(all.begin(), all.end(), gpu) == all.end()) continue;
    found += fmt::format("{}{}={}", found.empty() ? "" : ";", gpu, words[1]);
  }
  return found;
}

}  // namespace

Result<Fingerprint> Understand(const Action& action, const Node& node,
                               const std::vector<Answer>& answers) {
  if (answers.empty()) return Fingerprint{};
  const Answer& first = answers.front();
  if (OfService(action.kind)) return UnderstandUnit(first);
  if (OfModule(action.kind)) {
    const std::string inode(Trim(first.out));
    if (first.exit_code != 0 || (!inode.empty() && !ParseInt(inode).ok()))
      return Unsaid("/sys/module does not say whether it is loaded", first);
    return Fingerprint{{"module", inode}};
  }
  if (OfGpu(action.kind)) {
    TRY(Fingerprint print, UnderstandGpus(action, node, first));
    if (answers.size() > 1) {
      if (answers[1].exit_code != 0) return Unsaid("nvidia-smi -L fails", answers[1]);
      print["mig"] = MigOf(answers[1].out, At(print, "uuid"));
    }
    return print;
  }
  if (action.kind == K::kFileWrite) {
    const auto words = SplitBlank(first.out);
    if (first.exit_code != 0 || words.empty()) return Unsaid("the file cannot be read", first);
    return Fingerprint{{"sha256", std::string(words[0])}};
  }
  if (action.kind == K::kPackages) {
    // 1: one of them is not known to dpkg; the others are listed.
    if (first.exit_code > 1) return Unsaid("dpkg does not say what is installed", first);
    Fingerprint print{{"versions", ""}};
    for (const std::string_view line : Lines(first.out)) {
      const auto cells = Split(line, '=');
      // What is wanted (i: to be installed, h: held), then what is so (i: installed).
      if (cells.size() != 3 || cells[2].size() < 2 || cells[2][1] != 'i') continue;
      print["versions"] += fmt::format("{}={};", cells[0], cells[1]);
    }
    if (answers.size() > 1 && answers[1].exit_code == 0)
      print["driver"] = std::string(Trim(answers[1].out));
    if (answers.size() > 2 && answers[2].exit_code == 0) print["dpkg"] = "at work";
    return print;
  }
  // A site's own command: 0 yes, 1 no, all else is not known.
  return Fingerprint{{"probe", std::to_string(first.exit_code)}};
}

}  // namespace muster::host
