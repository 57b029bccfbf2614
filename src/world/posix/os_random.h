// Chance from the kernel.
#pragma once

#include "world/random.h"

namespace muster {

class OsRandom final : public Random {
 public:
  uint64_t Next() override;
};

}  // namespace muster
