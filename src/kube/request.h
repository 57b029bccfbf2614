// One question to the API server as a value, and the usual ones ready made: read, create, apply,
// patch, delete, bind, evict, status. What Muster writes carries its field manager.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/resource.h"

namespace muster::kube {

inline constexpr std::string_view kFieldManager = "muster";

struct Request {
  std::string verb = "get";  // as RBAC names it: get, list, watch, create, update, patch, delete
  Resource resource;
  std::string ns = {}, name = {}, subresource = {};
  std::string raw_path = {};  // asked as it is, in place of the resource's own path
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string body = {};
  std::string content_type = "application/json";
  Duration timeout = std::chrono::seconds(30);   // of one try
  Duration patience = std::chrono::seconds(60);  // of all tries together
  // All of it, the wait for a turn too: later it is neither sent nor under way. Zero: no such
  // bound.
  Duration within{};
  bool urgent = false;  // waits for nobody's answer: a lease that runs out

  void EndWithin(Duration all) { timeout = patience = within = all; }

  std::string Method() const;
  std::string PathAndQuery() const;
};

struct Selector {
  std::string label, field;  // "app=web,tier!=db", "spec.nodeName="
};

Request Get(const Resource& resource, std::string_view ns, std::string_view name);
// One page: up to `limit` objects (0 = all), from where `continue_token` ended.
Request List(const Resource& resource, std::string_view ns, const Selector& selector = {},
             int limit = 0, std::string_view continue_token = {});
Request Create(const Resource& resource, std::string_view ns, std::string body);
// Replaces the object; the resourceVersion in the body must be the one that is there.
Request Update(const Resource& resource, std::string_view ns, std::string_view name,
               std::string body, std::string_view subresource = {});
// Server-side apply. Without `force`, fields of other managers are a kConflict that names them.
Request Apply(const Resource& resource, std::string_view ns, std::string_view name,
              std::string body, bool force = false, std::string_view subresource = {});
// RFC 7386 JSON merge patch; a resourceVersion in it is a precondition.
Request MergePatch(const Resource& resource, std::string_view ns, std::string_view name,
                   std::string body, std::string_view subresource = {});
// Kubernetes' own strategic merge patch: lists of core types are merged by key.
Request StrategicPatch(const Resource& resource, std::string_view ns, std::string_view name,
                       std::string body, std::string_view subresource = {});

// What must still hold for a delete: the object is the same one, and as it was read.
struct Precondition {
  std::string uid, resource_version;
};
Request Delete(const Resource& resource, std::string_view ns, std::string_view name,
               const Precondition& precondition = {}, std::optional<int64_t> grace_s = {},
               std::string_view propagation = {});
Request DeleteAll(const Resource& resource, std::string_view ns, const Selector& selector);

// Binds a pod. With a uid, only that very pod: a namesake that was created since is refused.
Request Bind(std::string_view ns, std::string_view pod, std::string_view uid,
             std::string_view node);
// Asks for an eviction; a PodDisruptionBudget answers 429.
Request Evict(std::string_view ns, std::string_view pod, std::string_view uid = {},
              std::optional<int64_t> grace_s = {});

// The text as a JSON string, with quotes.
std::string JsonString(std::string_view text);

}  // namespace muster::kube
