// The inference side of the lab: serves a checkpoint of the lab's own training behind an endpoint
// that speaks the OpenAI API, as a real process on loopback, and starts it for gate 8.
//
//   GET  /health               200 {"status":"ok"}
//   GET  /v1/models            the one model
//   POST /v1/chat/completions  whole, or as server-sent events with "stream": true
//   POST /v1/completions       the same for a plain prompt
//   GET  /metrics              Prometheus text, under vLLM's names where they mean the same
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "world/world.h"

namespace muster::lab {

inline constexpr const char* kServedModel = "muster-char-lm";

// Arguments: --checkpoint FOLDER; optional --host (127.0.0.1), --port (0 = a free one), --model
// NAME, --with-parent yes (ends when the process that started it has gone). MUSTER_LAB names the
// lab whose faults apply (endpoint_slow, endpoint_failing, endpoint_down), read again while it
// serves. Prints "listening on http://127.0.0.1:PORT" once it can be asked. Returns the exit code:
// 2 for arguments, 1 when the checkpoint does not verify or the address is taken, or endpoint_down
// is on it.
int ServeMain(std::span<const std::string> args, World& world);

struct EndpointOptions {
  std::vector<std::string>
      argv;  // what runs ServeMain, without its arguments: {"/proc/self/exe", "<hidden verb>"}
  std::string checkpoint;  // folder with a manifest
  std::string lab;         // the lab's folder; empty = no faults
  std::string model = kServedModel;
  Duration timeout = std::chrono::seconds(20);  // until /health answers 200
};

// A server that was started. Destroying it ends the process.
struct ServedEndpoint {
  std::string url;  // "http://127.0.0.1:41234"; known even when it went down again
  std::string model;
  bool ready = false;  // /health answered 200
  std::string why;     // why it is not ready
  std::unique_ptr<Child> child;
};

// Starts the server and waits, at most `timeout`, until it is healthy. One that said where it
// listens but is not healthy is no error: it is given back with `ready` false, so that the gate can
// observe it. An Error means that there is no address to ask: it could not be started, or ended
// before it listened (kCorrupt, kNotFound: its checkpoint), with its own words.
Result<ServedEndpoint> StartEndpoint(World& world, const EndpointOptions& options);

}  // namespace muster::lab
