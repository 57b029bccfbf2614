// Tables of `kubectl get` for objects that are no pods and no nodes: what their columns of state
// say, row by row. A state that is not on record is a question, never health.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/columns.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// What kind of object a table is of, by a head that only it has; `of` is where its faults lie.
struct ObjectKind {
  std::string_view head, kind, of;
};

constexpr std::array kKinds = {
    ObjectKind{"UP-TO-DATE", "Deployment", "set"},
    ObjectKind{"COMPLETIONS", "Job", "job"},
    ObjectKind{"TERMINALSTATE", "JobSet", "job"},
    ObjectKind{"MINAVAILABLE", "Volcano job", "job"},
    ObjectKind{"JOB STATUS", "RayJob", "job"},
    ObjectKind{"STATE", "training job", "job"},
    ObjectKind{"MINMEMBER", "PodGroup", "queue"},
    ObjectKind{"RESERVED IN", "Workload", "queue"},
    ObjectKind{"PENDING WORKLOADS", "ClusterQueue", "queue"},
    ObjectKind{"RECLAIM POLICY", "PersistentVolume", "storage"},
    ObjectKind{"ACCESS MODES", "PersistentVolumeClaim", "storage"},
    ObjectKind{"ATTACHED", "VolumeAttachment", "storage"},
    ObjectKind{"MONCOUNT", "CephCluster", "storage"},
    ObjectKind{"LATESTREADYREVISION", "InferenceService", "inference"},
    ObjectKind{"URL", "InferenceService", "inference"},
    ObjectKind{"DESIRED WORKERS", "RayCluster", "platform"},
    ObjectKind{"DESIRED SYNC STATE", "SriovNetworkNodeState", "nic"},
    ObjectKind{"NODENAME", "Machine", "node"},
    ObjectKind{"SYNC STATUS", "Argo CD application", "platform"},
    ObjectKind{"SECRET", "Certificate", "platform"},
    ObjectKind{"SERVICE", "APIService", "platform"},
    ObjectKind{"ERROR", "ComponentStatus", "platform"},
    ObjectKind{"SUSPENDED", "Flux object", "platform"},
};

// Columns that say how an object is; `blank` of those that are empty until all is well.
struct StateColumn {
  std::string_view head;
  bool blank_waits = false;
};

constexpr std::array kStates = {
    StateColumn{"READY", true},     StateColumn{"STATUS"},         StateColumn{"STATE"},
    StateColumn{"PHASE"},           StateColumn{"HEALTH"},         StateColumn{"HEALTH STATUS"},
    StateColumn{"SYNC STATUS"},     StateColumn{"JOB STATUS"},     StateColumn{"ADMITTED", true},
    StateColumn{"AVAILABLE", true}, StateColumn{"ATTACHED", true}, StateColumn{"DEPLOYMENT STATUS"},
    StateColumn{"TERMINALSTATE"},   StateColumn{"COMPLETIONS"},    StateColumn{"PENDING WORKLOADS"},
};

constexpr std::array<std::string_view, 24> kGood = {
    "ready",     "running",    "succeeded", "completed", "complete",    "active",
    "bound",     "healthy",    "synced",    "true",      "deployed",    "available",
    "health_ok", "registered", "ok",        "idle",      "provisioned", "established",
    "enabled",   "finished",   "created",   "valid",     "superseded",  "ignored"};
constexpr std::array<std::string_view, 14> kBad = {
    "failed",   "error",      "aborted", "degraded", "unhealthy", "health_err",       "lost",
    "notready", "terminated", "invalid", "missing",  "faulted",   "crashloopbackoff", "not_ready"};

