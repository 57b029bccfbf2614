// From alerts to runs: hears what Alertmanager delivers, plans the runbook that it asks for, and
// leads it where the site's policy or a person says so. What is heard is durable before it is
// answered, the name of a run is durable before it begins; so after a kill at any moment the next
// desk neither loses a repair nor begins it twice.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/alerts/alert_book.h"
#include "app/bringup.h"
#include "app/runbook_site.h"
#include "app/runbooks.h"
#include "journal/writer.h"

namespace muster {

struct AlertPaths {
  explicit AlertPaths(const SitePaths& site) : root(site.state + "/alerts") {}
  std::string root;
  std::string Journal() const { return root + "/journal"; }
  std::string Plan(const std::string& id) const { return root + "/plans/" + id + ".json"; }
  std::string Requests() const { return root + "/requests"; }
};

// What every episode came to, from the journal alone; nothing is held.
Result<AlertBook> ReadAlertBook(Files& files, const SitePaths& paths);

// A person's word for the plan of an alert: it begins, and its steps that need approval have it.
// Durable; a desk takes it up. kNotFound: no such alert, or no plan of it. kRefused: it is over, or
// `plan` is not how the plan's hash begins.
Status ApproveAlert(World& world, const SitePaths& paths, const std::string& id,
                    const std::string& by, const std::string& plan);

class AlertDesk {
 public:
  // Holds the site's alerts until destroyed; kConflict while another desk does. `world`'s ports are
  // borrowed, and used from the threads that call Work.
  static Result<std::unique_ptr<AlertDesk>> Open(const std::string& site_file, World world,
                                                 const OpenOptions& open);

  // A webhook's body. When it returns without an error, what it opened is on disk. kInvalid: the
  // body; kUnavailable: too much is open, or the disk does not take it: to be sent again.
  struct Heard {
    size_t opened = 0, resolved = 0, duplicate = 0, nothing = 0;
    std::vector<std::string> notes;  // one a new or ignored alert
  };
  Result<Heard> Hear(std::string_view body);

  // Episodes that something can be done for now, oldest first. Takes up people's words.
  Result<std::vector<std::string>> Due();
  // Takes one as far as it goes: plans it, or leads its run to its end. `progress` may stop it; the
  // run is then resumed by the next call. Safe beside Hear and beside Work on other episodes.
  Status Work(const std::string& id, Progress& progress);

  AlertBook Snapshot() const;
  // Leaves out of the journal what closed more than kKeptFor ago, once kForgetFrom episodes can go:
  // its work is then a small part of what wrote them. The journal of before is kept once, as
  // journal.before. How many were left out.
  Result<size_t> Forget();

  static constexpr Duration kKeptFor = std::chrono::hours(24 * 30);
  static constexpr size_t kForgetFrom = 500;

  static constexpr size_t kMostOpen = 1000;

 private:
  AlertDesk(std::string site_file, World world, OpenOptions open)
      : site_file_(std::move(site_file)),
        paths_(PathsOf(site_file_)),
        world_(world),
        open_(std::move(open)) {}

  Status Record(AlertRecord record);  // durable, then applied; under mutex_
  Status Write(AlertRecordType type, AlertEpisode fields);
  Status Close(const AlertEpisode& episode, std::string end, std::string why);
  Status TakeWords();
  AlertEpisode Copy(const std::string& id) const;
  // Its run, once that has opened.
  std::optional<RunbookRun> Begun(const AlertEpisode& episode) const;
  // Empty: it may still be acted on.
  std::string Overtaken(const AlertEpisode& episode, TimePoint now) const;
  Status MakeThePlan(SiteContext& site, const AlertEpisode& episode, Progress& progress);
  Status Lead(SiteContext& site, const AlertEpisode& episode, Progress& progress);

  const std::string site_file_;
  const SitePaths paths_;
  World world_;
  const OpenOptions open_;
  std::vector<KnownRunbook> known_;
  std::vector<const Runbook*> books_;
  AlertPolicy policy_;
  Cluster cluster_;
  mutable std::mutex mutex_;  // of what follows
  AlertBook book_;
  std::unique_ptr<journal::Writer> writer_;
};

}  // namespace muster
