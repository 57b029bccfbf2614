// A hash of short texts for the tables that every NCCL line is looked up in: one product for each
// 16 bytes, no branch for each byte. For those tables only: whoever wants to can make two texts
// collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace muster::diagnose {

namespace hash_detail {

template <class Word>
uint64_t Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Both halves of the product of two words, folded.
inline uint64_t Fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

}  // namespace hash_detail

// The last word overlaps the one before, so that every load has a fixed size. O(length).
inline uint64_t HashOf(std::string_view text) {
  using hash_detail::Fold;
  using hash_detail::Load;
  constexpr uint64_t kOne = 0x9e3779b97f4a7c15ull, kTwo = 0xd6e8feb86659fd93ull;
  // The length reaches all bits: where it meets the text's own, one may not undo the other.
  const char* at = text.data();
  const char* const end = at + text.size();
  uint64_t h = (text.size() + 1) * kTwo;
  for (; end - at > 16; at += 16) h = Fold(Load<uint64_t>(at) ^ kOne, Load<uint64_t>(at + 8) ^ h);
  if (end - at >= 8) return Fold(Load<uint64_t>(at) ^ kOne, Load<uint64_t>(end - 8) ^ h);
  if (end - at >= 4) return Fold(Load<uint32_t>(at) ^ kOne, Load<uint32_t>(end - 4) ^ h);
  for (; at < end; ++at) h = Fold(static_cast<uint8_t>(*at) ^ kOne, h);
  return h;
}

}  // namespace muster::diagnose
