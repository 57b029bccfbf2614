// What every object of an API server carries, and an object of any kind as its JSON text. Only what
// Muster reads is kept; managedFields are dropped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

struct Owner {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool operator==(const Owner&) const = default;
};

struct Meta {
  std::string name, ns, uid, resource_version;
  int64_t generation = 0;
  std::optional<TimePoint> created, deleted;  // deleted: being deleted since
  std::optional<int64_t> deletion_grace_s;
  Labels labels, annotations;
  std::vector<Owner> owners;
  std::vector<std::string> finalizers;

  // "train/worker-0", or the name of what is in no namespace.
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
  const std::string* Annotation(std::string_view key) const;
  const std::string* Label(std::string_view key) const;
  bool operator==(const Meta&) const = default;
};

// What tells objects of one kind apart, read without the rest.
struct Ident {
  std::string key;  // Meta::Key()
  std::string uid;
  uint64_t version = 0;  // resourceVersion; comparable within one kind of one server
};

// Any kind. `json` is the text as it came.
struct Object {
  std::string api_version, kind;
  Meta meta;
  std::string json;
};

Result<Ident> ReadIdent(std::string_view json);
Result<Object> DecodeObject(std::string_view json);

// The value at an RFC 6901 pointer: a text as it is, anything else as JSON; nothing when absent.
std::optional<std::string> ValueAt(std::string_view json, std::string_view pointer);

// resourceVersions are opaque to clients but for one thing: within a kind they are decimal numbers
// that grow (Kubernetes 1.35 made it part of the API). 0 for other text.
uint64_t VersionNumber(std::string_view resource_version);

}  // namespace muster::kube
