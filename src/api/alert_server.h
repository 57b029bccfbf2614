// Listens for Alertmanager's webhooks and works on what they ask for. cpp-httplib stays in the .cc
// file; it must be built with its pkg-config flags.
#pragma once

#include <memory>

#include "app/alerts/alert_desk.h"
#include "app/alerts/alert_server.h"

namespace muster {

// Bound and listening when it returns; kConflict when the address is taken. `desk` is borrowed.
//
//   POST /alerts   200 with what came of it, once that is on disk · 400 no webhook of version 4 ·
//                  401 · 413 over 1 MiB · 503 send it again: too much is open, or the disk is full
//   GET  /alerts   the episodes, newest first, at most 200
//   GET  /healthz  200
Result<std::unique_ptr<AlertServer>> MakeAlertServer(AlertDesk& desk, World& world,
                                                     const AlertServerOptions& options);

}  // namespace muster
