// What a pod's status says of its containers, in words.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace muster::kubernetes {

// What its container waits for, or ended with: "ImagePullBackOff: no such image".
std::string WordOf(const nlohmann::json& pod);
// The init container that failed, so that no other was started, with what it said at its end; empty
// when none did.
std::string StoppedBefore(const nlohmann::json& pod);
// A container of it runs, or ran.
bool HasRun(const nlohmann::json& pod);

}  // namespace muster::kubernetes
