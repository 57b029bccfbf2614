// Outputs of tools behind what a job runner puts before every line, whatever stands between them:
// "[1,0]<stdout>:", "0: ", "gpu01: ". Each label has at most one open section.
#include "diagnose/reader_state.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

constexpr size_t kMostLabels = 4096;

// A label without the blank that an empty line's lacks.
std::string Key(std::string_view label) {
  while (!label.empty() && label.back() == ' ') label.remove_suffix(1);
  while (!label.empty() && label.front() == ' ') label.remove_prefix(1);
  return std::string(label);
}

}  // namespace

// True when the line is one more of the output that its label has open.
bool Reader::State::BelongsBehind(std::string_view line) {
  const RunnerPrefix prefix = ReadRunnerPrefix(line);
  if (prefix.label.empty()) return false;
  std::string label = Key(prefix.label);
  const auto open = ranks.find(label);
  if (open == ranks.end() || open->second.parted) return false;
  line.remove_prefix(prefix.label.size());
  Section& whole = open->second.section;
  if (const SectionKind& is = *open->second.kind; !is.belongs(line)) {
    open->second.parted = is.whole != nullptr && !is.whole(whole.text);
    if (!open->second.parted) CloseBehind(label, false);
    return false;
  }
  if (whole.text.size() + line.size() >= Section::kMostBytes) {
    AddDamage(whole, evidence.facts, "longer than is read");
    CloseBehind(label, true);
    return false;
  }
  whole.Add(line, number);
  behind = open->second.kind;
  last_label = std::move(label);
  return true;
}

// True when the line, without its prefix, is the first of the tool's output.
bool Reader::State::BeginsBehind(const SectionKind& found, std::string_view line) {
  const RunnerPrefix prefix = ReadRunnerPrefix(line);
  if (prefix.label.empty()) return false;
  const std::string_view said = line.substr(prefix.label.size());
  if (behind != nullptr && (behind->name == found.name || behind->name == "nccl-tests"))
    return false;
  if (said.empty() || !found.begins(said)) return false;
  std::string label = Key(prefix.label);
  const auto open = ranks.find(label);
  if (open != ranks.end() && open->second.parted && open->second.kind->GoesOnIn(found)) {
    open->second.parted = false;
    open->second.section.Add(said, number);
    behind = open->second.kind;
    last_label = std::move(label);
    return true;
  }
  CloseBehind(label, false);
  if (ranks.size() >= kMostLabels) {
    AddDamage({file, number, "", heading_host, false}, evidence.facts,
              "more ranks or hosts at once than are read");
    return false;
  }
  ranks[label] = {&found,
                  {file,
                   number,
                   std::string(said) + "\n",
                   prefix.host.empty() ? heading_host : prefix.host,
                   false,
                   {number}}};
  behind = &found;
  last_label = std::move(label);
  Know(found.name, 1, found.proves);
  return true;
}

void Reader::State::CloseBehind(const std::string& label, bool cut) {
  const auto open = ranks.find(label);
  if (open == ranks.end()) return;
  open->second.section.cut = cut;
  open->second.kind->read(open->second.section, evidence.facts);
  ranks.erase(open);
}

// The end of the file: `cut` is of its last line.
void Reader::State::CloseAllBehind(bool cut) {
  while (!ranks.empty()) {
    const std::string label = ranks.begin()->first;
    CloseBehind(label, cut && label == last_label);
  }
  last_label.clear();
  behind = nullptr;
}

}  // namespace muster::diagnose
