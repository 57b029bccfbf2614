#include "probes/facility/signoff.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/facility/signoff_json.h"

namespace muster::facility {

namespace {

// Largest unit that keeps the figure readable and reads back to the same number.
std::string Figure(const Quantity& q) {
  switch (q.unit) {
    case Unit::kWatt:
      return fmt::format("{} kW", q.value / 1000);
    case Unit::kCount:
      return fmt::format("{}", q.value);
    default:
      return fmt::format("{} {}", q.value, ToString(q.unit));
  }
}

Status CheckWritable(const Signoff& signoff) {
  if (Trim(signoff.signed_by).empty())
    return Fail(Code::kInvalid, "a sign-off needs the name of who signs");
  if (signoff.expires <= signoff.signed_at)
    return Fail(Code::kInvalid, "a sign-off must expire after it was signed");
  if (signoff.budgets.empty() && signoff.pdus.empty())
    return Fail(Code::kInvalid, "there is nothing to sign: no budget, no PDU");
  std::set<std::string> names;
  for (const SignedBudget& b : signoff.budgets) {
    if (b.name.empty() || !names.insert(b.name).second) {
      return Fail(Code::kInvalid,
                  fmt::format("budget \"{}\" is named twice or not at all", Printable(b.name)));
    }
    if (b.limit.unit != b.used.unit || !(b.limit.value > 0) || !(b.used.value >= 0)) {
      return Fail(
          Code::kInvalid,
          fmt::format("budget {}: limit and used must be figures of one unit, the limit above 0",
                      b.name));
    }
  }
  names.clear();
  for (const SignedPdu& p : signoff.pdus) {
    if (p.name.empty() || !names.insert(p.name).second) {
      return Fail(Code::kInvalid,
                  fmt::format("PDU \"{}\" is named twice or not at all", Printable(p.name)));
    }
  }
  return {};
}

Json ToJson(const Signoff& signoff) {
  Json json = {{"apiVersion", "muster/v1"},
               {"kind", "FacilitySignoff"},
               {"budgets", Json::array()},
               {"pdus", Json::array()},
               {"signed_by", signoff.signed_by},
               {"signed_at", FormatTime(signoff.signed_at)},
               {"expires", FormatTime(signoff.expires)}};
  if (!signoff.reason.empty()) json["reason"] = signoff.reason;
  for (const SignedBudget& b : signoff.budgets) {
    json["budgets"].push_back(
        {{"name", b.name}, {"limit", Figure(b.limit)}, {"used", Figure(b.used)}});
  }
  for (const SignedPdu& p : signoff.pdus) {
    Json pdu = {{"name", p.name}};
    if (p.energised) pdu["energised"] = *p.energised;
    if (!p.attested_by.empty()) pdu["attested_by"] = p.attested_by;
    if (!p.redfish_url.empty()) pdu["redfish_url"] = p.redfish_url;
    json["pdus"].push_back(std::move(pdu));
  }
  return json;
}

std::string Canonical(Json json) {
  json.erase("signature");
  return Dump(json);
}

bool Verifies(const Json& json) {
  const auto key = Text(json, "public_key"), signature = Text(json, "signature");
  return key && signature && VerifySignature(*key, Canonical(json), *signature);
}

constexpr std::string_view kBudgetFacts[] = {"facility.signed", "facility.signer",
                                             "facility.expires_in", "facility.used_ratio"};

// Reads one verified or refused document into observations.
class Reader {
 public:
  Reader(const Reading& reading, const Json& json)
      : reading_(reading), json_(json), out_(reading, "muster/v1") {}

  Observations Run() {
    const bool verified = Verifies(json_);
    const auto signer = Text(json_, "signed_by");
    signed_ = verified && signer && !Trim(*signer).empty();
    why_not_ = !verified ? "the signature does not verify" : "nobody is named as the signer";
    for (const auto& [name, budget] : ByName("budgets"))
      ReadBudget({SubjectKind::kBudget, name}, budget);
    for (const auto& [name, pdu] : ByName("pdus")) ReadPdu({SubjectKind::kPdu, name}, pdu);
    return out_.Take();
  }

 private:
  // Entries of an array by their name; a name that is there twice says nothing for sure and maps to
  // null.
  std::map<std::string, const Json*> ByName(const char* key) const {
    std::map<std::string, const Json*> entries;
    const Json* array = Array(json_, key);
    if (array == nullptr) return entries;
    for (const Json& entry : *array) {
      const auto name = Text(entry, "name");
      if (!name || name->empty()) continue;
      const auto [it, fresh] = entries.emplace(*name, &entry);
      if (!fresh) it->second = nullptr;
    }
    return entries;
  }

