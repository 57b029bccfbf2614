// What became of each alert: an episode from the moment it was heard to its end, as records of a
// journal. The records are written by app/alerts/alert_desk; here is what they come to, and what a
// new alert means beside them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/alert.h"

namespace muster {

struct AlertEpisode {
  enum class Stage { kHeard, kPlanned, kClosed } stage = Stage::kHeard;
  std::string id;  // "a-7": its number in the journal
  Alert alert;
  std::string runbook;
  Subject on;
  std::map<std::string, std::string> inputs;
  Duration stale_after{};
  TimePoint heard_at, planned_at, closed_at;
  std::string plan_hash, run;  // the run's name is chosen with the plan, before it begins
  std::string approved_by;     // a person, or "policy"
  bool resolved = false;       // Alertmanager says that it is over
  std::string end, why;        // of kClosed: "done", "parked", "resolved", "stale", "refused", ...
};
std::string_view ToString(AlertEpisode::Stage stage);

// The numbers are in stored journals: never change one.
enum class AlertRecordType : uint32_t {
  kHeard = 1,
  kPlanned,
  kApproved,
  kResolved,
  kClosed,
  kForgotten,  // first in a journal: the episodes up to `id` are left out
};
struct AlertRecord {
  AlertRecordType type = AlertRecordType::kHeard;
  AlertEpisode episode;  // kHeard: whole; of the others the fields that they set
  TimePoint at;
};
std::string EncodeAlertRecord(const AlertRecord& record);
// kCorrupt when it is not what EncodeAlertRecord writes.
Result<AlertRecord> DecodeAlertRecord(uint32_t type, std::string_view payload);

// What an alert means now.
struct AlertDecision {
  enum class Kind {
    kOpens,      // a new episode
    kResolves,   // ends the wait of `episode`
    kDuplicate,  // of `episode`
    kNothing,    // `why`
  } kind = Kind::kNothing;
  std::string why, episode;
};

class AlertBook {
 public:
  // kCorrupt for a record that cannot follow the ones before.
  Status Apply(const AlertRecord& record);
  const std::vector<AlertEpisode>& episodes() const { return episodes_; }  // oldest first
  const AlertEpisode* Find(std::string_view id) const;
  size_t open() const { return open_; }
  std::string NextId() const { return "a-" + std::to_string(forgotten_ + episodes_.size() + 1); }
  // 7 of "a-7"; 0: no episode is called so.
  static size_t NumberOf(std::string_view id);
  // Episodes that came before the first of episodes().
  size_t forgotten() const { return forgotten_; }
  // How many of the oldest could be forgotten without another answer of Decide for any alert: they
  // closed before `closed_before`, and what they were about is stale by its runbook's word.
  size_t Forgettable(TimePoint now, TimePoint closed_before) const;

  // Nothing new comes of an alert that is resolved, older than its runbook's stale_after (counted
  // from when it began), begun in the future, a repetition, or of the same matter as one that is
  // open. Linear in the episodes of its fingerprint, and in those that are open.
  AlertDecision Decide(const Alert& alert, const AlertMatch& match, TimePoint now) const;

 private:
  std::vector<AlertEpisode> episodes_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_fingerprint_;
  std::vector<size_t> open_list_;
  size_t open_ = 0, forgotten_ = 0;
};

}  // namespace muster
