#include "app/site_template.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

// A text that somebody else chose, as YAML reads it back: plain where it can be, quoted otherwise.
std::string Yaml(std::string_view text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const std::string lower = ToLower(text);
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
      std::all_of(text.begin(), text.end(), plain) && lower != "true" && lower != "false" &&
      lower != "null" && lower != "yes" && lower != "no" && lower != "on" && lower != "off")
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Head(std::string_view name, std::string_view type, std::string_view about) {
  return fmt::format(R"(# {}
# Every key is explained; `muster bringup plan --site FILE` checks the whole file and starts nothing.
apiVersion: muster/v1
kind: Site
name: {}
type: {}
)",
                     about, Yaml(name), type);
}

std::string Facility(int racks, int gpus) {
  const double power_kw = std::max(2.0, gpus * 1.3);
  std::string text =
      fmt::format(R"(
# Gate 1, facility. `limit` is what the room gives, `used` is what this cluster draws or weighs at full load.
# A person signs these figures: muster gate sign 1 --site FILE --by NAME --reason "..." --until DATE
facility:
  budgets:
    - {{name: power, limit: {:.1f} kW, used: {:.1f} kW}}
    - {{name: cooling, limit: {:.1f} kW, used: {:.1f} kW}}
    - {{name: weight, limit: {} kg, used: {} kg}}
  pdus:
)",
                  power_kw * 1.2, power_kw, power_kw * 1.2, power_kw, racks * 1500, racks * 1250);
  for (int rack = 0; rack < racks; ++rack) text += fmt::format("    - {{name: pdu{:02}}}\n", rack);
  return text;
}

constexpr std::string_view kWorkLab = R"(
# Gate 7, training: Muster's own small language model, trained data-parallel by one process a rank.
# mfu_target is a share of this machine's GEMM peak measured in the same run: ranks share two cores here, so it is low on
# purpose. On hardware, 35 to 45 % is the sanity band for dense BF16 (Llama 3 405B: 38 to 43 %, arXiv 2407.21783).
training:
  ranks_per_node: 2
  steps: 60
  mfu_target: 2 %
  step_spread_max: 3.0        # p95 over median; 1.10 on hardware, where nobody shares the cores
  rank_lag_max: 1.5           # a node's compute time over the median of all; 1.10 on hardware

# Gate 8, inference: the checkpoint of gate 7 behind an OpenAI-compatible endpoint, open-loop load with unique prompts.
# MLPerf's chat limits are p99 TTFT 2 s and p99 TPOT 200 ms (mlcommons/inference#1593).
inference:
  requests: 60                # 1,000 or more give a p99 that deserves the name
  requests_per_s: 8
  ttft_p99: 2s
  tpot_p99: 200ms
  goodput_min: 99 %
)";

constexpr std::string_view kWorkHost = R"(
# Gate 6, the all-reduce over several hosts: nccl-tests built with MPI=1, started by Open MPI from the first host.
# collective:
#   program: /opt/nccl-tests/build/all_reduce_perf
#   mpi: true

# Gate 7, training. Without `command` Muster's own small job runs where all nodes are this machine (CPU; set mfu_target to
# 2 %), and labelled as that; with it, every rank runs the command with RANK,
# WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, and its log (Megatron, TorchTitan, nanotron, nanoGPT) is read.
# 35 to 45 % MFU is the sanity band for dense BF16 (Llama 3 405B: 38 to 43 %, arXiv 2407.21783); better: the recorded run
# of the same recipe, `muster baseline set`.
training:
  ranks_per_node: 8
  steps: 110
  mfu_target: 35 %
  # command: [python3, -m, my.trainer, --config, smoke.yaml]

# Gate 8, inference: an OpenAI-compatible endpoint. Limits: MLPerf's chat scenario (mlcommons/inference#1593).
# inference:
#   url: http://gpu-01:8000
#   model: my-model
#   requests: 1000
#   requests_per_s: 5
#   ttft_p99: 2s
#   tpot_p99: 200ms
#   goodput_min: 99 %
)";

constexpr std::string_view kTail = R"(
# Any criterion's threshold may be set by its code; `muster explain CODE` shows the default and where it comes from.
thresholds: {}
#  COL-002: 92 %

# Named subsets that can be brought up on their own: muster bringup run --scope NAME
scopes: []
#  - {name: first-pair, nodes: [NODE_A, NODE_B]}

# What is done before a gate is observed. Previewed by `bringup plan`, journalled, and judged by looking, never by its exit
# code: `probe` answers whether it happened (exit 0 yes, 1 no, anything else: not known).
acts: []
#  - gate: 3
#    name: converge the nodes
#    kind: ansible
#    argv: [ansible-playbook, -i, inventory, site.yml]
#    probe: [ansible-playbook, -i, inventory, site.yml, --check]
#    timeout: 30m
)";

