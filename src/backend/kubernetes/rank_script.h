// The ranks of one pod, and their output as the pod's log gives it back: a shell script that starts
// them with the identity torchrun users know and marks each line with its rank, and the reader that
// takes the log apart again. A log whose marks are not all there is cut, and says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::kubernetes {

// What a container runs, for `sh` and `sed` in its image: `per_pod` processes of `argv`. RANK,
// LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK and GROUP_RANK are set; the pod's place comes
// from JOB_COMPLETION_INDEX, or RANK of Volcano's plugin. Once a rank has failed the others have
// `grace_s` seconds to say why. `mark` is a word that the program does not print.
std::vector<std::string> RankCommand(const std::string& mark, int pods, int per_pod, int grace_s,
                                     const std::vector<std::string>& argv);

struct RankLog {
  int rank = 0;
  std::optional<double> began_unix_s;  // by the node's clock
  std::optional<int> exit_code;        // its last line is there
  bool begun = false;                  // its first line is there
  std::string out;                     // stdout and stderr, as they came
};
struct PodLog {
  std::vector<RankLog> ranks;  // `per_pod` of them, in rank order
  std::string stray;           // lines of no rank
  // Of every rank the first and the last line are there. Otherwise what is missing, in words.
  bool whole = false;
  std::string missing;
};
PodLog ParsePodLog(std::string_view text, const std::string& mark, int first_rank, int per_pod);

}  // namespace muster::kubernetes
