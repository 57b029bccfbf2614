#include "backend/bmc/bmc.h"

#include <array>

#include <fmt/format.h>

#include "backend/bmc/secret.h"
#include "base/strings.h"

namespace muster::bmc {

namespace {

constexpr std::array<std::string_view, 4> kPowers = {"on", "off", "changing", "unknown"};
constexpr std::array<std::string_view, 6> kActs = {
    "On", "GracefulShutdown", "ForceOff", "GracefulRestart", "ForceRestart", "PowerCycle"};
constexpr uint64_t kMostSecretBytes = 4096;

}  // namespace

std::string_view ToString(Power power) { return kPowers[static_cast<size_t>(power)]; }
std::string_view ToString(PowerAct act) { return kActs[static_cast<size_t>(act)]; }

Result<PowerAct> ParsePowerAct(std::string_view text) {
  for (size_t i = 0; i < kActs.size(); ++i) {
    if (EqualsIgnoreCase(kActs[i], text)) return static_cast<PowerAct>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown power act \"{}\", expected On, "
                                          "GracefulShutdown, ForceOff, GracefulRestart, "
                                          "ForceRestart or PowerCycle",
                                          Printable(text)));
}

Result<SecretRef> SecretRef::Parse(std::string_view text) {
  for (const std::string_view prefix : {"env:", "file:"}) {
    const auto rest = After(text, prefix);
    if (rest && !rest->empty()) return SecretRef{std::string(text)};
  }
  // What was written there may be the secret itself: it is not repeated.
  return Fail(Code::kInvalid,
              "a password is named as env:NAME or file:/path; it does not stand in a site file");
}

Result<std::string> ReadSecret(const SecretRef& ref, Files& files, const Environment& environment) {
  std::string secret;
  if (const auto name = After(ref.text, "env:")) {
    const auto value = environment(std::string(*name));
    if (!value)
      return Fail(Code::kNotFound,
                  fmt::format("the environment variable {} with the BMC's password is not set",
                              Printable(*name)));
    secret = *value;
  } else if (const auto path = After(ref.text, "file:")) {
    TRY(secret, files.Read(std::string(*path), kMostSecretBytes));
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  }
  if (secret.empty())
    return Fail(Code::kNotFound, fmt::format("{} holds no password", Printable(ref.text)));
  return secret;
}

std::string WithoutSecret(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  constexpr std::string_view kStars = "***";
  // The search goes on behind the stars: a secret may itself be made of them.
  for (size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + kStars.size()))
    text.replace(at, secret.size(), kStars);
  return text;
}

}  // namespace muster::bmc
