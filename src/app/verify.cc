// Judging a stored run again: reading the ledger understands every raw reading anew with today's
// parsers; judged by the stored site's rules, a verdict that comes out differently is named.
#include <map>

#include <fmt/format.h>

#include "app/bringup.h"
#include "journal/reader.h"

namespace muster {

namespace {

std::string Key(const Verdict& v) { return fmt::format("{} {}", v.code, v.subject.ToString()); }

void CompareGate(const GateRecord& record, const GateResult& again, Verification& verification) {
  std::map<std::string, Level> before;
  for (const Verdict& v : record.result->verdicts) before[Key(v)] = v.level;
  for (const Verdict& v : again.verdicts) {
    ++verification.verdicts;
    const auto found = before.find(Key(v));
    if (found == before.end()) {
      verification.differences.push_back(
          fmt::format("gate {}: {} is new: {}", record.gate, Key(v), ToString(v.level)));
    } else {
      if (found->second != v.level) {
        verification.differences.push_back(fmt::format("gate {}: {} was {}, is {}", record.gate,
                                                       Key(v), ToString(found->second),
                                                       ToString(v.level)));
      }
      before.erase(found);
    }
  }
  if (record.result->level != again.level) {
    verification.differences.push_back(fmt::format("gate {}: was {}, is {}", record.gate,
                                                   ToString(record.result->level),
                                                   ToString(again.level)));
  }
  for (const auto& [key, level] : before) {
    verification.differences.push_back(fmt::format("gate {}: {} was {}, is not judged any more",
                                                   record.gate, key, ToString(level)));
  }
}

}  // namespace

Result<Verification> VerifyRun(Files& files, const std::string& ledger_path,
                               const Catalogue& catalogue) {
  TRY(const Run run, ReadLedger(files, ledger_path));
  TRY(const Site site,
      ParseSite(run.header.site_text, fmt::format("{} (site file inside)", ledger_path)));
  Verification verification;
  verification.same_catalogue = run.header.catalogue_sha256 == EmbeddedDigest();
  TRY(const journal::Summary summary, journal::Verify(files, ledger_path));
  if (summary.torn)
    verification.differences.push_back("the ledger ends early: " + summary.torn->ToString());
  for (const GateRecord& record : run.gates) {
    if (!record.result || !record.result->blocked_by.empty()) continue;
    ++verification.gates;
    verification.readings += record.evidence.readings.size();
    const GateResult again = JudgeEvidence(site, catalogue, record.gate, run.header.nodes,
                                           record.evidence.All(), record.result->judged_at,
                                           run.header.look_only ? Proofs::kNotRun : Proofs::kRun);
    CompareGate(record, again, verification);
  }
  return verification;
}

}  // namespace muster
