// The state of a lab: which cluster it plays, which faults are in it, since when. It is one small
// file in the lab's folder; everything a tool prints follows from it and the time, so two tools
// never contradict each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/state/ops.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/subject.h"
#include "world/files.h"

namespace muster::lab {

// One injected fault. `kind` is a name in FaultTable(); `on` is a subject of the kind the table
// asks for.
struct Fault {
  std::string kind;
  Subject on;
  TimePoint since;
  std::map<std::string, double> with;  // e.g. {"factor": 0.6}; the table's defaults where absent
  bool operator==(const Fault&) const = default;
};

// Where things stand in a cluster, by name, so that a tool over thousands of ports stays quick.
// Made by MakeLab and LoadLab.
struct LabIndex;

struct LabState {
  ClusterSpec spec;
  Cluster cluster;  // BuildCluster(spec), with the lab's serials and UUIDs filled in
  uint64_t seed = 1;
  TimePoint created;  // counters run from here
  std::vector<Fault> faults;
  std::string folder;  // where the lab keeps its files ("" in tests that need none)
  std::shared_ptr<const LabIndex> index;
  std::map<std::string, NodeOps, std::less<>> ops;  // by node; absent: nothing was done to it

  const Fault* Find(std::string_view kind, const Subject& on) const;
  bool Has(std::string_view kind, const Subject& on) const { return Find(kind, on) != nullptr; }
  // The fault of this kind on whatever subject, for fabric-wide and site-wide ones.
  const Fault* FindAny(std::string_view kind) const;
};

// What the lab calls the things that the cluster's parts list does not name.
inline constexpr std::string_view kLabSite = "lab", kLabFabric = "fabric", kLabGang = "train",
                                  kLabEndpoint = "openai";
// The driver that its nodes are made with.
inline constexpr std::string_view kLabDriver = "570.211.01";
std::vector<std::string> LabBudgets();                    // power, cooling, weight
std::vector<std::string> LabPdus(const LabState& state);  // pdu00.., one for each rack

LabState MakeLab(const ClusterSpec& spec, uint64_t seed, TimePoint now);
// <folder>/lab.json. Load checks the format version and every fault against the table.
Result<LabState> LoadLab(Files& files, const std::string& folder);
// The same of a text that was read; linear in the lab's nodes.
Result<LabState> ParseLab(const std::string& text, const std::string& folder);
inline constexpr uint64_t kMaxLabBytes = 16u << 20;
Status SaveLab(Files& files, const LabState& state);

// What a fault is, where it can be put, and what the gates must say of it (used by `lab faults` and
// by the exam).
struct FaultKind {
  std::string_view name;  // "link_down"
  SubjectKind on;         // what it is put on
  std::string_view what;  // one line for a person
  int gate;               // the first gate that must not pass; 0: only a runbook's checks see it
  SubjectKind suspect;    // the kind of the suspect that must be named first
  bool expect_unknown;    // the gate must be UNKNOWN rather than FAIL (hang, refusal, garbage)
  std::map<std::string, double> defaults;
  std::string_view source;  // where the fault and its signs are documented
};
const std::vector<FaultKind>& FaultTable();
const FaultKind* FindFaultKind(std::string_view name);
// A setting of a fault: as injected, else the table's default, else 0.
double Setting(const Fault& fault, std::string_view name);
// Every subject of the lab that this kind of fault can be put on; empty when the lab has none (no
// links, one node, ...).
std::vector<Subject> PossibleSubjects(const LabState& state, const FaultKind& kind);
// The suspects that would be right for a fault, best first: the subject itself, and what cannot be
// told apart from it.
std::vector<Subject> RightSuspects(const LabState& state, const Fault& fault);
// Whether naming `named` first is right: one of RightSuspects, or the only one of its kind there is
// (the site, the fabric, the gang), which a site file may call by another name than the lab does.
bool IsRightSuspect(const LabState& state, const Fault& fault, const Subject& named);
// A subject this kind of fault can be put on, chosen by the seed.
Subject SampleSubject(const LabState& state, const FaultKind& kind, uint64_t seed);
// kInvalid with the possible subjects when the fault cannot be put there. An empty id is fine where
// there is only one subject. `with` overrides the table's settings. A fault that is there already
// is renewed: its `since` becomes `now`.
Status Inject(LabState& state, std::string_view kind, std::string_view subject_id, TimePoint now,
              const std::map<std::string, double>& with = {});
// Takes faults out: of this kind ("" = any) on this subject ("" = any). Returns how many; none is
// kNotFound with what is there.
Result<int> Heal(LabState& state, std::string_view kind, std::string_view subject_id);

}  // namespace muster::lab
