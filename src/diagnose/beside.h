// What stands near a sign and no rule reads: programs often say why a line before or after the one
// that is known. Lines are kept near signs only, shortened, so that memory is bounded.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

struct NearLine {
  Place at;
  std::string text;  // as it was read, at most kTextBytes
};

class Beside {
 public:
  static constexpr size_t kBefore = 4, kAfter = 6;  // lines
  static constexpr size_t kMostSigns = 256;         // later ones have nothing beside them

  // Another file begins.
  void Begin();
  // A line that no rule read. O(kTextBytes + signs of the last kAfter lines).
  void Unread(std::string_view line, const Place& at);
  // A line that is a sign, before Unread of the same line.
  void Sign(const Place& at);
  // In the order of the input; empty for a place that is no sign.
  const std::vector<NearLine>& Of(const Place& sign) const;

 private:
  std::array<NearLine, kBefore> before_;  // a ring
  size_t next_ = 0;
  std::map<Place, std::vector<NearLine>> near_;
  std::vector<Place> open_;  // signs that lines may still follow
};

// How much a line that no rule knows tells by itself: that it complains, gives a reason, has words
// enough to say either. 0: nothing. Pure.
int Tells(std::string_view line);

// Of these lines the ones that complain, give a reason, or go on with a sign that ends in a colon:
// the `most` most telling ones, in the order of the input. Pure.
std::vector<NearLine> MostTelling(const std::vector<NearLine>& lines, const NearLine& sign,
                                  size_t most);

}  // namespace muster::diagnose
