// Where a subject is: the devices that it touches, and the link that a port belongs to.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evidence/verdict.h"
#include "model/cluster.h"

namespace muster {

// What stands before "--" and after it, in a link or a pair. Borrows from the subject, as all here.
std::pair<std::string_view, std::string_view> EndsOf(const Subject& subject);
// "node-07/mlx5_4/1" -> "node-07/mlx5_4", "leaf00/5" -> "leaf00".
std::string_view WithoutLast(std::string_view path);
// "node-07/mlx5_4/1" -> "node-07".
std::string_view FirstPart(std::string_view path);
// A site, a fabric, a scope, a gang, an endpoint: what many subjects have in common.
bool IsShared(const Subject& subject);
// The two devices of the id of a link or a pair; of another id, its first part.
std::vector<std::string_view> DevicesOfEnds(std::string_view id);
// The nodes and switches that a subject touches.
std::vector<std::string_view> DevicesOf(const Subject& subject);

// The links of a cluster by their ports.
class PortLinks {
 public:
  explicit PortLinks(const Cluster& cluster);
  // The id of the link of a port ("node-07/mlx5_4/1"); null where the inventory has none.
  const std::string* Find(const std::string& port) const;
  // The link that a port or a link belongs to; a port without one stands for itself.
  std::string Of(const Subject& subject) const;

 private:
  std::unordered_map<std::string, std::string> link_of_port_;
};

}  // namespace muster
