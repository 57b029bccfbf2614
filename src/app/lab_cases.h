// What a person does to a lab: faults in and out, a command on a host, the exam.
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"

namespace muster {

struct LabFaultInfo {
  std::string name, on, what, source;
  int gate = 0;
};
std::vector<LabFaultInfo> LabFaults();

// `site_file` of a lab site. `on` may be empty where the fault has only one place, or any place
// will do (chosen by the seed). Returns the subject it was put on.
Result<Subject> LabInject(World& world, const std::string& site_file, const std::string& fault,
                          const std::string& on);
// Takes out one kind of fault (on one subject, when given), or all of them when `fault` is empty.
// Returns how many.
Result<size_t> LabHeal(World& world, const std::string& site_file, const std::string& fault,
                       const std::string& on);
// A job of the lab. `checkpoint_every` 0: it never writes a durable checkpoint.
struct LabJobOptions {
  std::string id, owner = "team-a";
  std::vector<std::string> nodes;
  int gpus = 1;
  Duration checkpoint_every{}, since{};
};
Status LabStartJob(World& world, const std::string& site_file, const LabJobOptions& job);
struct LabJobNow {
  std::string id, owner;
  std::vector<std::string> nodes;
  int attempt = 1;
  Duration checkpoint_every{};
  std::optional<TimePoint> durable_at;
  bool ended = false;
};
Result<std::vector<LabJobNow>> LabJobsNow(World& world, const std::string& site_file);
// Acts of this kind go wrong on this node; "" takes it back. kInvalid for an act or a way that
// there is not.
Status LabSpoil(World& world, const std::string& site_file, const std::string& node,
                const std::string& act, const std::string& how);
struct LabFaultNow {
  std::string kind;
  Subject on;
  TimePoint since;
};
Result<std::vector<LabFaultNow>> LabFaultsNow(World& world, const std::string& site_file);
// Runs a command on a lab host, as a probe would.
Result<CommandResult> LabExec(World& world, const std::string& site_file, const std::string& host,
                              const std::vector<std::string>& argv, const std::string& self_binary);

// The exam: every fault in turn, and a sample of pairs; for each the first gate that did not pass
// and the first suspect.
struct ExamCase {
  std::vector<std::string> faults;  // "link_down on link leaf00/5--..."
  int expected_gate = 0, first_gate = 0;
  Level level = Level::kUnknown;
  std::string suspect;  // named first
  bool false_pass = false, right_gate = false, right_suspect = false;
};
struct ExamResult {
  std::vector<ExamCase> cases;
  size_t false_passes = 0;
  double right_gate = 0, right_suspect = 0;  // fractions
  Duration took{};
};
struct ExamOptions {
  uint64_t seed = 1;
  int nodes = 4;
  int pairs = 30;
  std::vector<std::string> only;  // fault names; empty = all
  std::string folder;             // where the exam's lab lives; removed afterwards
  std::string self_binary;
};
Result<ExamResult> LabExam(World& world, const ExamOptions& options, Progress& progress);

}  // namespace muster
