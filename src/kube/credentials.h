// The bearer token of the moment, and the client certificate an exec plugin may bring. Tokens
// rotate: a file is read again, a plugin is run again, before they expire and after a refusal.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/config.h"
#include "world/clock.h"
#include "world/files.h"
#include "world/processes.h"

namespace muster::kube {

class Credentials {
 public:
  Credentials(const ClusterConfig& config, Clock& clock, Files& files, Processes& processes);

  // Whether Token() answers at once. An exec plugin runs on a thread of its own meanwhile, started
  // here where one is due; while the last token is good, it is.
  bool Ready();
  // Until Ready, or for so long.
  void Wait(Duration longest);
  // The token to send, or empty (a client certificate, or nothing, speaks for us). May read a file.
  // Waits for the plugin (a minute at most) where it is called before Ready.
  Result<std::string> Token();
  // The server refused the last token. True when there is hope that the next one differs.
  bool Refused();
  // Set by an exec plugin; empty otherwise.
  const std::string& cert_pem() const { return cert_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  // "token file /var/run/...", for messages.
  std::string Describe() const;

 private:
  struct Grant {  // what a plugin answered
    std::string token, cert_pem, key_pem;
    TimePoint expires = TimePoint::max();
  };
  Command PluginCommand() const;
  Result<Grant> GrantFrom(const Result<CommandResult>& ran) const;
  void StartPlugin();
  void TakeGrant();
  bool Usable() const { return fresh_ && clock_.Now() < expires_; }

  const AuthConfig auth_;
  const std::string server_, ca_pem_, source_;
  const bool has_certificate_;
  Clock& clock_;
  Files& files_;
  Processes& processes_;
  std::string token_, cert_pem_, key_pem_;
  bool fresh_ = false;
  TimePoint expires_ = TimePoint::max();  // of the plugin's answer
  Duration read_at_{};                    // monotonic
  std::optional<Error> trouble_;          // of the plugin's last run; told once
  Duration next_run_{};                   // monotonic: not before
  std::future<Result<CommandResult>> running_;
};

}  // namespace muster::kube
