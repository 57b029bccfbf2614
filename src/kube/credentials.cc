#include "kube/credentials.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "kube/base64.h"

namespace muster::kube {

namespace {

using Json = nlohmann::json;

// Kubelets renew a bound token at 80 % of its life; client-go looks at the file once a minute.
constexpr Duration kFileAge = std::chrono::minutes(1);
// A token that ends within this time may end on the way.
constexpr Duration kEarly = std::chrono::seconds(10);

std::string StatusText(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
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
  if (!fresh_ || clock_.Now() + kEarly >= expires_) {
    TRY_VOID(RunPlugin().Context(Describe()));
  }
  return token_;
}

bool Credentials::Refused() {
  if (auth_.token_file.empty() && (!auth_.token.empty() || !auth_.exec)) return false;
  const std::string before = token_;
  fresh_ = false;
  // A file that was not rotated gives the same token: no hope, and the message says so.
  return auth_.token_file.empty() || (Token().ok() && token_ != before);
}

Status Credentials::RunPlugin() {
  Json spec = {{"interactive", false}};
  if (auth_.exec->provide_cluster_info) {
    spec["cluster"] = {{"server", server_}, {"certificate-authority-data", ToBase64(ca_pem_)}};
  }
  Command command;
  command.argv = auth_.exec->argv;
  command.env = auth_.exec->env;
  command.env["KUBERNETES_EXEC_INFO"] = Json{
      {"apiVersion", auth_.exec->api_version},
      {"kind", "ExecCredential"},
      {"spec", spec}}.dump();
  command.max_output = 1u << 20;
  auto ran = processes_.Run(command);
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
  const auto status = answer.is_object() ? answer.find("status") : answer.end();
  if (!answer.is_object() || status == answer.end() || !status->is_object()) {
    return Fail(Code::kParse, "the plugin did not print an ExecCredential with a status");
  }
  if (StatusText(answer, "apiVersion") != auth_.exec->api_version) {
    return Fail(Code::kParse,
                fmt::format("the plugin speaks {}, the kubeconfig says {}",
                            Printable(StatusText(answer, "apiVersion")), auth_.exec->api_version));
  }
  const std::string expires = StatusText(*status, "expirationTimestamp");
  expires_ = TimePoint::max();
  if (!expires.empty()) {
    TRY(expires_, ParseTime(expires).Context("expirationTimestamp"));
  }
  token_ = StatusText(*status, "token");
  cert_pem_ = StatusText(*status, "clientCertificateData");
  key_pem_ = StatusText(*status, "clientKeyData");
  if (token_.empty() && (cert_pem_.empty() || key_pem_.empty())) {
    return Fail(Code::kParse, "the plugin gave neither a token nor a certificate with its key");
  }
  fresh_ = true;
  return {};
}

std::string Credentials::Describe() const {
  if (!auth_.token_file.empty()) return "token file " + auth_.token_file;
  if (!auth_.token.empty()) return "the token in " + source_;
  if (auth_.exec) return fmt::format("exec plugin {} of {}", auth_.exec->argv.front(), source_);
  return has_certificate_ ? "the client certificate in " + source_ : "no credentials in " + source_;
}

}  // namespace muster::kube
