// The endpoint of a site that names its own.
#pragma once

#include "backend/endpoints.h"
#include "model/site.h"

namespace muster {

class NamedEndpoint final : public Endpoints {
 public:
  explicit NamedEndpoint(const Site& site) : site_(site) {}  // borrowed
  Result<std::unique_ptr<ServedModel>> Open(const std::string& checkpoint) override;

 private:
  const Site& site_;
};

}  // namespace muster
