// What Volcano's plugins env, svc, ssh and pytorch give to a Job: the environment and the mounted
// files of its pods, a headless Service, a ConfigMap of host names, a Secret with a key pair.
// (volcano pkg/controllers/job/plugins)
#pragma once

#include <string>
#include <vector>

#include "backend/kubernetes/sched/volcano_task.h"

namespace muster::kubesched::volcano {

class Plugins {
 public:
  // Borrowed: `spec` and the tasks' own.
  Plugins(const Json& spec, std::string job, std::string ns, const std::vector<Task>& tasks);

  bool service() const { return pytorch_.on || Has("svc"); }
  bool ssh() const { return Has("ssh"); }
  std::string hosts_name() const { return Has("svc") ? job_ + "-svc" : ""; }
  std::string secret_name() const { return ssh() ? job_ + "-ssh" : ""; }
  Json Service() const;
  // Empty without the plugin.
  Json Hosts() const;
  std::string SshConfig() const;
  // The environment, the volumes and the mounts of one pod.
  void Extend(const Task& task, int index, const std::string& pod, Json& spec) const;
  // What they are asked for and do not do.
  void Note(std::vector<std::string>& notes) const;

 private:
  struct Pytorch {
    bool on = false;
    std::string master = "master", worker = "worker", port = "23456";
  };
  bool Has(const char* plugin) const { return all_.contains(plugin); }
  std::string Argument(const char* plugin, const std::string& name) const;
  std::string HostOf(const Task& task, int index) const;
  void AddPytorch(const Task& task, int index, Json& env) const;
  void AddHosts(Json& env) const;
  void Mount(Json& spec) const;

  const Json& all_;
  const std::string job_, ns_;
  const std::vector<Task>& tasks_;
  Pytorch pytorch_;
};

}  // namespace muster::kubesched::volcano
