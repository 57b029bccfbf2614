// For FakeApi::fault: who asks for a path with `part` in it may not.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "kube/testing/fake_api.h"

namespace muster::kube::testing {

inline std::function<Fault(const Exchange&)> Forbids(std::string part) {
  return [part = std::move(part)](const Exchange& exchange) {
    if (exchange.path.find(part) == std::string::npos) return Fault{};
    return Fault{Fault::Kind::kRefuse, 403,
                 R"({"kind":"Status","reason":"Forbidden","code":403,"message":")" + part +
                     R"( is forbidden"})"};
  };
}

}  // namespace muster::kube::testing
