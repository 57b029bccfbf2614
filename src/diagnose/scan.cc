#include "diagnose/scan.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace muster::diagnose {

namespace {

constexpr int kHashBits = 17;  // 16 KiB of filter
constexpr uint32_t kGramMask = (1u << 8 * Scanner::kGram) - 1;

constexpr std::array<uint8_t, 256> kFold = [] {
  std::array<uint8_t, 256> fold{};
  for (size_t c = 0; c < 256; ++c)
    fold[c] = static_cast<uint8_t>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return fold;
}();

uint8_t Folded(char c) { return kFold[static_cast<uint8_t>(c)]; }

// Fibonacci hashing (Knuth, TAOCP volume 3, 6.4).
uint32_t Hash(uint32_t gram) { return (gram * 2654435769u) >> (32 - kHashBits); }

uint32_t GramAt(std::string_view text, size_t at) {
  uint32_t gram = 0;
  for (size_t i = 0; i < Scanner::kGram; ++i) gram = gram << 8 | Folded(text[at + i]);
  return gram;
}

bool SameAt(std::string_view line, size_t at, std::string_view anchor) {
  for (size_t i = 0; i < anchor.size(); ++i)
    if (Folded(line[at + i]) != static_cast<uint8_t>(anchor[i])) return false;
  return true;
}

}  // namespace

Scanner::Scanner(std::vector<std::string> anchors)
    : anchors_(std::move(anchors)), filter_((1u << kHashBits) / 64), first_(1u << kHashBits) {
  // What many anchors share is what lines are full of as well.
  std::vector<uint32_t> shared(1u << kHashBits);  // by a gram's hash, as the filter is
  for (const std::string& anchor : anchors_)
    for (size_t at = 0; at + kGram <= anchor.size(); ++at) ++shared[Hash(GramAt(anchor, at))];
  for (uint32_t i = 0; i < anchors_.size(); ++i) {
    assert(anchors_[i].size() >= kGram);
    Entry best{GramAt(anchors_[i], 0), i, 0};
    for (size_t at = 1; at + kGram <= anchors_[i].size(); ++at)
      if (const uint32_t gram = GramAt(anchors_[i], at);
          shared[Hash(gram)] < shared[Hash(best.gram)])
        best = {gram, i, static_cast<uint32_t>(at)};
    entries_.push_back(best);
  }
  const auto key = [](const Entry& e) { return std::pair(Hash(e.gram), e.gram); };
  std::stable_sort(entries_.begin(), entries_.end(),
                   [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  for (size_t i = entries_.size(); i-- > 0;) {
    const uint32_t hash = Hash(entries_[i].gram);
    filter_[hash / 64] |= uint64_t{1} << hash % 64;
    first_[hash] = static_cast<uint32_t>(i);
  }
}

void Scanner::Scan(std::string_view line, std::vector<uint32_t>& hits) const {
  struct Found {
    size_t end;
    uint32_t anchor;
  };
  thread_local std::vector<Found> found;
  found.clear();
  uint32_t gram = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    gram = (gram << 8 | Folded(line[i])) & kGramMask;
    const uint32_t hash = Hash(gram);
    if ((filter_[hash / 64] >> hash % 64 & 1) == 0 || i + 1 < kGram) [[likely]]
      continue;
    for (size_t e = first_[hash];
         e < entries_.size() && entries_[e].gram <= gram && Hash(entries_[e].gram) == hash; ++e) {
      const Entry& entry = entries_[e];
      if (entry.gram != gram) continue;
      const size_t gram_at = i + 1 - kGram;
      const std::string& anchor = anchors_[entry.anchor];
      if (gram_at < entry.offset || gram_at - entry.offset + anchor.size() > line.size()) continue;
      const size_t at = gram_at - entry.offset;
      if (SameAt(line, at, anchor)) found.push_back({at + anchor.size(), entry.anchor});
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
    if (a.end != b.end) return a.end < b.end;
    return anchors_[a.anchor].size() > anchors_[b.anchor].size();
  });
  for (const Found& f : found)
    if (std::find(hits.begin(), hits.end(), f.anchor) == hits.end()) hits.push_back(f.anchor);
}

}  // namespace muster::diagnose
