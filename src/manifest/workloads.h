// The pods that any dialect's object would make, seen alike: one PodSet for each role, with its
// count, its minimum and its template. What reads gangs and what lints both stand on this.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/document.h"
#include "model/workload.h"

namespace muster {

// Views into the Document's tree, which must outlive them. A missing part is a null node.
struct PodSet {
  std::string role;                    // "master", "Worker", a replicated job's name; may be empty
  int64_t count = 1;                   // pods
  int64_t min = 1;                     // that start together at least
  const YamlNode* at = nullptr;        // the mapping that declares the role
  const YamlNode* count_at = nullptr;  // the node that says the count
  const YamlNode* pod_template = nullptr;  // metadata and spec
  const YamlNode* pod = nullptr;           // its spec; for a TrainJob the trainer section

  const std::vector<YamlNode>& Containers() const;
  const std::vector<YamlNode>& InitContainers() const;
};

struct Workload {
  const Document* doc = nullptr;
  std::vector<PodSet> sets;

  int64_t PodCount() const;
  // Several pods that are no use one by one: a gang, whether or not something schedules it so.
  bool IsGang() const;
};

// Nothing for a document that makes no pods (a queue, a service).
std::optional<Workload> WorkloadOf(const Document& doc);

// Kueue's queue-name label, Volcano's or KAI's queue; empty when none is said.
std::string QueueOf(const Document& doc);

// What one pod asks of a node: containers added up, the largest init container, sidecars and
// overhead; a request that is not said is its limit. Amounts that cannot be read are told to `bad`
// and left out.
using BadAmount = std::function<void(const YamlNode& at, const std::string& what)>;
Resources PodShape(const PodSet& set, const BadAmount& bad);
// One container's; `field` is "requests" or "limits".
std::optional<int64_t> ContainerAmount(const YamlNode& container, std::string_view field,
                                       std::string_view resource);
// Whole GPUs (of any maker) that a container may use.
int64_t ContainerGpus(const YamlNode& container);
int64_t PodGpus(const PodSet& set);

}  // namespace muster
