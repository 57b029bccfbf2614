// How a container's command becomes a process of this machine: in namespaces of its own for mounts,
// host name and processes, so that it sees its pod's /etc/hosts, /etc/resolv.conf and host name,
// and so that all of it ends with its pod, or with the player when that is killed. The network is
// the machine's loopback: each pod has an address of its own in 127/8, its ports are its own where
// it binds that address, and everybody's where it binds all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/core.h"
#include "world/processes.h"

namespace muster::lab {

struct PodShell {
  // What comes before the shell: setpriv, unshare and their arguments. Empty: commands run bare,
  // with this machine's names and the address 127.0.0.1.
  std::vector<std::string> enter;
  // Of the lab's DNS server; empty: pods keep this machine's resolv.conf.
  std::string nameserver;
  std::string net = "127.64";  // the first half of the pods' addresses
};

// The strongest way in that this machine allows, found by trying; with `enter` empty when it allows
// none, and `note` says what is missing then.
std::vector<std::string> FindWayIn(Processes& processes,
                                   const std::function<void(const std::string&)>& note);

// As a kubelet writes them.
std::string HostsFile(const kube::Pod& pod, const std::string& ip);
std::string ResolvFile(const kube::Pod& pod, const std::string& nameserver);

// The process of one container. `folder` is made; what kept the command from being started stands
// afterwards in its file start-error, and the exit code is 128, as container runtimes have it.
Command InPod(const PodShell& shell, const kube::Pod& pod, const kube::Container& container,
              const std::string& ip, const std::string& folder);

}  // namespace muster::lab
