#include "backend/lab/state/chance.h"

#include <fmt/format.h>

#include "world/random.h"

namespace muster::lab {

uint64_t DrawBits(const LabState& state, std::string_view part, std::string_view use) {
  // FNV-1a over the names (Fowler, Noll, Vo), mixed with the seed by SplitMix64.
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::string_view text : {part, std::string_view("\n"), use}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return SeededRandom(hash ^ (state.seed * 0x9E3779B97F4A7C15ull)).Next();
}

double Draw(const LabState& state, std::string_view part, std::string_view use) {
  return static_cast<double>(DrawBits(state, part, use) >> 11) * 0x1.0p-53;
}

std::string DrawUuid(const LabState& state, std::string_view part, std::string_view use) {
  const uint64_t a = DrawBits(state, part, use), b = SeededRandom(a).Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffffull);
}

}  // namespace muster::lab