std::string NodeEntry(const Node& node) {
  std::string text = fmt::format("    - {{name: {}", Yaml(node.name));
  if (!node.address.empty()) text += fmt::format(", address: {}", Yaml(node.address));
  if (!node.rack.empty()) text += fmt::format(", rack: {}", Yaml(node.rack));
  text += fmt::format(", gpus: {}", node.gpus.size());
  if (!node.gpus.empty() && !node.gpus.front().model.empty())
    text += fmt::format(", gpu_model: {}", Yaml(node.gpus.front().model));
  if (node.family == GpuFamily::kAmd) text += ", gpu_family: amd";
  text += fmt::format(", numa: {}", std::max(1, node.numa_domains));
  if (!node.nics.empty()) {
    std::vector<std::string> devices;
    for (const Nic& nic : node.nics) devices.push_back(Yaml(nic.device));
    text += fmt::format(", nics: [{}], nic_rate: {:g} Gb/s", fmt::join(devices, ", "),
                        node.nics.front().rate_gbit_per_s);
  }
  return text + "}\n";
}

}  // namespace

std::string LabSiteTemplate(const TemplateInput& input) {
  const int racks = (input.spec.nodes + 7) / 8;
  std::string text =
      Head(input.name, "lab",
           "A rehearsed site: a whole cluster played on this machine. Every result says so.");
  text += fmt::format(R"(
# Where the lab keeps its state (faults, sign-off, checkpoints), relative to this file. `muster lab inject` changes it.
lab:
  folder: lab

# What should be there: nodes, GPUs and NICs (rails) a node, NUMA domains, leaf and spine switches, link rate in Gb/s.
cluster:
  spec: "{}"

fabric:
  type: infiniband            # infiniband | roce
  counter_window: 2s          # error counters are read at both ends of it
  sharp: false                # true: gate 2 wants to see SHARP in use
)",
                      FormatClusterSpec(input.spec));
  text += Facility(racks, input.spec.nodes * input.spec.gpus);
  text += R"(
# Gate 5, telemetry: the lab starts its own Prometheus and Alertmanager on loopback (Debian packages prometheus and
# prometheus-alertmanager).
telemetry:
  prometheus: lab
  alertmanager: lab
)";
  return text + std::string(kWorkLab) + std::string(kTail);
}

std::string HostSiteTemplate(const TemplateInput& input) {
  std::string text = Head(
      input.name, "host",
      "Real hosts: this machine, or a list of hosts reached with OpenSSH. No agent to install.");
  text += R"(
# How hosts are reached. Nothing here: your ~/.ssh/config decides. A host with address localhost is this machine.
ssh: {}
#  user: ops
#  identity_file: ~/.ssh/cluster
#  config: ./ssh_config

# What runbooks may do to the hosts (muster runbook, muster node). Looking needs none of it.
# sudo: true                  # acts run through `sudo -n`; otherwise the login is root's
# bmcs:                       # who switches a node's power; passwords are named, never written here
#   - {nodes: [gpu-*], address: "https://bmc-{node}.example", user: ops, password: "env:BMC_PASSWORD"}
#   - {nodes: [old-01], protocol: ipmi, address: 10.0.1.9, user: ADMIN, password: "file:./bmc-secret"}
# kubernetes: {kubeconfig: ./kubeconfig, context: prod}   # where an API server places the work: it cordons and drains
# packages:                   # what a version is made of, for apt
#   driver: ["cuda-drivers-570={value}-1"]
# ansible: {inventory: ./inventory.ini}   # then ansible-playbook installs them, from this machine

cluster:
)";
  if (!input.driver_version.empty())
    text += fmt::format("  driver_version: {}   # as found; expected on every node\n",
                        Yaml(input.driver_version));
  text += "  nodes:\n";
  if (input.nodes.empty()) {
    text +=
        "    - {name: gpu-01, address: localhost, gpus: 8, gpu_model: \"NVIDIA H100 80GB HBM3\", "
        "numa: 2}\n";
  }
  int gpus = 0;
  for (const Node& node : input.nodes) {
    text += NodeEntry(node);
    gpus += static_cast<int>(node.gpus.size());
  }
  text +=
      R"(  # Switches and links, where the fabric's shape is known: gate 2 then holds every link to it.
  # switches: [{name: leaf00, tier: leaf}, {name: spine00, tier: spine}]
  # links: [{a: leaf00/1, b: gpu-01/mlx5_0/1, rate: 400 Gb/s}]

fabric:
  type: infiniband            # infiniband | roce
  counter_window: 60s         # error counters are read at both ends of it
  sharp: false
  # host: gpu-01              # where fabric-wide tools run; the first node otherwise
)";
  text += Facility(1, std::max(gpus, 1));
  text += R"(
# Gate 5, telemetry. Leave out what the site does not have; the gate then says that it does not apply, and why.
telemetry: {}
#  prometheus: http://prometheus.example:9090
#  alertmanager: http://alertmanager.example:9093
)";
  return text + std::string(kWorkHost) + std::string(kTail);
}

}  // namespace muster
