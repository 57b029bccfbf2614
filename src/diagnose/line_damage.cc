#include "diagnose/line_damage.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

// Columns that two blanks or more part.
size_t WideColumns(std::string_view line) {
  size_t columns = 0;
  for (size_t i = 0; i < line.size(); ++i)
    if (line[i] != ' ' && (i == 0 || (line[i - 1] == ' ' && (i == 1 || line[i - 2] == ' '))))
      ++columns;
  return columns;
}

}  // namespace

bool LostItsKey(std::string_view line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return false;
  if (Contains(line, "kernel: : ")) return true;
  // "ice 0000:17:00.0 : NIC": the interface behind the address is gone.
  for (const std::string_view function : {".0 : ", ".1 : "})
    if (const size_t pci = line.find(function);
        pci != std::string_view::npos && pci >= 7 && line[pci - 3] == ':' && line[pci - 6] == ':')
      return true;
  if (line[at] == '[') {  // a time, as the kernel and dmesg -T print it
    const size_t end = line.find(']', at);
    if (end == std::string_view::npos || end + 2 >= line.size() || end == at + 1) return false;
    if (line[end - 1] < '0' || line[end - 1] > '9') return false;
    at = end + 2;
  }
  return line[at] == ':' && at + 1 < line.size() &&
         std::string_view(" \t.").find(line[at + 1]) != std::string_view::npos;
}

bool PieceOfJson(std::string_view line) {
  const std::string_view text = Trim(line);
  if (text == "}" || text == "]" || text == "}," || text == "],") return true;
  return text.starts_with('"') && Contains(text, "\": ");
}

namespace {

// "Mon Nov 23 05:48:51 2026", which sinfo -l and squeue -l print above their headings.
bool Asctime(std::string_view line) {
  const auto words = SplitBlank(line);
  return words.size() == 5 && words[0].size() == 3 && words[1].size() == 3 &&
         std::count(words[3].begin(), words[3].end(), ':') == 2 && ParseInt(words[4]).ok();
}

// "kubectl get pods -n ml", pasted without its prompt: by chance it has as many words as a heading.
bool TypedCommand(std::string_view line) {
  static constexpr std::string_view kPrograms[] = {
      "kubectl", "oc",     "k",       "sinfo",      "squeue", "sacct", "scontrol",
      "docker",  "podman", "nerdctl", "crictl",     "helm",   "flux",  "argocd",
      "bjobs",   "qstat",  "ray",     "karmadactl", "watch",  "sudo",  "minikube"};
  const std::string_view first = line.substr(0, line.find(' '));
  return first.size() < line.size() &&
         std::find(std::begin(kPrograms), std::end(kPrograms), first) != std::end(kPrograms);
}

}  // namespace

bool SameShape(std::string_view heading, std::string_view line) {
  if (line.empty() || Asctime(line) || TypedCommand(line) ||
      line.find_first_of("#$") != std::string_view::npos)
    return false;
  if (line[0] == '|') return heading[0] == '|';  // of a drawn table
  const auto cells = [](std::string_view text) {
    const auto commas = Split(text, ',').size();
    return commas > 1 ? commas : SplitBlank(text).size();
  };
  // "NODE SELECTOR" is one head: where two blanks part the columns, those are counted.
  constexpr size_t kFew = 4;
  const size_t heads = WideColumns(heading);
  return cells(heading) == cells(line) || (heads >= kFew && heads == WideColumns(line));
}

}  // namespace muster::diagnose
