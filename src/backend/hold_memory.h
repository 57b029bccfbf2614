// Leases that lie on the hosts themselves cannot be read while a host is down, and that is when its
// power must be cycled. So the last lease that was read from each is kept beside the site, and goes
// by the host's word again as soon as it answers.
#pragma once

#include <optional>
#include <string>

#include "backend/actuator.h"
#include "world/world.h"

namespace muster {

class HoldMemory {
 public:
  // `folder` is made when first needed. Ports are borrowed.
  HoldMemory(World world, std::string folder) : world_(world), folder_(std::move(folder)) {}

  // What was read from the host just now.
  void Saw(const std::string& node, const Hold& hold);
  // The lease that was there when it was last read, said to be that; nothing where there was none.
  std::optional<Hold> Last(const std::string& node);

 private:
  std::string PathOf(const std::string& node) const;

  World world_;
  std::string folder_;
};

}  // namespace muster