template <size_t N>
bool Holds(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

// "2/3" as what is there of what is wanted.
bool Short(std::string_view value) {
  const size_t slash = value.find('/');
  if (slash == std::string_view::npos) return false;
  const auto there = ParseInt(value.substr(0, slash)), wanted = ParseInt(value.substr(slash + 1));
  return !there.ok() || !wanted.ok() || *there < *wanted;
}

// "good", "bad", "waits"; of a value that is not on record "unclear".
std::string_view Level(std::string_view head, std::string_view value, std::string_view of) {
  const std::string word = ToLower(value.substr(0, value.find_first_of(" (")));
  if (head == "PENDING WORKLOADS") return word == "0" ? "good" : "waits";
  if (head == "COMPLETIONS") return "good";  // a job that runs has not completed
  if (value.find('/') != std::string_view::npos) return Short(value) ? "bad" : "good";
  if (const auto number = ParseInt(word); number.ok()) return *number > 0 ? "good" : "waits";
  if (Holds(kGood, word)) return "good";
  if (Holds(kBad, word)) return "bad";
  if (word == "false") return of == "queue" || of == "storage" ? "waits" : "bad";
  return word == "unknown" || word == "pending" || word == "inqueue" || word == "suspended" ||
                 word == "outofsync" || word == "health_warn" || word == "released"
             ? "waits"
             : "unclear";
}

const ObjectKind& KindOf(const Columns& columns) {
  static constexpr ObjectKind kOther{"", "object", "platform"}, kSet{"", "StatefulSet", "set"};
  if (columns.heads.size() == 3 && columns.Has("READY") && columns.Has("AGE")) return kSet;
  for (const ObjectKind& kind : kKinds)
    for (const auto& [head, at] : columns.heads)
      if (head == kind.head) return kind;
  return kOther;
}

void ReadObjects(const Section& s, FactStore& facts) {
  const auto lines = Lines(s.text);
  const Columns columns = HeadsOf(lines.front());
  const ObjectKind& kind = KindOf(columns);
  size_t rows = 0;
  for (size_t n = 1; n < lines.size(); ++n) {
    if (Trim(lines[n]).empty()) continue;
    ++rows;
    const std::string name = columns.CellOf(lines[n], "NAME");
    const std::string age = columns.CellOf(lines[n], "AGE");
    const bool young = !age.empty() && !IsLongAge(age);
    for (const StateColumn& column : kStates) {
      if (!columns.Has(column.head)) continue;
      const std::string value = columns.CellOf(lines[n], column.head);
      std::string_view level = value.empty() ? (column.blank_waits ? "waits" : "good")
                                             : Level(column.head, value, kind.of);
      if (level == "good") continue;
      // What was made a moment ago may still start.
      if (level == "bad" && young && (Short(value) || ToLower(value) == "false")) level = "waits";
      facts.Add(s.Make("kube.row",
                       {{"kind", std::string(kind.kind)},
                        {"of", std::string(kind.of)},
                        {"name", name},
                        {"column", std::string(column.head)},
                        {"value", value.empty() ? "empty" : value},
                        {"level", std::string(level)}},
                       Place{s.file, s.first_line + n}, lines[n]));
    }
  }
  if (rows == 0) AddDamage(s, facts, "a table without rows");
}

// Pods, nodes and daemon sets have readers of their own.
bool BeginsObjects(std::string_view line) {
  const std::string_view text = Trim(line);
  if (!text.starts_with("NAME")) return false;
  const Columns columns = HeadsOf(line);
  if (columns.heads.size() < 3 || !columns.Has("NAME")) return false;
  for (const std::string_view other : {"RESTARTS", "ROLES", "CURRENT", "CLUSTER-IP", "VERSION"})
    if (columns.Has(other) && columns.Has("READY") + columns.Has("STATUS") > 0 &&
        !columns.Has("TERMINALSTATE") && !columns.Has("NODENAME"))
      return false;
  return std::any_of(kStates.begin(), kStates.end(),
                     [&](const StateColumn& column) { return columns.Has(column.head); });
}

bool ObjectRow(std::string_view line) { return !Trim(line).empty() && line[0] != '$'; }

constexpr std::array kObjects = {
    SectionKind{"kubectl get", " age", BeginsObjects, ObjectRow, ReadObjects, true},
    SectionKind{"kubectl get", "sync status", BeginsObjects, ObjectRow, ReadObjects, true},
    SectionKind{"kubectl get", "message", BeginsObjects, ObjectRow, ReadObjects, true},
    SectionKind{"kubectl get", "pending workloads", BeginsObjects, ObjectRow, ReadObjects, true},
};

}  // namespace

std::span<const SectionKind> ObjectSections() { return kObjects; }

}  // namespace muster::diagnose
