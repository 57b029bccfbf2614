// The lab's endpoint: the checkpoint that its gang trained, served by a real process on loopback.
#pragma once

#include <string>

#include "backend/endpoints.h"
#include "world/world.h"

namespace muster::lab {

class LabEndpoints final : public Endpoints {
 public:
  // `base` is this machine, `lab_folder` where the lab's state is, `self_binary` the path of
  // muster. All kept by value or borrowed.
  LabEndpoints(World base, std::string lab_folder, std::string self_binary)
      : base_(base), lab_folder_(std::move(lab_folder)), self_binary_(std::move(self_binary)) {}
  Result<std::unique_ptr<ServedModel>> Open(const std::string& checkpoint) override;

 private:
  World base_;
  std::string lab_folder_, self_binary_;
};

}  // namespace muster::lab
