// The HTTP server of the lab's endpoint. cpp-httplib stays in the .cc file; it must be built with
// its pkg-config flags.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/lab/work/trainer/model.h"
#include "base/result.h"
#include "base/time.h"
#include "world/world.h"

namespace muster::lab {

// What the lab's faults do to the endpoint now.
struct ServeFaults {
  bool down = false;
  double failing = 0;       // share of requests that get a 500
  Duration before_first{};  // added before the first token
  Duration between{};       // added before each later one
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string model;
  std::function<ServeFaults()> faults;  // asked at each request; safe for threads
};

class ModelServer {
 public:
  virtual ~ModelServer() = default;
  virtual int port() const = 0;
  virtual void Serve() = 0;  // for as long as the process lives
};
// Bound and listening when it returns. kConflict when the address is taken.
Result<std::unique_ptr<ModelServer>> MakeModelServer(const ServerOptions& options,
                                                     const CharModel& model, World& world);

}  // namespace muster::lab
