// Tables of kubectl and Slurm. What they say in words (reasons, messages) is matched line by line
// by the catalogue; here is what needs the columns: a gang that is half placed, nodes that are
// away.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/columns.h"
#include "diagnose/heading.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// "train" of "train-0", "train-7ttc7", "ns/train-worker-3": a gang is told by what its names share.
std::string GangOf(std::string_view pod) {
  const size_t dash = pod.rfind('-');
  return std::string(dash == std::string_view::npos ? pod : pod.substr(0, dash));
}

// "0/1" of a pod that runs; "77 (2m ago)": five restarts in a pod's life, or one in this hour.
void LooksAtRunningPod(const Section& s, std::span<const std::string_view> cells, Place at,
                       std::string_view line, FactStore& facts) {
  const std::string name(cells[0]);
  const size_t slash = cells[1].find('/');
  if (slash != std::string_view::npos && cells[1].substr(0, slash) != cells[1].substr(slash + 1))
    facts.Add(s.Make("pod.unready", {{"pod", name}, {"ready", std::string(cells[1])}}, at, line));
  const auto restarts = ParseInt(cells[3]);
  if (!restarts.ok() || *restarts == 0) return;
  const bool this_hour = cells.size() > 5 && cells[5] == "ago)" && StartsWith(cells[4], "(") &&
                         cells[4].find_first_of("dhy") == std::string_view::npos;
  if (*restarts >= 5 || this_hour)
    facts.Add(
        s.Make("pod.restarting", {{"pod", name}, {"count", std::string(cells[3])}}, at, line));
}

void ReadPods(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  const Columns columns = HeadsOf(lines.front());
  struct Gang {
    int running = 0, pending = 0, creating = 0;
    bool long_pending = false, long_creating = false;
    std::string line;
  };
  std::map<std::string, Gang> gangs;
  size_t number = 0;
  for (const std::string_view line : lines) {
    if (number++ == 0 || Trim(line).empty()) continue;
    const auto words = SplitBlank(line);
    if (words.size() < 4) continue;
    const size_t name_at = columns.heads.front().first == "NAMESPACE" ? 1 : 0;
    const std::string name(words[name_at]);
    const std::string status(words[name_at + 2]);
    const Place at{s.file, s.first_line + number - 1};
    Gang& gang = gangs[GangOf(name)];
    if (status == "Running") {
      ++gang.running;
      LooksAtRunningPod(s, std::span(words).subspan(name_at), at, line, facts);
    }
    const bool pending = status == "Pending";
    if (pending || status == "ContainerCreating" || StartsWith(status, "Init:")) {
      ++(pending ? gang.pending : gang.creating);
      gang.line = line;
      if (IsLongAge(columns.Cell(line, "AGE")))
        (pending ? gang.long_pending : gang.long_creating) = true;
      facts.Add(s.Make("pod.waits", {{"pod", name}}, at, line));
    }
    facts.Add(
        s.Make("pod.status",
               {{"pod", name}, {"status", status}, {"restarts", std::string(words[name_at + 3])}},
               at, line));
  }
  if (gangs.empty()) AddDamage(s, facts, "a table without rows");
  for (const auto& [name, gang] : gangs) {
    if (gang.running > 0 && gang.pending + gang.creating > 0)
      facts.Add(s.Make("pod.gang_partial",
                       {{"gang", name},
                        {"running", std::to_string(gang.running)},
                        {"pending", std::to_string(gang.pending + gang.creating)}},
                       s.Where(gang.line), gang.line));
    else if (gang.pending > 1 || gang.long_pending)
      facts.Add(s.Make("pod.gang_pending",
                       {{"gang", name}, {"pending", std::to_string(gang.pending)}},
                       s.Where(gang.line), gang.line));
    else if (gang.long_creating)  // placed long ago: the node is at it, and not the scheduler
      facts.Add(s.Make("pod.creating", {{"gang", name}}, s.Where(gang.line), gang.line));
  }
}

