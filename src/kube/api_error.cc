#include "kube/api_error.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kube {

namespace {

// Words of the server that go into a message for a person.
std::string Said(const std::string& text) { return Shorten(Printable(Trim(text)), 600); }

std::string Doing(const std::string& verb) {
  if (verb == "get") return "reading";
  if (verb == "list") return "listing";
  if (verb == "watch") return "watching";
  if (verb == "create") return "creating";
  if (verb == "update") return "updating";
  if (verb == "patch") return "patching";
  if (verb == "delete") return "deleting";
  return verb;
}

// The rule that an administrator adds; RBAC writes a subresource as pods/binding.
std::string RuleFor(const Asked& asked) {
  std::string resource = asked.resource.plural;
  if (!asked.subresource.empty()) resource += "/" + asked.subresource;
  return fmt::format(
      "allow it with a (Cluster)Role rule {{apiGroups: [\"{}\"], resources: [\"{}\"], verbs: "
      "[\"{}\"]}} and bind it to that user",
      asked.resource.group, Printable(resource), asked.verb);
}

Error Forbidden(const ApiStatus& status, const Asked& asked) {
  // Admission refuses with 403 too; then a Role would not help.
  const bool admission = Contains(status.message, "admission") ||
                         Contains(status.message, "exceeded quota") ||
                         Contains(status.message, "violates PodSecurity");
  const std::string said = Said(status.message);
  return {Code::kPermission,
          admission ? fmt::format("{}: refused by admission: {}", asked.ToString(), said)
                    : fmt::format("{}: forbidden: {}; {}", asked.ToString(), said, RuleFor(asked)),
          {}};
}

Error Unauthorized(const ApiStatus& status, const Asked& asked) {
  const std::string said = Said(status.message);
  return {
      Code::kPermission,
      fmt::format("{}: the server does not accept our credentials ({}): {}; renew them, or name "
                  "another kubeconfig or context",
                  asked.ToString(), Printable(asked.identity),
                  said.empty() ? "they are expired, revoked or of another cluster" : said),
      {}};
}

Error Conflict(const ApiStatus& status, const Asked& asked) {
  std::string owners;
  for (const ApiStatus::Cause& cause : status.causes) {
    if (cause.reason != "FieldManagerConflict") continue;
    owners += fmt::format("{}{} ({})", owners.empty() ? "" : ", ", Printable(cause.field),
                          Said(cause.message));
  }
  if (!owners.empty()) {
    return {Code::kConflict,
            fmt::format("{}: other managers own fields that we would set: {}; take the fields out "
                        "of what we apply, or apply with force to take them over",
                        asked.ToString(), owners),
            {}};
  }
  return {Code::kConflict,
          status.reason == "AlreadyExists"
              ? fmt::format("{}: it exists already", asked.ToString())
              : fmt::format("{}: somebody changed it since it was read: {}", asked.ToString(),
                            Said(status.message)),
          {}};
}

Error Invalid(const ApiStatus& status, const Asked& asked) {
  std::string text = fmt::format("{}: {}", asked.ToString(), Said(status.message));
  for (const ApiStatus::Cause& cause : status.causes) {
    // The message repeats the causes of short lists.
    if (!cause.field.empty() && !Contains(status.message, cause.field)) {
      text += fmt::format("; {}: {}", Printable(cause.field), Said(cause.message));
    }
  }
  return {Code::kInvalid, text, {}};
}

Error Transient(Code code, const ApiStatus& status, const Asked& asked) {
  const std::string said = Said(status.message);
  Error error{code,
              fmt::format("{}: the server answered {}{}{}", asked.ToString(), status.code,
                          said.empty() ? "" : ": ", said),
              {}};
  error.retryable = true;
  return error;
}

}  // namespace

std::string Asked::ToString() const {
  std::string text = Doing(verb) + " " + Printable(resource.Title());
  if (!subresource.empty()) text += "/" + Printable(subresource);
  if (!name.empty()) text += " \"" + Printable(name) + "\"";
  if (!ns.empty()) text += " in namespace " + Printable(ns);
  return text;
}

