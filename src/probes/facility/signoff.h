// The facility sign-off: a small JSON document in which a named person states the budgets (power,
// cooling, weight) and that the PDUs are on, under an Ed25519 signature and an expiry. `muster gate
// sign 1` writes it, the probe reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/time.h"
#include "base/unit.h"
#include "probes/probe.h"

namespace muster::facility {

inline constexpr std::string_view kSignoffPath = "/facility/signoff.json";

struct SignedBudget {
  std::string name;
  Quantity limit, used;  // of one unit
};
struct SignedPdu {
  std::string name;
  std::optional<bool> energised;  // as attested; nothing when its Redfish endpoint is to answer
  std::string attested_by;
  std::string redfish_url;  // empty = attested only
};
struct Signoff {
  std::vector<SignedBudget> budgets;
  std::vector<SignedPdu> pdus;
  std::string signed_by, reason;
  TimePoint signed_at, expires;
};

// The document, signed with the key; its text is what goes into the file. kInvalid when a name, the
// signer or a figure is missing, a name is used twice, units differ or it expires before it is
// signed.
Result<std::string> WriteSignoff(const Signoff& signoff, const SigningKey& key);

// What is signed: the JSON document without its key "signature", keys sorted, no blanks (so neither
// layout nor key order matters, and every other byte does). kParse when it is no JSON object.
Result<std::string> CanonicalSignoff(std::string_view document);
// True when the document's "signature" is that of its "public_key" over the canonical text.
bool VerifySignoff(std::string_view document);

// facility.signed, .signer, .expires_in, .used_ratio for each budget and pdu.energised for each
// attested PDU. A document whose signature does not verify says facility.signed = false and nothing
// else: its figures are not believed.
Observations ParseSignoff(const Reading& reading);

}  // namespace muster::facility
