// The chance port. Seeded in tests and in the lab; from the operating system in main.
#pragma once

#include <cstdint>

namespace muster {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // In [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
};

// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace muster
