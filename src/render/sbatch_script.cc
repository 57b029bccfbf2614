#include "render/sbatch_script.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "render/pod_template.h"

namespace muster::render {

namespace {

// sbatch(1): days-hours:minutes:seconds.
std::string SlurmTime(int64_t seconds) {
  return fmt::format("{}-{:02}:{:02}:{:02}", seconds / 86400, seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

}  // namespace

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string SbatchScriptOf(const JobRequest& request) {
  const Group& group = request.groups.front();
  // One task a node with torchrun, which starts the ranks; one a GPU without it.
  const int tasks = request.torchrun ? 1 : std::max(1, group.gpus);
  const int64_t cpus = std::max<int64_t>(1, (group.cpu_milli + 999) / 1000);
  std::string text = fmt::format("#!/bin/bash\n#SBATCH --job-name={}\n", request.name);
  if (!request.queue.empty()) text += fmt::format("#SBATCH --partition={}\n", request.queue);
  text += fmt::format("#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n", group.pods, tasks);
  text += fmt::format("#SBATCH --cpus-per-task={}\n", std::max<int64_t>(1, cpus / tasks));
  if (group.gpus > 0) {
    text += request.gpu_type.empty()
                ? fmt::format("#SBATCH --gpus-per-node={}\n", group.gpus)
                : fmt::format("#SBATCH --gpus-per-node={}:{}\n", request.gpu_type, group.gpus);
  }
  constexpr int64_t kMib = int64_t{1} << 20;
  if (group.memory_bytes > 0)
    text += fmt::format("#SBATCH --mem={}M\n", (group.memory_bytes + kMib - 1) / kMib);
  text += fmt::format("#SBATCH --time={}\n", SlurmTime(request.limit_s.value_or(3600)));
  text += "#SBATCH --signal=B:USR1@300\n";
  text += request.max_retry > 0 ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n";
  std::vector<std::string> notes;
  for (const auto& [key, value] : request.labels) notes.push_back(key + "=" + value);
  if (!notes.empty()) text += fmt::format("#SBATCH --comment={}\n", Join(notes, ","));
  text += "set -eu\n";
  if (!request.checkpoint_path.empty()) {
    text += fmt::format("export CHECKPOINT_DIR={}\n", ShellWord(request.checkpoint_path));
  }
  // Slurm sends it five minutes before the end; the file asks the ranks for a last checkpoint.
  text += StartsWith(request.checkpoint_path, "/")
              ? "trap 'touch \"$CHECKPOINT_DIR/save-now\"' USR1\n"
              : "trap 'echo \"the time limit comes in five minutes\" >&2' USR1\n";
  if (group.gpus > 0) {
    for (const auto& [name, value] : request.env)
      text += fmt::format("export {}={}\n", name, ShellWord(value));
  }
  text += "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
  text += fmt::format("export MASTER_ADDR MASTER_PORT={}\n", request.port);
  std::string words;
  for (const std::string& word : LaunchOf(request, group, "$MASTER_ADDR:$MASTER_PORT")) {
    const bool expands = StartsWith(word, "--rdzv_id=$") || StartsWith(word, "--rdzv_endpoint=$");
    words += " " + (expands ? "\"" + word + "\"" : ShellWord(word));
  }
  text += "srun";
  if (!request.image.empty()) text += " --container-image=" + ShellWord(request.image);
  // In the background, so that the shell can take the signal; the second wait is for the case that
  // it did.
  return text + words + " &\nranks=$!\nwait $ranks || wait $ranks\n";
}

}  // namespace muster::render
