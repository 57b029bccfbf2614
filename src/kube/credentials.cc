#include "kube/credentials.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/base64.h"
#include "kube/json.h"

namespace muster::kube {

namespace {

// Kubelets renew a bound token at 80 % of its life; client-go looks at the file once a minute.
constexpr Duration kFileAge = std::chrono::minutes(1);
// A token that ends within this time may end on the way.
constexpr Duration kEarly = std::chrono::seconds(10);
// A plugin is not run again earlier, unless its token is refused.
constexpr Duration kAgain = std::chrono::seconds(5);

// "9999-12-31T23:59:59Z": later than a clock of nanoseconds reaches, which is never.
bool BeyondClocks(std::string_view time) {
  const auto year = ParseInt(time.substr(0, 4));
  return time.size() > 4 && time[4] == '-' && year.ok() && *year > 2261;
}

}  // namespace

Credentials::Credentials(const ClusterConfig& config, Clock& clock, Files& files,
                         Processes& processes)
    : auth_(config.auth),
      server_(config.server),
      ca_pem_(config.tls.ca_pem),
      source_(config.source),
      has_certificate_(!config.tls.cert_pem.empty()),
      clock_(clock),
      files_(files),
      processes_(processes) {}

Result<std::string> Credentials::Token() {
  if (!auth_.token_file.empty()) {
    if (!fresh_ || clock_.Monotonic() - read_at_ > kFileAge) {
      TRY(const std::string text, files_.Read(auth_.token_file, 1u << 20).Context(Describe()));
      token_ = Trim(text);
      if (token_.empty()) return Fail(Code::kPermission, Describe() + " is empty");
      fresh_ = true;
      read_at_ = clock_.Monotonic();
    }
    return token_;
  }
  if (!auth_.token.empty()) return auth_.token;
  if (!auth_.exec) return std::string();
  if (!Ready()) {
    running_.wait();
    TakeGrant();
  }
  if (trouble_ && !Usable()) return Fail(*std::exchange(trouble_, std::nullopt));
  return token_;
}

bool Credentials::Ready() {
  if (!auth_.exec || !auth_.token_file.empty() || !auth_.token.empty()) return true;
  if (running_.valid() && running_.wait_for(Duration::zero()) == std::future_status::ready)
    TakeGrant();
  if (running_.valid()) return Usable();
  if (fresh_ && clock_.Now() + kEarly < expires_) return true;
  if (trouble_) return true;  // somebody is to be told of it first
  // What it gave a moment ago, even where that is over by our clock: the server's counts.
  if (fresh_ && clock_.Monotonic() < next_run_) return true;
  StartPlugin();
  return Usable();
}

void Credentials::Wait(Duration longest) {
  if (!Ready() && running_.valid()) running_.wait_for(longest);
}

void Credentials::StartPlugin() {
  running_ = std::async(std::launch::async, [&processes = processes_, command = PluginCommand()] {
    return processes.Run(command);
  });
}

// A plugin that fails while the last token is good is run again after a moment.
void Credentials::TakeGrant() {
  next_run_ = clock_.Monotonic() + kAgain;
  auto grant = GrantFrom(running_.get());
  if (!grant.ok()) {
    if (Usable()) return;
    fresh_ = false;  // what it gave before is over
    trouble_ = Error(grant.error()).Context(Describe());
    return;
  }
  token_ = std::move(grant->token);
  cert_pem_ = std::move(grant->cert_pem), key_pem_ = std::move(grant->key_pem);
  expires_ = grant->expires;
  fresh_ = true;
}

bool Credentials::Refused() {
  if (auth_.token_file.empty() && (!auth_.token.empty() || !auth_.exec)) return false;
  const std::string before = token_;
  fresh_ = false;
  next_run_ = {};
  // A file that was not rotated gives the same token: no hope, and the message says so.
  return auth_.token_file.empty() || (Token().ok() && token_ != before);
}

Command Credentials::PluginCommand() const {
  Json spec = {{"interactive", false}};
  if (auth_.exec->provide_cluster_info) {
    spec["cluster"] = {{"server", server_}, {"certificate-authority-data", ToBase64(ca_pem_)}};
  }
  Command command;
  command.argv = auth_.exec->argv;
  command.env = auth_.exec->env;
  command.env["KUBERNETES_EXEC_INFO"] =
      Dump({{"apiVersion", auth_.exec->api_version}, {"kind", "ExecCredential"}, {"spec", spec}});
  command.max_output = 1u << 20;
  return command;
}

Result<Credentials::Grant> Credentials::GrantFrom(const Result<CommandResult>& ran) const {
  const std::string hint =
      auth_.exec->install_hint.empty() ? "" : "; " + Printable(Trim(auth_.exec->install_hint));
  if (!ran.ok()) {
    Error error = ran.error();
    error.message += hint;
    return Fail(std::move(error));
  }
  if (ran->timed_out) return Fail(Code::kTimeout, "the plugin gave no answer in time");
  if (ran->exit_code != 0) {
    return Fail(Code::kPermission, fmt::format("the plugin ended with {}: {}", ran->exit_code,
                                               Shorten(Printable(Trim(ran->err)), 400)));
  }
  const Json answer = Json::parse(ran->out, nullptr, false);
  const Json& status = At(answer, "status");
  if (!status.is_object()) {
    return Fail(Code::kParse, "the plugin did not print an ExecCredential with a status");
  }
  if (TextAt(answer, "apiVersion") != auth_.exec->api_version) {
    return Fail(Code::kParse,
                fmt::format("the plugin speaks {}, the kubeconfig says {}",
                            Printable(TextAt(answer, "apiVersion")), auth_.exec->api_version));
  }
  Grant grant;
  const std::string expires = TextAt(status, "expirationTimestamp");
  if (!expires.empty() && !BeyondClocks(expires)) {
    TRY(grant.expires, ParseTime(expires).Context("expirationTimestamp"));
  }
  grant.token = TextAt(status, "token");
  grant.cert_pem = TextAt(status, "clientCertificateData");
  grant.key_pem = TextAt(status, "clientKeyData");
  if (grant.cert_pem.empty() != grant.key_pem.empty())
    return Fail(Code::kParse, "the plugin gave a certificate or a key, and not both");
  if (grant.token.empty() && grant.cert_pem.empty())
    return Fail(Code::kParse, "the plugin gave neither a token nor a certificate with its key");
  return grant;
}

std::string Credentials::Describe() const {
  if (!auth_.token_file.empty()) return "token file " + auth_.token_file;
  if (!auth_.token.empty()) return "the token in " + source_;
  if (auth_.exec) return fmt::format("exec plugin {} of {}", auth_.exec->argv.front(), source_);
  return has_certificate_ ? "the client certificate in " + source_ : "no credentials in " + source_;
}

}  // namespace muster::kube
