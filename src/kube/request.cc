#include "kube/request.h"

#include <fmt/format.h>

#include "kube/json.h"

namespace muster::kube {

namespace {

Request Make(std::string verb, const Resource& resource, std::string_view ns, std::string_view name,
             std::string_view subresource = {}) {
  Request request;
  request.verb = std::move(verb);
  request.resource = resource;
  request.ns = resource.namespaced ? ns : std::string_view();
  request.name = name;
  request.subresource = subresource;
  return request;
}

void AddSelector(const Selector& selector, Request& request) {
  if (!selector.label.empty()) request.query.emplace_back("labelSelector", selector.label);
  if (!selector.field.empty()) request.query.emplace_back("fieldSelector", selector.field);
}

Request Patch(const char* content_type, const Resource& resource, std::string_view ns,
              std::string_view name, std::string body, std::string_view subresource) {
  Request request = Make("patch", resource, ns, name, subresource);
  request.query.emplace_back("fieldManager", kFieldManager);
  request.content_type = content_type;
  request.body = std::move(body);
  return request;
}

Json DeleteOptions(const Precondition& precondition, std::optional<int64_t> grace_s,
                   std::string_view propagation) {
  Json options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (grace_s) options["gracePeriodSeconds"] = *grace_s;
  if (!propagation.empty()) options["propagationPolicy"] = propagation;
  if (!precondition.uid.empty()) options["preconditions"]["uid"] = precondition.uid;
  if (!precondition.resource_version.empty()) {
    options["preconditions"]["resourceVersion"] = precondition.resource_version;
  }
  return options;
}

}  // namespace

std::string Request::Method() const {
  if (verb == "create") return "POST";
  if (verb == "update") return "PUT";
  if (verb == "patch") return "PATCH";
  if (verb == "delete" || verb == "deletecollection") return "DELETE";
  return "GET";
}

std::string Request::PathAndQuery() const {
  if (!raw_path.empty()) return raw_path;
  std::string path = resource.Path(ns, name, subresource);
  char separator = '?';
  for (const auto& [key, value] : query) {
    path += fmt::format("{}{}={}", separator, PercentEncode(key), PercentEncode(value));
    separator = '&';
  }
  return path;
}

Request Get(const Resource& resource, std::string_view ns, std::string_view name) {
  return Make("get", resource, ns, name);
}

Request List(const Resource& resource, std::string_view ns, const Selector& selector, int limit,
             std::string_view continue_token) {
  Request request = Make("list", resource, ns, {});
  AddSelector(selector, request);
  if (limit > 0) request.query.emplace_back("limit", std::to_string(limit));
  if (!continue_token.empty()) request.query.emplace_back("continue", continue_token);
  return request;
}

Request Create(const Resource& resource, std::string_view ns, std::string body) {
  Request request = Make("create", resource, ns, {});
  request.query.emplace_back("fieldManager", kFieldManager);
  request.body = std::move(body);
  return request;
}

Request Update(const Resource& resource, std::string_view ns, std::string_view name,
               std::string body, std::string_view subresource) {
  Request request = Make("update", resource, ns, name, subresource);
  request.query.emplace_back("fieldManager", kFieldManager);
  request.body = std::move(body);
  return request;
}

Request Apply(const Resource& resource, std::string_view ns, std::string_view name,
              std::string body, bool force, std::string_view subresource) {
  Request request =
      Patch("application/apply-patch+yaml", resource, ns, name, std::move(body), subresource);
  if (force) request.query.emplace_back("force", "true");
  return request;
}

Request MergePatch(const Resource& resource, std::string_view ns, std::string_view name,
                   std::string body, std::string_view subresource) {
  return Patch("application/merge-patch+json", resource, ns, name, std::move(body), subresource);
}

Request StrategicPatch(const Resource& resource, std::string_view ns, std::string_view name,
                       std::string body, std::string_view subresource) {
  return Patch("application/strategic-merge-patch+json", resource, ns, name, std::move(body),
               subresource);
}

Request Delete(const Resource& resource, std::string_view ns, std::string_view name,
               const Precondition& precondition, std::optional<int64_t> grace_s,
               std::string_view propagation) {
  Request request = Make("delete", resource, ns, name);
  request.body = Dump(DeleteOptions(precondition, grace_s, propagation));
  return request;
}

Request DeleteAll(const Resource& resource, std::string_view ns, const Selector& selector) {
  Request request = Make("deletecollection", resource, ns, {});
  AddSelector(selector, request);
  return request;
}

Request Bind(std::string_view ns, std::string_view pod, std::string_view uid,
             std::string_view node) {
  Request request = Make("create", kPods, ns, pod, "binding");
  request.body = fmt::format(
      R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":{}{}}},"target":{{"apiVersion":"v1","kind":"Node","name":{}}}}})",
      JsonString(pod), uid.empty() ? "" : ",\"uid\":" + JsonString(uid), JsonString(node));
  return request;
}

Request Evict(std::string_view ns, std::string_view pod, std::string_view uid,
              std::optional<int64_t> grace_s) {
  Request request = Make("create", kPods, ns, pod, "eviction");
  request.body = Dump({{"apiVersion", "policy/v1"},
                       {"kind", "Eviction"},
                       {"metadata", {{"name", pod}, {"namespace", ns}}},
                       {"deleteOptions", DeleteOptions({std::string(uid), {}}, grace_s, {})}});
  return request;
}

std::string JsonString(std::string_view text) { return Dump(Json(text)); }

}  // namespace muster::kube
