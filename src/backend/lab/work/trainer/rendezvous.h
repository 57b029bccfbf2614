// How the ranks of a gang find each other: rank 0 listens at MASTER_ADDR:MASTER_PORT, each rank
// brings a few bytes, and all get all of them once the last has come. It is a barrier with a
// deadline that says WHO is missing, which the store of torchrun does not (its ranks wait and name
// nobody). Sockets are used here and not through a port: this is the job's own traffic.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/clock.h"

namespace muster::lab {

struct Meeting {
  int rank = 0;
  int world = 1;
  std::string address = "127.0.0.1";
  int port = 29500;
  Duration timeout = std::chrono::seconds(15);
};

// What every rank brought, in rank order. kTimeout: "1 of 8 ranks did not come within 15s: missing
// rank 5", on every rank that came. kConflict: two processes say that they are the same rank, or of
// worlds of different sizes. Returns within `timeout` and a grace of 3 s.
Result<std::vector<std::string>> Meet(const Meeting& meeting, std::string_view brought,
                                      Clock& clock);

}  // namespace muster::lab