void ReadNodes(const Section& s, FactStore& facts) {
  size_t rows = 0;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 4 || words[0] == "NAME") continue;
    ++rows;
    facts.Add(s.Make("kube.node",
                     {{"host", std::string(words[0])}, {"status", std::string(words[1])}},
                     s.Where(line), line));
  }
  if (rows == 0) AddDamage(s, facts, "a table without rows");
}

// A daemon set, deployment or stateful set of which not all pods are ready.
void ReadDaemonSets(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  const auto heads = SplitBlank(lines.front());
  const auto column = [&](std::string_view name) {
    return static_cast<size_t>(std::find(heads.begin(), heads.end(), name) - heads.begin());
  };
  const size_t name = column("NAME"), desired = column("DESIRED"), ready = column("READY");
  if (lines.size() < 2) AddDamage(s, facts, "a table without rows");
  const size_t widest = std::max({name, desired, ready});
  if (widest == heads.size()) return AddDamage(s, facts, "a table without one of its columns");
  for (size_t n = 1; n < lines.size(); ++n) {
    const auto words = SplitBlank(lines[n]);
    if (words.size() <= widest) continue;
    const auto wanted = ParseInt(words[desired]), have = ParseInt(words[ready]);
    if (!wanted.ok() || !have.ok())
      AddDamage(s, facts, "kubectl get daemonsets: a row that cannot be read");
    else if (*wanted == 0)
      facts.Add(s.Make("kube.set_empty", {{"what", std::string(words[name])}},
                       {s.file, s.first_line + n}, lines[n]));
    else if (*have < *wanted)
      facts.Add(s.Make("kube.set_unready",
                       {{"what", std::string(words[name])},
                        {"ready", std::to_string(*have)},
                        {"desired", std::to_string(*wanted)}},
                       {s.file, s.first_line + n}, lines[n]));
  }
}

std::string FieldOf(std::string_view text, std::string_view key) {
  const std::string mark = std::string(key) + "=";
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n' && text[at - 1] != '\t') continue;
    std::string_view rest = text.substr(at + mark.size());
    const size_t end = key == "Reason" ? rest.find_first_of("\n[") : rest.find_first_of(" \n\t");
    return std::string(Trim(rest.substr(0, end)));
  }
  return "";
}

void ReadScontrolNodes(const Section& s, FactStore& facts) {
  size_t at = 0;
  while (at < s.text.size()) {
    size_t next = s.text.find("\nNodeName=", at + 1);
    if (next == std::string::npos) next = s.text.size();
    const std::string_view record = std::string_view(s.text).substr(at, next - at);
    const std::string name = FieldOf(record, "NodeName"), state = FieldOf(record, "State");
    const size_t state_at = record.find("State=");
    if (name.empty() || state.empty()) AddDamage(s, facts, "scontrol: a node without its state");
    if (!name.empty() && !state.empty())
      facts.Add(s.Make(
          "slurm.node", {{"host", name}, {"state", state}, {"reason", FieldOf(record, "Reason")}},
          s.At(at + (state_at == std::string_view::npos ? 0 : state_at)),
          fmt::format("NodeName={} State={} Reason={}", name, state, FieldOf(record, "Reason"))));
    at = next == s.text.size() ? next : next + 1;
  }
}

