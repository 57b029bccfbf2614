#include "app/facility_signoff.h"

#include <fmt/format.h>

#include "probes/facility/signoff.h"

namespace muster {

Result<std::string> SignFacility(SiteContext& context, const std::string& by,
                                 const std::string& reason, TimePoint until) {
  const Site& site = context.site();
  if (site.budgets.empty() && site.pdus.empty()) {
    return Fail(
        Code::kInvalid,
        fmt::format("site {} has no facility section: there is nothing to sign", site.name));
  }
  facility::Signoff signoff;
  for (const Budget& budget : site.budgets)
    signoff.budgets.push_back({budget.name, budget.limit, budget.used});
  for (const Pdu& pdu : site.pdus) {
    // A PDU that answers for itself is asked; the others are attested by whoever signs.
    const bool asks = !pdu.redfish_url.empty();
    signoff.pdus.push_back({pdu.name, asks ? std::nullopt : std::optional<bool>(true),
                            asks ? "" : by, pdu.redfish_url});
  }
  signoff.signed_by = by;
  signoff.reason = reason;
  signoff.signed_at = context.world.clock.Now();
  signoff.expires = until;
  if (until <= signoff.signed_at)
    return Fail(Code::kInvalid, fmt::format("--until {} is not in the future", FormatTime(until)));
  TRY(const SigningKey key, SiteKey(context.world, context.paths));
  TRY(const std::string document, facility::WriteSignoff(signoff, key));
  const std::string folder =
      (site.kind == SiteKind::kLab ? context.paths.folder + "/" + site.lab_dir
                                   : context.paths.folder) +
      "/facility";
  TRY_VOID(context.world.files.MakeFolders(folder));
  const std::string path = folder + "/signoff.json";
  TRY_VOID(context.world.files.WriteAtomic(path, document));
  return path;
}

}  // namespace muster
