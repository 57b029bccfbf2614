// The inference endpoint that gate 8 asks: the site's own, or one that the backend starts for the
// checkpoint of gate 7.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "world/http.h"

namespace muster {

// An endpoint for as long as this object lives; what was started for it ends with it.
class ServedModel {
 public:
  virtual ~ServedModel() = default;
  virtual std::string url() const = 0;    // base URL, without a path
  virtual std::string model() const = 0;  // the name it lists in /v1/models; empty = any
};

class Endpoints {
 public:
  virtual ~Endpoints() = default;
  // `checkpoint` is the folder that gate 7 wrote; a site with an endpoint of its own does not use
  // it. An endpoint that is not healthy is no error here: the gate observes that. kNotFound when
  // there is nothing to ask at all.
  virtual Result<std::unique_ptr<ServedModel>> Open(const std::string& checkpoint) = 0;
};

}  // namespace muster
