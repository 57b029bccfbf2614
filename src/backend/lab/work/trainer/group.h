// The collectives of a training gang, over Gloo on loopback: the sum of gradients, and the exchange
// of small texts. It wraps Gloo, whose exceptions end here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/work/trainer/rendezvous.h"

namespace muster::lab {

class Group {
 public:
  virtual ~Group() = default;
  // Every element becomes the sum over all ranks; all ranks get the same bits, and the same every
  // time. kUnavailable when a rank has gone, kTimeout when one does not take part within 60 s.
  virtual Status Sum(std::span<float> values) = 0;
  // What each rank said, in rank order. Texts are at most 4 KiB.
  virtual Result<std::vector<std::string>> Exchange(std::string_view said) = 0;
  virtual Status Barrier() = 0;
};

// Joins the gang: Meet(), then a connection from each rank to each other one. A world of one has no
// connections.
Result<std::unique_ptr<Group>> JoinGroup(const Meeting& meeting, Clock& clock);

}  // namespace muster::lab
