#include "app/site_state.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using Json = nlohmann::ordered_json;
constexpr Duration kLongestWaiver = std::chrono::hours(24 * 90);

Result<Waiver> WaiverFromJson(const Json& entry) {
  try {
    Waiver waiver;
    waiver.gate = entry.at("gate").get<int>();
    waiver.by = entry.at("by").get<std::string>();
    waiver.reason = entry.at("reason").get<std::string>();
    TRY(waiver.at, ParseTime(entry.at("at").get<std::string>()));
    TRY(waiver.until, ParseTime(entry.at("until").get<std::string>()));
    waiver.public_key = entry.at("public_key").get<std::string>();
    waiver.signature = entry.at("signature").get<std::string>();
    return waiver;
  } catch (const Json::exception& e) {
    return Fail(Code::kCorrupt, fmt::format("not a waiver: {}", e.what()));
  }
}

Json ToJson(const Waiver& w) {
  return {{"gate", w.gate},
          {"by", w.by},
          {"reason", w.reason},
          {"at", FormatTime(w.at)},
          {"until", FormatTime(w.until)},
          {"public_key", w.public_key},
          {"signature", w.signature}};
}

}  // namespace

SitePaths PathsOf(const std::string& site_file) {
  const size_t slash = site_file.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : site_file.substr(0, slash);
  return {site_file, folder, folder + "/.muster"};
}

Result<std::vector<std::string>> ListRuns(Files& files, const SitePaths& paths) {
  auto listed = files.List(paths.Runs());
  if (!listed.ok()) {
    if (listed.error().code == Code::kNotFound) return std::vector<std::string>{};
    return tl::unexpected(std::move(listed.error()));
  }
  std::vector<std::string> runs;
  for (const FileInfo& info : *listed) {
    if (info.is_directory) runs.push_back(info.name);
  }
  return runs;
}

std::string NewRunName(TimePoint now, Random& random) {
  std::string stamp = FormatTime(std::chrono::floor<std::chrono::seconds>(now));
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  return fmt::format("r-{}-{:04x}", stamp, random.Below(0x10000));
}

Result<SigningKey> SiteKey(World& world, const SitePaths& paths) {
  auto text = world.files.Read(paths.Key());
  if (text.ok()) {
    const size_t blank = text->find(' ');
    if (blank == std::string::npos)
      return Fail(Code::kCorrupt, fmt::format("{} is not a signing key", paths.Key()));
    std::string pub = text->substr(blank + 1);
    while (!pub.empty() && pub.back() == '\n') pub.pop_back();
    return SigningKey{text->substr(0, blank), pub};
  }
  if (text.error().code != Code::kNotFound) return tl::unexpected(std::move(text.error()));
  TRY(const SigningKey key, NewSigningKey());
  TRY_VOID(world.files.MakeFolders(paths.state));
  TRY_VOID(
      world.files.WriteAtomic(paths.Key(), fmt::format("{} {}\n", key.secret_hex, key.public_hex)));
  return key;
}

std::string Waiver::Canonical() const {
  return Json{{"at", FormatTime(at)},
              {"by", by},
              {"gate", gate},
              {"reason", reason},
              {"until", FormatTime(until)}}
      .dump();
}

bool Waiver::SignatureHolds() const { return VerifySignature(public_key, Canonical(), signature); }

Result<std::vector<Waiver>> ReadWaivers(Files& files, const SitePaths& paths) {
  auto text = files.Read(paths.Signatures());
  if (!text.ok()) {
    if (text.error().code == Code::kNotFound) return std::vector<Waiver>{};
    return tl::unexpected(std::move(text.error()));
  }
  const Json document = Json::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("waivers") || !document["waivers"].is_array()) {
    return Fail(Code::kCorrupt, fmt::format("{} is not a list of waivers", paths.Signatures()));
  }
  std::vector<Waiver> waivers;
  for (const Json& entry : document["waivers"]) {
    TRY(Waiver waiver, WaiverFromJson(entry).Context(paths.Signatures()));
    if (!waiver.SignatureHolds()) {
      return Fail(Code::kCorrupt,
                  fmt::format("{}: the waiver of gate {} by {} was changed after it was signed",
                              paths.Signatures(), waiver.gate, waiver.by));
    }
    waivers.push_back(std::move(waiver));
  }
  return waivers;
}

Result<Waiver> AddWaiver(World& world, const SitePaths& paths, int gate, const std::string& by,
                         const std::string& reason, TimePoint until) {
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(world.clock.Now());
  if (gate < 1 || gate > 8)
    return Fail(Code::kInvalid, fmt::format("there is no gate {}, expected 1 to 8", gate));
  if (by.empty() || reason.empty())
    return Fail(Code::kInvalid, "a waiver names who (--by) and why (--reason)");
  if (until <= now)
    return Fail(Code::kInvalid, fmt::format("--until {} is not in the future", FormatTime(until)));
  if (until - now > kLongestWaiver) return Fail(Code::kInvalid, "a waiver lasts 90 days at most");
  TRY(std::vector<Waiver> waivers, ReadWaivers(world.files, paths));
  TRY(const SigningKey key, SiteKey(world, paths));
  Waiver waiver{
      gate,           by, reason, now, std::chrono::floor<std::chrono::milliseconds>(until),
      key.public_hex, ""};
  TRY(waiver.signature, Sign(key, waiver.Canonical()));
  waivers.push_back(waiver);
  Json document = {{"apiVersion", "muster/v1"}, {"kind", "Signatures"}, {"waivers", Json::array()}};
  for (const Waiver& w : waivers) document["waivers"].push_back(ToJson(w));
  TRY_VOID(world.files.MakeFolders(paths.state));
  TRY_VOID(world.files.WriteAtomic(paths.Signatures(), document.dump(2) + "\n"));
  return waiver;
}

}  // namespace muster