ApiStatus ReadApiStatus(int http_status, std::string_view body, std::string_view retry_after) {
  ApiStatus status;
  status.code = http_status;
  if (const auto seconds = ParseInt(Trim(retry_after)); seconds.ok() && *seconds >= 0) {
    status.retry_after = std::chrono::seconds(std::min<int64_t>(*seconds, 3600));
  }
  const Json json = Json::parse(body, nullptr, false);
  if (TextAt(json, "kind") != "Status") {
    status.message = Shorten(Trim(body), 400);
    return status;
  }
  status.is_status = true;
  status.reason = TextAt(json, "reason");
  status.message = TextAt(json, "message");
  status.code = static_cast<int>(IntAt(json, "code", status.code));
  const Json& details = At(json, "details");
  status.kind = TextAt(details, "kind");
  status.name = TextAt(details, "name");
  if (const int64_t wait = IntAt(details, "retryAfterSeconds", -1);
      wait >= 0 && !status.retry_after)
    status.retry_after = std::chrono::seconds(std::min<int64_t>(wait, 3600));
  for (const Json& cause : ListAt(details, "causes")) {
    if (!cause.is_object()) continue;
    status.causes.push_back(
        {TextAt(cause, "reason"), TextAt(cause, "message"), TextAt(cause, "field")});
  }
  return status;
}

Error ToError(const ApiStatus& status, const Asked& asked) {
  switch (status.code) {
    case 400:
    case 415:
    case 422:
      return Invalid(status, asked);
    case 401:
      return Unauthorized(status, asked);
    case 403:
      return Forbidden(status, asked);
    case 404:
      return {Code::kNotFound, fmt::format("{}: {}", asked.ToString(), Said(status.message)), {}};
    case 409:
      return Conflict(status, asked);
    case 410: {
      Error error{Code::kConflict,
                  fmt::format("{}: the server no longer keeps that resourceVersion: {}",
                              asked.ToString(), Said(status.message)),
                  {}};
      error.retryable = true;
      return error;
    }
    case 504:
      return Transient(Code::kTimeout, status, asked);
    default:
      if (status.code == 429 || status.code >= 500) {
        return Transient(Code::kUnavailable, status, asked);
      }
      return {Code::kInternal,
              fmt::format("{}: the server answered {}, which this client does not know: {}",
                          asked.ToString(), status.code, Said(status.message)),
              {}};
  }
}

Error MissingResource(const Asked& asked, const std::optional<std::vector<std::string>>& served) {
  const std::string group = asked.resource.group.empty() ? "the core group" : asked.resource.group;
  if (!served) {
    return {Code::kNotFound,
            fmt::format("{}: this cluster serves no {}: its CRDs are not installed (or the API is "
                        "switched off on the server); install what brings them, then ask again",
                        asked.ToString(), group),
            {}};
  }
  const bool has_version =
      std::find(served->begin(), served->end(), asked.resource.version) != served->end();
  if (has_version) {
    return {Code::kNotFound,
            fmt::format("{}: {} is served, but has no {}: its CRD is missing or of another release",
                        asked.ToString(), asked.resource.ApiVersion(), asked.resource.plural),
            {}};
  }
  return {Code::kNotFound,
          fmt::format("{}: this cluster serves {} as {}, not as {}: install a release that serves "
                      "{}, or switch that version on",
                      asked.ToString(), group, fmt::join(*served, ", "), asked.resource.version,
                      asked.resource.version),
          {}};
}

Error Unreachable(Error error, const Asked& asked) {
  if (error.code == Code::kUnavailable || error.code == Code::kTimeout) error.retryable = true;
  error.message +=
      fmt::format("; is the API server at {} up and reachable from here?", Printable(asked.server));
  return std::move(error).Context(asked.ToString());
}

}  // namespace muster::kube