void ReadSinfo(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  const std::string_view head = lines.front();
  const auto heads = SplitBlank(head);
  const auto index_of = [&](std::string_view name) {
    for (size_t i = 0; i < heads.size(); ++i)
      if (heads[i] == name) return static_cast<int>(i);
    return -1;
  };
  const int state = index_of("STATE"), nodes = index_of("NODELIST"), job = index_of("JOBID");
  const int reason = index_of("REASON"), avail = index_of("AVAIL");
  const Columns columns = HeadsOf(head);
  if (job < 0 && lines.size() < 2) AddDamage(s, facts, "a table without rows");
  for (size_t n = 1; n < lines.size(); ++n) {
    const auto words = SplitBlank(lines[n]);
    const Place at{s.file, s.first_line + n};
    if (job >= 0) {  // squeue
      const int st = index_of("ST");
      if (st >= 0 && words.size() > static_cast<size_t>(std::max(st, job)))
        facts.Add(s.Make("slurm.job_state",
                         {{"job", std::string(words[static_cast<size_t>(job)])},
                          {"state", std::string(words[static_cast<size_t>(st)])}},
                         at, lines[n]));
      const size_t open = lines[n].rfind('('), close = lines[n].rfind(')');
      if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        continue;
      if (words.size() > static_cast<size_t>(job))
        facts.Add(s.Make("slurm.job",
                         {{"job", std::string(words[static_cast<size_t>(job)])},
                          {"reason", std::string(lines[n].substr(open + 1, close - open - 1))}},
                         at, lines[n]));
      continue;
    }
    // A reason has blanks: what stands behind it is counted from the end.
    const auto word = [&](int column) {
      const size_t after = heads.size() - static_cast<size_t>(column);
      return std::string(words[reason >= 0 && reason < column ? words.size() - after
                                                              : static_cast<size_t>(column)]);
    };
    if (avail > 0 && words.size() > static_cast<size_t>(avail) && word(avail) != "up")
      facts.Add(s.Make("slurm.partition", {{"name", std::string(words[0])}, {"state", word(avail)}},
                       at, lines[n]));
    if (state >= 0 && nodes >= 0 && words.size() >= heads.size())
      facts.Add(s.Make("slurm.node",
                       {{"host", word(nodes)},
                        {"state", word(state)},
                        {"reason", columns.Cell(lines[n], "REASON")}},
                       at, lines[n]));
    else if (state < 0 && nodes >= 0 && reason >= 0 && words.size() >= 2)
      // sinfo -R and --list-reasons: these nodes are out, whichever columns were asked for.
      facts.Add(s.Make("slurm.node",
                       {{"host", columns.Cell(lines[n], "NODELIST")},
                        {"state", "DRAIN"},
                        {"reason", columns.Cell(lines[n], "REASON")}},
                       at, lines[n]));
  }
}

bool TableRow(std::string_view line) { return !Trim(line).empty() && !IsPrompt(line); }

constexpr std::array kScheduler = {
    SectionKind{"kubectl get pods", "restarts",
                [](std::string_view l) {
                  return Contains(l, "NAME") && Contains(l, "READY") && Contains(l, "STATUS");
                },
                TableRow, ReadPods, true},
    SectionKind{"kubectl get nodes", "roles",
                [](std::string_view l) {
                  return l.starts_with("NAME") && Contains(l, "STATUS") && Contains(l, "VERSION");
                },
                TableRow, ReadNodes, true},
    SectionKind{"kubectl get daemonsets", "desired",
                [](std::string_view l) {
                  return Contains(l, "NAME") && Contains(l, "CURRENT") && Contains(l, "READY");
                },
                TableRow, ReadDaemonSets, true},
    SectionKind{"scontrol show node",
                "nodename=", [](std::string_view l) { return l.starts_with("NodeName="); },
                [](std::string_view l) {
                  return l.empty() || l[0] == ' ' || l[0] == '\t' || l.starts_with("NodeName=");
                },
                ReadScontrolNodes},
    SectionKind{"sinfo", "nodelist",
                [](std::string_view l) {
                  return Contains(l, "NODELIST") && !Contains(l, "=") &&
                         (Contains(l, "STATE") || Contains(l, "REASON") || Contains(l, "JOBID"));
                },
                TableRow, ReadSinfo, true},
};

}  // namespace

std::span<const SectionKind> SchedulerSections() { return kScheduler; }

}  // namespace muster::diagnose
