// A task of a Volcano Job, and the words by which its JSON is read. Private to volcano_*.cc.
#pragma once

#include <string>

#include "kube/json.h"

namespace muster::kubesched::volcano {

using kube::CountAt;
using kube::Json;
using kube::ListAt;
using kube::ObjectAt;
using kube::TextAt;

struct Task {
  std::string name;
  int replicas = 1;
  const Json* spec = nullptr;
};

}  // namespace muster::kubesched::volcano
