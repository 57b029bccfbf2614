// The bearer token of the moment, and the client certificate an exec plugin may bring. Tokens
// rotate: a file is read again, a plugin is run again, before they expire and after a refusal.
#pragma once

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

  // The token to send, or empty (a client certificate, or nothing, speaks for us). May read a file,
  // and may run the exec plugin (which blocks, for at most a minute).
  Result<std::string> Token();
  // The server refused the last token. True when there is hope that the next one differs.
  bool Refused();
  // Set by an exec plugin; empty otherwise.
  const std::string& cert_pem() const { return cert_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  // "token file /var/run/...", for messages.
  std::string Describe() const;

 private:
  Status RunPlugin();

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
};

}  // namespace muster::kube
