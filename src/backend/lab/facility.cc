#include "backend/lab/facility.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "probes/facility/signoff.h"

namespace muster::lab {

namespace {

using facility::kSignoffPath;

constexpr int kOutlets = 8;  // of one PDU
constexpr std::string_view kSigner = "Muster lab (a rehearsal: nobody signed this)";
constexpr std::string_view kPduPath = "/redfish/v1/PowerEquipment/RackPDUs/1";

Error ReadOnly(const std::string& path) {
  return Fail(Code::kPermission, fmt::format("{}: the lab keeps only files under /facility", path))
      .value();
}

bool HasFacilityFault(const LabState& state) {
  return std::any_of(state.faults.begin(), state.faults.end(), [](const Fault& f) {
    const FaultKind* kind = FindFaultKind(f.kind);
    return kind != nullptr && kind->gate == 1;
  });
}

// A person's or the lab's key pair as it lies in a file.
Result<SigningKey> LabKey(const LabState& state, Files& files) {
  const std::string path = state.folder + "/facility/signoff.key";
  const auto read = state.folder.empty() ? Result<std::string>(Fail(Code::kNotFound, "no folder"))
                                         : files.Read(path);
  if (read.ok()) {
    const auto json = nlohmann::json::parse(*read, nullptr, false);
    const bool sound = json.is_object() && json.contains("secret") && json["secret"].is_string() &&
                       json.contains("public") && json["public"].is_string();
    if (!sound)
      return Fail(Code::kCorrupt,
                  fmt::format("{}: not a key file; remove it to have a new one made", path));
    return SigningKey{json["secret"].get<std::string>(), json["public"].get<std::string>()};
  }
  if (read.error().code != Code::kNotFound) return Fail(read.error());
  TRY(SigningKey key, NewSigningKey());
  if (!state.folder.empty()) {
    TRY_VOID(files.MakeFolders(state.folder + "/facility"));
    TRY_VOID(files.WriteAtomic(
        path,
        nlohmann::json{{"secret", key.secret_hex}, {"public", key.public_hex}}.dump() + "\n"));
  }
  return key;
}

// 1.3 kW and 156 kg of rack a GPU with its share of the node; a fifth is left free.
facility::SignedBudget BudgetOf(const LabState& state, const std::string& name) {
  const auto racks = static_cast<double>(state.cluster.racks.size());
  const double power = std::max(2.0, 1.3 * static_cast<double>(state.cluster.GpuCount()));
  facility::SignedBudget budget{
      name, {power * 1.2 * 1000, Unit::kWatt}, {power * 1000, Unit::kWatt}};
  if (name == "weight")
    budget = {name, {racks * 1500, Unit::kKilogram}, {racks * 1250, Unit::kKilogram}};
  if (const Fault* over = state.Find("budget_exceeded", {SubjectKind::kBudget, name})) {
    budget.used.value = budget.limit.value * Setting(*over, "ratio");
  }
  return budget;
}

Result<std::string> MakeSignoff(const LabState& state, Files& files, TimePoint now) {
  facility::Signoff signoff;
  signoff.signed_by = kSigner;
  signoff.reason = "figures of the lab's own cluster, for rehearsing gate 1";
  // Whole days, so that two reads of one day are the same bytes.
  signoff.expires = std::chrono::floor<std::chrono::days>(now) + std::chrono::days(90);
  if (const Fault* expired = state.FindAny("signoff_expired"))
    signoff.expires = now - FromSeconds(86400 * Setting(*expired, "days_ago"));
  signoff.signed_at = std::min(state.created, signoff.expires - std::chrono::days(90));
  for (const std::string& name : LabBudgets()) signoff.budgets.push_back(BudgetOf(state, name));
  for (const std::string& name : LabPdus(state)) {
    const bool on = !state.Has("pdu_off", {SubjectKind::kPdu, name});
    signoff.pdus.push_back(
        {name, on, std::string(kSigner), fmt::format("http://{}{}/Outlets", name, kPduPath)});
  }
  TRY(const SigningKey key, LabKey(state, files));
  return facility::WriteSignoff(signoff, key);
}

nlohmann::json Outlet(int number, bool on) {
  const std::string id = fmt::format("A{}", number);
  return {{"@odata.id", fmt::format("{}/Outlets/{}", kPduPath, id)},
          {"@odata.type", "#Outlet.v1_4_4.Outlet"},
          {"Id", id},
          {"Name", "Outlet " + id},
          {"OutletType", "IEC_60320_C19"},
          {"PowerState", on ? "On" : "Off"},
          {"Status", {{"State", on ? "Enabled" : "StandbyOffline"}, {"Health", "OK"}}}};
}

// Forms: DMTF Redfish mockup of a rack PDU (DSP2043), schemas Outlet v1_4_4 and PowerDistribution
// v1_3_2.
nlohmann::json PduResource(std::string_view path, bool on) {
  if (path == kPduPath) {
    return {{"@odata.id", kPduPath},
            {"@odata.type", "#PowerDistribution.v1_3_2.PowerDistribution"},
            {"Id", "1"},
            {"EquipmentType", "RackPDU"},
            {"Status", {{"State", "Enabled"}, {"Health", "OK"}}},
            {"Outlets", {{"@odata.id", fmt::format("{}/Outlets", kPduPath)}}}};
  }
  if (path == fmt::format("{}/Outlets", kPduPath)) {
    nlohmann::json members = nlohmann::json::array();
    for (int n = 1; n <= kOutlets; ++n)
      members.push_back({{"@odata.id", fmt::format("{}/Outlets/A{}", kPduPath, n)}});
    return {{"@odata.id", path},
            {"@odata.type", "#OutletCollection.OutletCollection"},
            {"Members@odata.count", kOutlets},
            {"Members", std::move(members)}};
  }
  for (int n = 1; n <= kOutlets; ++n) {
    if (path == fmt::format("{}/Outlets/A{}", kPduPath, n)) return Outlet(n, on);
  }
  return nullptr;
}

}  // namespace

Result<std::string> FacilityFiles::Rehearsed() {
  if (state_.FindAny("signoff_missing") != nullptr) {
    return Fail(Code::kNotFound, fmt::format("{}: no such file", kSignoffPath));
  }
  return MakeSignoff(state_, base_.files, base_.clock.Now());
}

Result<std::string> FacilityFiles::Read(const std::string& path, uint64_t limit) {
  const bool signoff = path == kSignoffPath;
  if (signoff && HasFacilityFault(state_)) return Rehearsed();
  if (!state_.folder.empty() && StartsWith(path, "/facility/")) {
    auto kept = base_.files.Read(state_.folder + path, limit);
    if (kept.ok() || kept.error().code != Code::kNotFound) return kept;
  }
  if (signoff) return Rehearsed();
  return Fail(Code::kNotFound, fmt::format("{}: no such file", path));
}

Status FacilityFiles::WriteAtomic(const std::string& path, std::string_view bytes) {
  if (state_.folder.empty() || !StartsWith(path, "/facility/") || Contains(path, ".."))
    return Fail(ReadOnly(path));
  TRY_VOID(base_.files.MakeFolders(state_.folder + "/facility"));
  return base_.files.WriteAtomic(state_.folder + path, bytes);
}

Result<FileInfo> FacilityFiles::Stat(const std::string& path) {
  TRY(const std::string text, Read(path));
  return FileInfo{path.substr(path.rfind('/') + 1), false, text.size(), state_.created};
}

Result<std::vector<FileInfo>> FacilityFiles::List(const std::string& folder) {
  if (folder != "/facility" && folder != "/facility/")
    return Fail(Code::kNotFound, fmt::format("{}: no such folder", folder));
  std::vector<FileInfo> files;
  if (const auto signoff = Stat(std::string(kSignoffPath)); signoff.ok()) files.push_back(*signoff);
  return files;
}

Status FacilityFiles::Remove(const std::string& path) {
  if (state_.folder.empty() || !StartsWith(path, "/facility/") || Contains(path, ".."))
    return Fail(ReadOnly(path));
  return base_.files.Remove(state_.folder + path);
}

Status FacilityFiles::MakeFolders(const std::string& path) {
  return path == "/facility" ? Status{} : Status(Fail(ReadOnly(path)));
}
Result<std::unique_ptr<AppendFile>> FacilityFiles::OpenAppend(const std::string& path) {
  return Fail(ReadOnly(path));
}
Status FacilityFiles::Truncate(const std::string& path, uint64_t) { return Fail(ReadOnly(path)); }
Result<std::unique_ptr<FileLock>> FacilityFiles::Lock(const std::string& path, std::string_view) {
  return Fail(ReadOnly(path));
}

Result<HttpResponse> FacilityHttp::Do(const HttpRequest& request) {
  const auto rest = After(request.url, "http://");
  const size_t slash = rest ? rest->find('/') : std::string_view::npos;
  const std::string_view host = rest ? rest->substr(0, slash) : std::string_view();
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : rest->substr(slash);
  const auto pdus = LabPdus(state_);
  if (std::find(pdus.begin(), pdus.end(), host) == pdus.end()) {
    return Fail(Code::kUnavailable, fmt::format("cannot resolve \"{}\"", Printable(host)));
  }
  const bool on = !state_.Has("pdu_off", {SubjectKind::kPdu, std::string(host)});
  const nlohmann::json body = request.method == "GET" ? PduResource(path, on) : nlohmann::json();
  HttpResponse response;
  response.status = body.is_null() ? 404 : 200;
  response.headers = {{"content-type", "application/json"}, {"odata-version", "4.0"}};
  response.body =
      body.is_null() ? R"({"error":{"code":"Base.1.8.ResourceNotFound"}})" : body.dump();
  return response;
}

Result<HttpResponse> FacilityHttp::Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                          Duration& sent_at) {
  TRY(HttpResponse response, Do(request));
  on_bytes(response.body, sent_at);
  response.body.clear();
  return response;
}

}  // namespace muster::lab
