// What an API server said instead of the answer, read once and turned into an error that names the
// fix: which verb is forbidden and to whom, whether an API version or a CRD is missing, whose field
// it is, what to renew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/resource.h"

namespace muster::kube {

// A `Status` object (meta/v1), or what stands in for it when the body is none.
struct ApiStatus {
  int code = 0;
  std::string reason;   // "NotFound", "Conflict", "Expired"; empty when the server said none
  std::string message;  // the server's words, untrusted
  std::string kind, name;
  struct Cause {
    std::string reason, message, field;
  };
  std::vector<Cause> causes;
  std::optional<Duration> retry_after;
  bool is_status = false;  // a Status object came, not some text
};

// `body` may be anything. `retry_after` is the header's text, or empty.
ApiStatus ReadApiStatus(int http_status, std::string_view body, std::string_view retry_after);

// What was being asked, for the error's words.
struct Asked {
  std::string verb;  // as RBAC names it: get, list, watch, create, update, patch, delete
  Resource resource;
  std::string ns, name, subresource;
  std::string server;    // "https://10.0.0.1:6443"
  std::string identity;  // where the credentials come from: "token file /var/run/..."
  // "listing pods in namespace train"
  std::string ToString() const;
};

// Codes: 401 and 403 kPermission, 404 kNotFound, 409 kConflict, 410 kConflict (retryable: list
// again), 400 and 422 kInvalid, 429 and 5xx kUnavailable (retryable), 504 kTimeout. The server's
// text passes through Printable.
Error ToError(const ApiStatus& status, const Asked& asked);

// A 404 without a Status object means that the path itself is unknown: `served` is what a look at
// /apis/GROUP said (nothing: the group does not exist; otherwise its versions).
Error MissingResource(const Asked& asked, const std::optional<std::vector<std::string>>& served);

// Nobody answered, or not in HTTP.
Error Unreachable(Error error, const Asked& asked);

}  // namespace muster::kube
