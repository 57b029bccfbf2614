// The status of a pod as a kubelet writes it, as the body of a patch of its status: phase, the four
// conditions, container states. What others wrote among the conditions stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/lab/kubernetes/played_node.h"
#include "kube/core.h"

namespace muster::lab {

struct PodStatus {
  std::string phase;   // Pending (while init containers run), Running, Succeeded, Failed
  std::string reason;  // of a rejection; empty otherwise
  std::string message;
  std::string ip;
  int exit_code = 0;       // of an ended pod
  std::string end_reason;  // of its containers; Completed or Error when empty
  TimePoint started, now;
  // Of the container whose turn it is: an init container while phase is Pending.
  int restarts = 0;
  std::string waiting;           // why it does not run just now: CrashLoopBackOff
  std::optional<int> last_exit;  // of its run before
  // Init containers that have done their work; by default all of them.
  size_t init_done = SIZE_MAX;
};

// A JSON merge patch for pods/NAME/status; it names the pod's uid, so that a namesake is refused.
std::string PodStatusPatch(const kube::Pod& pod, const PodStatus& status);

// What the pod asks of the player, by annotation:
//   muster.dev/hold: "..."        it never leaves Pending (an image that cannot be pulled, say)
//   muster.dev/run-for: "3s"      it ends after this
//   muster.dev/exit: "7"          with this exit code
//   muster.dev/run: "true"        its init containers' commands run as real processes, one after
//                                 the other, then its first container's; restarted as
//                                 spec.restartPolicy says
struct PodOrders {
  bool hold = false, run = false;
  std::optional<Duration> run_for;
  int exit_code = 0;
  std::string trouble;  // an annotation that cannot be read; the pod then runs without an end
};
PodOrders OrdersOf(const kube::Pod& pod);

// "$(NAME)" as a kubelet expands it in command, args and env; "$$(NAME)" is "$(NAME)", an unknown
// name stays as it is.
std::string ExpandVariables(std::string_view text,
                            const std::map<std::string, std::string>& environment);

// The environment of one of its containers: what the downward API gives, JOB_COMPLETION_INDEX of an
// indexed Job's pod, and literal values, in which "$(NAME)" is a variable that stands before.
std::map<std::string, std::string> EnvironmentOf(const kube::Pod& pod,
                                                 const kube::Container& container,
                                                 const std::string& ip);

}  // namespace muster::lab
