// The engine's eyes on a site: a runbook's checks are judged by the production probes and the
// catalogue's own criteria, freshly read each time. The site itself is opened once and kept while
// it is what it was: on real hosts that is one ssh connection a node and not one a check.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/bringup.h"
#include "catalogue/expectation.h"
#include "engine/ports.h"

namespace muster {

class SiteLooker final : public engine::Looker {
 public:
  // `evidence_folder` keeps what was seen, by its digest; "" keeps nothing.
  SiteLooker(std::string site_file, World world, OpenOptions options, std::string run,
             std::string evidence_folder);

  engine::Looked Look(const Check& check, const Subject& on, const TemplateValues& values) override;
  engine::Looked Keep(const Action& action, const TemplateValues& values) override;
  // For a plan, which is of one moment: the site is opened once, and facts of a gate that were read
  // of all its nodes together are not read again of each.
  void Seen(int gate, Observations all);
  // The least real of all that was looked at.
  Origin origin() const { return origin_; }
  size_t opens() const { return opens_; }  // how often the site was opened

 private:
  // Its file, and what a lab plays, as they were read when it was opened.
  struct OpenedSite {
    std::string stamp;
    TimePoint at;
    SiteContext site;
    // What its file expects; made once, because it is as large as the cluster.
    std::optional<Expectation> expect = {};
  };
  Result<SiteContext*> Site();
  std::string StampOf(SiteKind kind, const std::string& lab_dir) const;
  engine::Looked LookAt(SiteContext& site, const Check& check, const Subject& on,
                        const TemplateValues& values);
  engine::Looked Criteria(SiteContext& site, const Check& check, const Subject& on);
  engine::Looked WholeGate(SiteContext& site, int gate, const Subject& on);
  engine::Looked Fact(SiteContext& site, const Check& check, const Subject& on,
                      const TemplateValues& values);
  engine::Looked Command(SiteContext& site, const Check& check, const Subject& on,
                         const TemplateValues& values);
  engine::Looked Supported(SiteContext& site, const Subject& on, const TemplateValues& values);
  engine::Looked Sum(std::span<const Verdict> verdicts, const Evidence* evidence);
  std::string Store(const std::string& text);

  std::string site_file_;
  World world_;
  OpenOptions options_;
  std::string run_, folder_;
  Origin origin_ = Origin::kLive;
  std::optional<OpenedSite> opened_;
  int seen_gate_ = 0;                         // 0: nothing was handed in
  std::map<std::string, Observations> seen_;  // by host
  size_t opens_ = 0;
};

// The gate at which a fact is looked at; 3 where no criterion asks for it.
int GateOfFact(const Catalogue& catalogue, std::string_view fact);

}  // namespace muster
