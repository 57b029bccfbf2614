#include "backend/kubernetes/sched/volcano_plugins.h"

#include <fmt/format.h>

namespace muster::kubesched::volcano {

namespace {

std::string Upper(std::string task) {
  for (char& c : task) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return task;
}
std::string Lower(std::string task) {
  std::replace(task.begin(), task.end(), '-', '_');
  return task;
}

}  // namespace

Plugins::Plugins(const Json& spec, std::string job, std::string ns, const std::vector<Task>& tasks)
    : all_(ObjectAt(spec, "plugins")), job_(std::move(job)), ns_(std::move(ns)), tasks_(tasks) {
  pytorch_.on = Has("pytorch");
  for (const auto& [name, value] :
       {std::pair{"master", &pytorch_.master}, std::pair{"worker", &pytorch_.worker},
        std::pair{"port", &pytorch_.port}}) {
    if (const std::string said = Argument("pytorch", name); !said.empty()) *value = said;
  }
}

// Of "--name=value" or "-name=value"; "true" for "--name" alone.
std::string Plugins::Argument(const char* plugin, const std::string& name) const {
  for (const Json& argument : ListAt(all_, plugin)) {
    if (!argument.is_string()) continue;
    std::string text = argument.get<std::string>();
    text.erase(0, std::min(text.find_first_not_of('-'), text.size()));
    const size_t equals = text.find('=');
    if (text.substr(0, equals) == name)
      return equals == std::string::npos ? "true" : text.substr(equals + 1);
  }
  return "";
}

std::string Plugins::HostOf(const Task& task, int index) const {
  return fmt::format("{}-{}-{}.{}", job_, task.name, index, job_);
}

Json Plugins::Service() const {
  return {{"clusterIP", "None"},
          {"publishNotReadyAddresses", true},
          {"selector", {{"volcano.sh/job-name", job_}}}};
}

// A line a host in the file of each task, as mpirun's host files want it; and the variables.
Json Plugins::Hosts() const {
  Json data = Json::object();
  for (const Task& task : tasks_) {
    std::string lines, list;
    for (int i = 0; i < task.replicas; ++i) {
      lines += (i == 0 ? "" : "\n") + HostOf(task, i);
      list += (i == 0 ? "" : ",") + HostOf(task, i);
    }
    data[Lower(task.name) + ".host"] = lines;
    data[fmt::format("VC_{}_HOSTS", Upper(task.name))] = list;
    data[fmt::format("VC_{}_NUM", Upper(task.name))] = std::to_string(task.replicas);
  }
  return data;
}

std::string Plugins::SshConfig() const {
  std::string config = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n";
  for (const Task& task : tasks_) {
    for (int i = 0; i < task.replicas; ++i)
      config += fmt::format("Host {}-{}-{}\n  HostName {}\n", job_, task.name, i, HostOf(task, i));
  }
  return config;
}

void Plugins::AddHosts(Json& env) const {
  const Json hosts = Hosts();
  for (const Task& task : tasks_) {
    for (const char* what : {"HOSTS", "NUM"}) {
      const std::string name = fmt::format("VC_{}_{}", Upper(task.name), what);
      env.push_back({{"name", name}, {"value", hosts[name]}});
    }
  }
}

// Rank 0 is the master; workers follow in their order.
void Plugins::AddPytorch(const Task& task, int index, Json& env) const {
  int workers = 0;
  bool has_master = false;
  for (const Task& other : tasks_) {
    if (other.name == pytorch_.worker) workers = other.replicas;
    has_master = has_master || other.name == pytorch_.master;
  }
  if (task.name != pytorch_.master && task.name != pytorch_.worker) return;
  const int rank = task.name == pytorch_.master ? 0 : index + (has_master ? 1 : 0);
  const auto add = [&](const char* name, const std::string& value) {
    env.push_back({{"name", name}, {"value", value}});
  };
  add("MASTER_ADDR", fmt::format("{}-{}-0.{}", job_, pytorch_.master, job_));
  add("MASTER_PORT", pytorch_.port);
  add("WORLD_SIZE", std::to_string(workers + (has_master ? 1 : 0)));
  add("RANK", std::to_string(rank));
}

// /etc/volcano with the hosts, and ~/.ssh with the key pair that all of them share.
void Plugins::Mount(Json& spec) const {
  Json mounts = Json::array();
  const auto volume = [&](Json what) {
    if (!spec["volumes"].is_array()) spec["volumes"] = Json::array();
    spec["volumes"].push_back(std::move(what));
  };
  if (const std::string hosts = hosts_name(); !hosts.empty()) {
    volume({{"name", hosts}, {"configMap", {{"name", hosts}}}});
    mounts.push_back({{"name", hosts}, {"mountPath", "/etc/volcano"}});
  }
  if (ssh()) {
    std::string path = Argument("ssh", "ssh-key-file-path");
    if (path.empty())
      path = Argument("ssh", "no-root") == "true" ? "/etc/volcano/.ssh" : "/root/.ssh";
    constexpr int kOwnerAlone = 0600, kAll = 0755;  // of root, and where another user reads it
    Json items = Json::array();
    for (const auto& [key, file] :
         {std::pair{"id_rsa", "id_rsa"}, std::pair{"id_rsa.pub", "id_rsa.pub"},
          std::pair{"id_rsa.pub", "authorized_keys"}, std::pair{"config", "config"}})
      items.push_back({{"key", key}, {"path", std::string(".ssh/") + file}});
    volume({{"name", secret_name()},
            {"secret",
             {{"secretName", secret_name()},
              {"items", std::move(items)},
              {"defaultMode", path == "/root/.ssh" ? kOwnerAlone : kAll}}}});
    mounts.push_back({{"name", secret_name()}, {"mountPath", path}, {"subPath", ".ssh"}});
  }
  for (const char* list : {"containers", "initContainers"}) {
    if (mounts.empty() || !spec.contains(list)) continue;
    for (Json& container : spec[list]) {
      if (!container.is_object()) continue;
      if (!container["volumeMounts"].is_array()) container["volumeMounts"] = Json::array();
      for (const Json& mount : mounts) container["volumeMounts"].push_back(mount);
    }
  }
}

void Plugins::Extend(const Task& task, int index, const std::string& pod, Json& spec) const {
  if (service()) {
    for (const auto& [key, value] : {std::pair{"hostname", &pod}, std::pair{"subdomain", &job_}}) {
      if (TextAt(spec, key).empty()) spec[key] = *value;
    }
  }
  for (Json& container : spec["containers"]) {
    if (!container.is_object()) continue;
    Json& env = container["env"];
    if (!env.is_array()) env = Json::array();
    if (Has("env")) {
      for (const char* variable : {"VK_TASK_INDEX", "VC_TASK_INDEX"})
        env.push_back({{"name", variable}, {"value", std::to_string(index)}});
    }
    if (Has("svc")) AddHosts(env);
    if (pytorch_.on) AddPytorch(task, index, env);
  }
  Mount(spec);
}

void Plugins::Note(std::vector<std::string>& notes) const {
  for (const auto& [name, arguments] : all_.items()) {
    if (name != "pytorch" && name != "svc" && name != "env" && name != "ssh")
      notes.push_back(fmt::format("plugins.{}: read, and not acted on", name));
  }
  if (Has("svc") && Argument("svc", "disable-network-policy") != "true")
    notes.emplace_back("plugins.svc: no NetworkPolicy is made");
  for (const char* given : {"ssh-private-key", "ssh-public-key"}) {
    if (!Argument("ssh", given).empty())
      notes.push_back(fmt::format("plugins.ssh: {}: a new key pair is made", given));
  }
}

}  // namespace muster::kubesched::volcano
