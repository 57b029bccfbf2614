// The real half of a rehearsed collective: processes find each other at MASTER_ADDR:MASTER_PORT and
// move real data over loopback TCP with Gloo. Sockets are opened here and nowhere else in this
// room: a rank is a program of its own, and its peers are its world.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::lab {

struct ExchangeSpec {
  int rank = 0, world = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;
  std::chrono::milliseconds timeout =
      std::chrono::seconds(20);  // of the rendezvous, and of each collective after it
  std::string note;              // handed to every rank: see Notes()
};

// One rank's place in the gang. Not for threads.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Element-wise sums over all ranks, in place. kTimeout or kUnavailable when a peer is late or
  // gone.
  virtual Status Sum(std::span<float> values) = 0;
  virtual Status Sum(std::span<int64_t> values) = 0;
  virtual Status Barrier() = 0;
  // What each rank gave as its note, by rank.
  virtual const std::vector<std::string>& Notes() const = 0;
};

// Waits until all ranks are there. kTimeout naming the missing ranks (rank 0), or the rank waited
// for.
Result<std::unique_ptr<Exchange>> JoinExchange(const ExchangeSpec& spec);

}  // namespace muster::lab
