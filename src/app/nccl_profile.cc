#include "app/nccl_profile.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

std::string AdaptersOf(const Node& node) {
  std::vector<std::string> names;
  for (const Nic& nic : node.nics) names.push_back(nic.device);
  return Join(names, ",");
}

std::string NodeTypeOf(const Node& node) {
  const std::string gpus =
      node.gpus.empty() ? "no GPUs"
                        : fmt::format("{} x {}", node.gpus.size(),
                                      node.gpus[0].model.empty() ? "GPU" : node.gpus[0].model);
  return fmt::format("{}, adapters {}", gpus, node.nics.empty() ? "none" : AdaptersOf(node));
}

// The node the profile is for, or why there is none.
Result<const Node*> PickNode(const Site& site, const std::string& name) {
  if (site.cluster.nodes.empty()) return Fail(Code::kInvalid, "the site has no nodes");
  if (!name.empty()) {
    if (const Node* node = site.cluster.FindNode(name)) return node;
    return Fail(Code::kNotFound, fmt::format("the site has no node {}", name));
  }
  std::map<std::string, std::string> types;  // and a node of each
  for (const Node& node : site.cluster.nodes) {
    if (!node.gpus.empty()) types.emplace(NodeTypeOf(node), node.name);
  }
  if (types.empty()) return Fail(Code::kInvalid, "no node of the site has GPUs");
  if (types.size() == 1) return site.cluster.FindNode(types.begin()->second);
  std::string text = "the nodes are of several types; name one with --node:";
  for (const auto& [type, node] : types) text += fmt::format("\n  --node {}: {}", node, type);
  return Fail(Code::kInvalid, text);
}

bool Holds(const Site& site, const Node& node, const std::string& condition) {
  if (condition == "rdma") return !node.nics.empty();
  if (condition == "roce") return !node.nics.empty() && site.roce;
  if (condition == "infiniband") return !node.nics.empty() && !site.roce;
  if (condition == "multi_node") return site.cluster.nodes.size() > 1;
  if (condition == "interface_known") return site.pins.count("socket_interface") > 0;
  return false;
}

}  // namespace

Result<NcclProfile> MakeNcclProfile(const Site& site, const std::string& profile,
                                    const std::string& node_name) {
  TRY(const Node* const node, PickNode(site, node_name));
  const auto text = FindEmbedded("nccl_profiles.yaml");
  if (!text) return Fail(Code::kInternal, "nccl_profiles.yaml is not in this binary");
  TRY(const YamlNode root, ParseYaml(*text, "nccl_profiles.yaml"));
  NcclProfile made;
  made.profile = profile;
  made.node_type = NodeTypeOf(*node);
  for (const Node& other : site.cluster.nodes) {
    if (NodeTypeOf(other) == made.node_type) made.nodes.push_back(other.name);
  }
  YamlFindings findings;
  YamlReader top(root, "nccl_profiles.yaml", findings);
  top.TextOr("source", "");
  bool known = false;
  for (const YamlNode& item : top.Items("variables")) {
    YamlReader r(item, "nccl_profiles.yaml", findings);
    NcclVariable v{r.Text("name"), r.Text("value"), r.Text("why"), r.Text("source")};
    const auto profiles = r.TextsOr("profiles");
    const auto when = r.TextsOr("when");
    r.Done();
    if (std::find(profiles.begin(), profiles.end(), profile) == profiles.end()) continue;
    known = true;
    if (!std::all_of(when.begin(), when.end(),
                     [&](const std::string& c) { return Holds(site, *node, c); })) {
      continue;
    }
    const auto fill = [&](std::string_view from, const std::string& to) {
      if (const size_t at = v.value.find(from); at != std::string::npos)
        v.value.replace(at, from.size(), to);
    };
    fill("{adapters}", AdaptersOf(*node));
    if (const auto pin = site.pins.find("socket_interface"); pin != site.pins.end())
      fill("{interface}", pin->second);
    made.variables.push_back(std::move(v));
  }
  for (const YamlNode& item : top.Items("left_alone")) {
    YamlReader r(item, "nccl_profiles.yaml", findings);
    made.left_alone.push_back({r.Text("name"), "", r.Text("why"), r.Text("source")});
    r.Done();
  }
  top.Done();
  TRY_VOID(ToStatus(findings));
  if (!known)
    return Fail(Code::kInvalid,
                fmt::format("there is no profile {}, expected production or debug", profile));
  if (node->nics.empty())
    made.notes.push_back(
        "the inventory has no adapters for these nodes: whether NCCL may use TCP is not decided "
        "here");
  if (site.cluster.nodes.size() > 1 && !Holds(site, *node, "interface_known"))
    made.notes.push_back(
        "the interface of the node network is not pinned (pins: socket_interface): NCCL takes the "
        "first that is not lo or docker");
  return made;
}

}  // namespace muster
