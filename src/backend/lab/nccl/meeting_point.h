// A small key-value store over TCP where the ranks of a gang meet: rank 0 serves it at MASTER_PORT,
// every rank writes where it can be reached and waits for what the others wrote. Gloo brings none
// that needs neither a shared file system nor Redis.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::lab {

// Serves until destroyed. Listens on the address only, so that nothing outside can join.
class MeetingServer {
 public:
  static Result<std::unique_ptr<MeetingServer>> Start(const std::string& address, int port);
  virtual ~MeetingServer() = default;
  virtual int port() const = 0;
};

// One connection to it. Not for threads.
class MeetingClient {
 public:
  // Tries again until somebody listens there or the time is over (kTimeout).
  static Result<std::unique_ptr<MeetingClient>> Connect(const std::string& address, int port,
                                                        std::chrono::milliseconds timeout);
  virtual ~MeetingClient() = default;
  virtual Status Set(const std::string& key, const std::string& value) = 0;
  // Waits for the key to be written; kTimeout names it.
  virtual Result<std::string> Get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace muster::lab