  void ReadBudget(const Subject& subject, const Json* budget) {
    if (budget == nullptr) {
      for (const std::string_view fact : kBudgetFacts) {
        out_.AddUnobserved(subject, fact, UnknownReason::kUnparsable,
                           "this budget is in the document twice");
      }
      return;
    }
    out_.Add(subject, "facility.signed", signed_, Unit::kNone, signed_ ? Dump(*budget) : why_not_);
    if (!signed_) {
      for (const std::string_view fact : kBudgetFacts) {
        if (fact != "facility.signed")
          out_.AddUnobserved(subject, fact, UnknownReason::kNotObserved, why_not_);
      }
      return;
    }
    const std::string signer = *Text(json_, "signed_by");
    out_.Add(subject, "facility.signer", signer, Unit::kNone, "signed_by: " + signer);
    ReadExpiry(subject);
    ReadUse(subject, *budget);
  }

  void ReadExpiry(const Subject& subject) {
    const std::string text = Text(json_, "expires").value_or("");
    const auto expires = ParseTime(text);
    if (!expires.ok()) {
      out_.AddUnobserved(subject, "facility.expires_in", UnknownReason::kUnparsable,
                         "no readable expiry: " + text);
      return;
    }
    out_.Add(subject, "facility.expires_in", Seconds(*expires - reading_.at), Unit::kSeconds,
             "expires: " + text);
  }

  void ReadUse(const Subject& subject, const Json& budget) {
    const std::string limit_text = Text(budget, "limit").value_or(""),
                      used_text = Text(budget, "used").value_or("");
    const auto limit = ParseQuantity(limit_text), used = ParseQuantity(used_text);
    const bool sound = limit.ok() && used.ok() && limit->unit == used->unit && limit->value > 0 &&
                       used->value >= 0;
    if (!sound) {
      out_.AddUnobserved(subject, "facility.used_ratio", UnknownReason::kUnparsable,
                         fmt::format("used \"{}\" of limit \"{}\" are not two figures of one unit",
                                     used_text, limit_text));
      return;
    }
    out_.Add(subject, "facility.used_ratio", used->value / limit->value, Unit::kRatio,
             fmt::format("used {} of {}", used_text, limit_text));
  }

  void ReadPdu(const Subject& subject, const Json* pdu) {
    if (pdu == nullptr || !signed_) {
      out_.AddUnobserved(subject, "pdu.energised",
                         pdu == nullptr ? UnknownReason::kUnparsable : UnknownReason::kNotObserved,
                         pdu == nullptr ? "this PDU is in the document twice" : why_not_);
      return;
    }
    const auto energised = Bool(*pdu, "energised");
    const auto by = Text(*pdu, "attested_by");
    if (energised && (!*energised || (by && !Trim(*by).empty()))) {
      out_.Add(subject, "pdu.energised", *energised, Unit::kNone, Dump(*pdu));
      return;
    }
    // One that has an endpoint is read there (facility.redfish).
    if (!energised && Text(*pdu, "redfish_url")) return;
    out_.AddUnobserved(subject, "pdu.energised", UnknownReason::kNotObserved,
                       "nobody attests that it is on");
  }

  const Reading& reading_;
  const Json& json_;
  ObservationBuilder out_;
  bool signed_ = false;
  std::string why_not_;
};

}  // namespace

Result<std::string> WriteSignoff(const Signoff& signoff, const SigningKey& key) {
  TRY_VOID(CheckWritable(signoff));
  Json json = ToJson(signoff);
  json["public_key"] = key.public_hex;
  TRY(json["signature"], Sign(key, Canonical(json)));
  return Dump(json, 2) + "\n";
}

Result<std::string> CanonicalSignoff(std::string_view document) {
  Json json = ParseJson(document);
  if (!json.is_object()) return Fail(Code::kParse, "a sign-off is one JSON object");
  return Canonical(std::move(json));
}

bool VerifySignoff(std::string_view document) {
  const Json json = ParseJson(document);
  return json.is_object() && Verifies(json);
}

Observations ParseSignoff(const Reading& reading) {
  if (reading.fault) return {};  // the caller says for each fact why there is nothing
  ObservationBuilder out(reading);
  const Json json = ParseJson(reading.text);
  const auto refuse = [&](std::string_view why) {
    for (const std::string_view fact : kBudgetFacts) {
      out.AddUnobserved(NodeSubject(reading.host), fact, UnknownReason::kUnparsable, why);
    }
    out.AddUnobserved(NodeSubject(reading.host), "pdu.energised", UnknownReason::kUnparsable, why);
    return out.Take();
  };
  if (!json.is_object()) return refuse("the sign-off is no whole JSON document");
  if (Text(json, "apiVersion") != "muster/v1" || Text(json, "kind") != "FacilitySignoff") {
    return refuse("not a FacilitySignoff of muster/v1");
  }
  return Reader(reading, json).Run();
}

}  // namespace muster::facility
