// A site: what the cluster should be, how it is reached, what it is held to,
// and what may be done to it. Read from site.yaml by app/site_file; plain data
// here, so that judging and planning need no file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/unit.h"
#include "model/change_window.h"
#include "model/cluster.h"

namespace muster {

enum class SiteKind { kLab, kHost, kKubernetes, kSlurm };
std::string_view ToString(SiteKind kind);

struct Budget {  // one facility budget: "power", "cooling", "weight"
  std::string name;
  Quantity limit, used;
};
struct Pdu {
  std::string name;
  std::string redfish_url;  // empty = attested by the named person who signs gate 1
};
struct Endpoint {  // "prometheus", "alertmanager", "exporter", "openai", "ufm"
  std::string name, url;
  std::string secret_env;  // the environment variable that holds a token; never
                           // the token itself
};

// Something done before a gate is observed: previewed, journalled, judged by
// looking.
struct Act {
  int gate = 0;
  std::string name;
  std::string kind;                // "ansible" | "helm" | "kubectl" | "shell"
  std::vector<std::string> argv;   // rendered; no shell string concatenation
  std::vector<std::string> probe;  // argv that answers whether it happened: exit
                                   // 0 yes, 1 no, else unknown
  std::vector<std::string> undo;   // may be empty
  Duration timeout = std::chrono::minutes(10);
  bool destructive = false;
};

struct TrainingTarget {
  double flops_per_token = 0;  // 0 = from the job's own log
  double peak_flops = 0;       // dense, for the dtype; 0 = from the GPU table or measured
  double mfu_min = 0.35;
  double step_spread_max = 1.10;  // p95 over median step time
  double rank_lag_max = 1.10;     // a node's median compute time over the median of all
  int ranks_per_node = 8;
  int steps = 110;
  std::vector<std::string> command;  // what each rank runs; empty = Muster's own small job
  bool rank_reports = false;         // `command` prints the JSON lines of
                                     // measure/training/rank_report.h
  std::string image;                 // kKubernetes: what the ranks run in; empty = pins.proof_image
};
// How the all-reduce of gate 6 is started on real hosts. A lab starts ranks of
// its own.
struct CollectiveTarget {
  std::string program = "all_reduce_perf";
  bool mpi = false;  // `program` was built with MPI=1: one mpirun on the first
                     // host starts every rank
  std::vector<std::string> mpirun = {"mpirun"};  // with what a site adds to it
  std::vector<std::string> command;  // kKubernetes: what each rank runs, before the sweep's options
  std::string image;                 // kKubernetes, as above
};
struct InferenceTarget {
  std::string url;  // base URL of the OpenAI-compatible endpoint; empty = the lab's own
  std::string model;
  std::vector<std::string> command;  // kKubernetes: the server, started as a pod for the proof
  std::string image;                 // kKubernetes, as above
  int port = 8000, gpus = 1;         // of that server
  Duration ready_within = std::chrono::minutes(15);
  double requests_per_s = 5;
  int requests = 60;
  Duration ttft_p99 = std::chrono::seconds(2), tpot_p99 = std::chrono::milliseconds(200);
  double goodput_min = 0.99;
};

// The management controller beside one node, as the site names it.
struct BmcEndpoint {
  enum class Protocol { kRedfish, kIpmi };
  Protocol protocol = Protocol::kRedfish;
  std::string address;             // "https://bmc-07" (Redfish), "bmc-07" (IPMI)
  std::string user;                // in the clear; who it is, is no secret
  std::string password;            // "env:NAME" or "file:/path"; never the password itself
  std::string system;              // Redfish: id or name of the system; empty = the only one
  std::string ca_file;             // Redfish: PEM to believe instead of the system's authorities
  std::string unverified_because;  // Redfish: why certificates are not checked; empty = they are
  int port = 623;                  // IPMI
  int cipher_suite = 17;           // IPMI
};

// How the nodes' own tools are run where nobody may log in: by a short privileged pod on each node.
struct ProbePods {
  std::string image;  // by digest; with sh and nsenter
  std::string ns = "default";
  std::map<std::string, std::string> annotations;
  Duration start_within = std::chrono::minutes(2);  // images are pulled
};

// A git working tree of the site's, on this machine, that a runbook may change by reverting a
// commit.
struct Repository {
  std::string path;
  std::string remote = "origin";  // where a revert is pushed to, when that is asked for
};

// Packages of nodes are installed by ansible-playbook from this machine.
struct AnsibleTarget {
  std::string inventory;  // it calls the nodes as the site does
  std::string playbook;   // takes muster_packages; empty = Muster's own
};

// The API server that places work on the site's nodes.
struct KubernetesTarget {
  std::string kubeconfig;               // empty = as kubectl finds it
  std::string context;                  // empty = the current one
  std::optional<ProbePods> probe_pods;  // nothing: ssh, or not at all
};

// A scope is a named subset that is brought up on its own: a pair, a pool, an
// island.
struct Scope {
  std::string name;
  std::vector<std::string> nodes;
};

// What an alert may begin without a person: the runbooks named here, by id.
// All others are planned, saved, and wait.
struct AlertPolicy {
  std::vector<std::string> alone;
  Duration plan_waits = std::chrono::hours(24);  // for a person's word; then it lapses
};

struct Site {
  std::string name;
  SiteKind kind = SiteKind::kLab;
  std::string lab_dir;  // kLab: where the lab keeps its state, relative to the site file
  Cluster cluster;
  std::string driver_version;  // expected on every node; empty = only that all agree
  bool expect_sharp = false;
  bool roce = false;        // Ethernet fabric: InfiniBand-only criteria do not apply
  std::string fabric_host;  // where fabric tools run; empty = the first node
  std::vector<Budget> budgets;
  std::vector<Pdu> pdus;
  std::map<std::string, Endpoint> endpoints;
  std::map<std::string, Quantity>
      thresholds;  // overrides by criterion code ("FAB-012") or setting name
  std::vector<Act> acts;
  std::vector<Scope> scopes;
  TrainingTarget training;
  CollectiveTarget collective;
  InferenceTarget inference;
  Duration window = std::chrono::seconds(2);  // between the two readings of counters
  std::vector<ChangeWindow> change_windows;   // none: changes may begin at any time
  AlertPolicy alerts;
  std::map<std::string, std::string> pins;  // image and chart digests, versions, resource keys
  std::map<std::string, std::string> ssh;   // host sites: "user", "port", "identity_file", "config"
  std::map<std::string, BmcEndpoint> bmcs;  // by node; a node without one is not there
  std::optional<KubernetesTarget> kubernetes;  // who cordons and drains; nothing = the host itself
  bool sudo = false;                           // acts on hosts go through `sudo -n`
  // What `packages` means by "driver", "fabric_manager", "gsp", "kernel", "set NAME": apt packages
  // with their versions, "cuda-drivers-570={value}-1".
  std::map<std::string, std::vector<std::string>> packages;
  std::optional<AnsibleTarget> ansible;            // nothing: apt on the host installs them
  std::map<std::string, Repository> repositories;  // by the name that runbooks use

  // What criteria may ask with applies_when: "lab", "host", "infiniband",
  // "roce", "multi_node", "nvlink", "gpus", "nvidia", "amd", "facility",
  // "prometheus", "alertmanager", "sharp", "switches", "rdma", "inference",
  // "training" ...
  std::set<std::string> Features() const;
  // Somebody knows a way to run the nodes' own tools: always, but on a cluster without ssh,
  // addresses and probe pods.
  bool NodesHaveAWay() const;
  // They are run by pods: a cluster with probe pods, without ssh and addresses.
  bool NodesByPods() const;
  // Nodes of a scope; "" or "all" is every node. Unknown names give nothing.
  std::optional<std::vector<std::string>> ScopeNodes(std::string_view scope) const;
};

}  // namespace muster
