// A Kubernetes control plane of this machine's loopback: etcd, API server, controller manager and
// the node player as processes that outlive the command that started them. Each one writes down who
// it is before it becomes what it is, so that whoever comes later ends that process and no other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "world/world.h"

namespace muster::lab {

struct ControlPlaneSpec {
  std::string folder;    // absolute
  std::string binaries;  // etcd, kube-apiserver, kube-controller-manager
  std::string self;      // this program
  int port = 0, etcd_port = 0;
};

struct PlaneProcess {
  std::string name;  // of its record and its log
  std::vector<std::string> argv;
};

// In the order in which they are started; the last is the node player.
std::vector<PlaneProcess> ControlPlaneProcesses(const ControlPlaneSpec& spec);

// An administrator's kubeconfig, or a component's: `user` names the token in pki/USER.token.
std::string PlaneKubeconfig(const ControlPlaneSpec& spec, const std::string& user,
                            const std::string& token);

// The processes of one folder, by their records in pid/NAME: the line of /proc/PID/stat that the
// process wrote of itself. A record whose pid is somebody else by now names nobody.
class RecordedProcesses {
 public:
  RecordedProcesses(World& world, std::string folder);
  // The pid, where the recorded process is still that process.
  std::optional<int64_t> Running(const std::string& name);
  // Starts it in a session of its own; its output goes to log/NAME.log. Fine when it runs.
  Status Start(const PlaneProcess& process);
  // TERM, at most `patience`, KILL; then the record goes. Fine when it does not run.
  Status Stop(const std::string& name, Duration patience);
  std::string LogTail(const std::string& name, size_t bytes);

 private:
  std::string PidFile(const std::string& name) const { return folder_ + "/pid/" + name; }
  World& world_;
  const std::string folder_;
};

}  // namespace muster::lab
