// From a person's words to what would be submitted: the rendered objects, their twin, and what lint
// has to say of them. Reads files; asks no cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/lint/lint.h"
#include "render/render.h"
#include "world/files.h"

namespace muster::submit {

// As typed. Either `files`, or a class with what it needs.
struct Words {
  std::vector<std::string> files;
  std::string job_class, name, ns, shape, image, dialect = "job", queue, scheduler, priority_class;
  std::vector<std::string> groups;                 // "rollout=4x1"
  std::vector<std::string> command;                // of the first group
  std::vector<std::string> beside_commands;        // "rollout=python serve.py": split at blanks
  std::string cpu, memory;                         // of one pod; empty = the class's, by GPU
  std::vector<std::string> rdma;                   // "rdma/ib=1"
  std::vector<std::string> networks, labels, env;  // "key=value"
  std::string topology, prefer_topology;           // a level's node label
  std::string checkpoint;                          // "CLAIM:/path" or a URL
  std::string limit, ttl;                          // spans
  int max_retry = 3;
  std::string gpu_resource = "nvidia.com/gpu", gpu_product;
  std::string site_file, nodes_file;  // inventories
  std::string profile = "production";
  std::string user;  // for the label owner, where no tracking label is given
};

struct Plan {
  std::optional<render::JobRequest> request;  // absent for files
  render::RenderedJob job;
  std::optional<render::RenderedJob> twin;  // absent for files
  std::vector<LintFinding> findings;
  std::vector<std::string> notes;  // what was decided for the person, and why
  int lint_errors = 0;
};

// kInvalid with every mistake; a shape that the inventory cannot hold is one. Lint's errors are in
// the plan: whoever acts on it refuses.
Result<Plan> MakePlan(Files& files, const Words& words);

}  // namespace muster::submit
