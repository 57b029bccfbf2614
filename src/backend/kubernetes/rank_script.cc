#include "backend/kubernetes/rank_script.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kubernetes {

namespace {

// The kubelet replaces "$$" and "$(NAME)" of variables that it knows in here; there is none of
// either. $1 is the mark, $2 the pods, $3 ranks a pod, $4 the grace.
constexpr const char* kScript = R"sh(mark=$1 pods=$2 per=$3 grace=$4
shift 4
pod=${JOB_COMPLETION_INDEX:-${RANK:-}}
if [ -z "$pod" ]; then echo "neither JOB_COMPLETION_INDEX nor RANK says which pod this is"; exit 64; fi
read -r me rest </proc/self/stat
trap 'exit 1' TERM
mark_lines=sed
if sed -u p </dev/null >/dev/null 2>&1; then mark_lines='sed -u'; fi
run() {
  export LOCAL_RANK="$1" RANK="$2" WORLD_SIZE="$((pods * per))" LOCAL_WORLD_SIZE="$per" NODE_RANK="$pod" GROUP_RANK="$pod"
  shift 2
  echo "@$mark begin $(date +%s.%N)"
  "$@" 2>&1 </dev/null
  code=$?
  printf '\n@%s end %s\n' "$mark" "$code"
  if [ "$code" != 0 ]; then sleep "$grace"; kill -TERM "$me"; fi
}
i=0
while [ "$i" -lt "$per" ]; do
  rank=$((pod * per + i))
  run "$i" "$rank" "$@" | $mark_lines "s/^/$mark $rank /" &
  i=$((i + 1))
done
wait
)sh";

}  // namespace

std::vector<std::string> RankCommand(const std::string& mark, int pods, int per_pod, int grace_s,
                                     const std::vector<std::string>& argv) {
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    kScript,
                                    "ranks",
                                    mark,
                                    std::to_string(pods),
                                    std::to_string(per_pod),
                                    std::to_string(grace_s)};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

PodLog ParsePodLog(std::string_view text, const std::string& mark, int first_rank, int per_pod) {
  PodLog log;
  for (int i = 0; i < per_pod; ++i) log.ranks.push_back({first_rank + i, {}, {}, false, {}});
  const std::string head = mark + " ", begin = fmt::format("@{} begin ", mark),
                    end = fmt::format("@{} end ", mark);
  // A last line without its end may be half of one.
  const size_t last = text.rfind('\n');
  const std::string_view lines =
      last == std::string_view::npos ? std::string_view() : text.substr(0, last);
  if (last == std::string_view::npos ? !text.empty() : last + 1 < text.size())
    log.stray = std::string(text.substr(last == std::string_view::npos ? 0 : last + 1)) + "\n";
  for (const std::string_view line : Split(lines, '\n')) {
    const auto rest = After(line, head);
    const size_t space = rest ? rest->find(' ') : std::string_view::npos;
    const auto number = space == std::string_view::npos ? Result<int64_t>(Fail(Code::kParse, ""))
                                                        : ParseInt(rest->substr(0, space));
    if (!number.ok() || *number < first_rank || *number >= first_rank + per_pod) {
      if (!line.empty()) log.stray += std::string(line) + "\n";
      continue;
    }
    RankLog& rank = log.ranks[static_cast<size_t>(*number - first_rank)];
    const std::string_view said = rest->substr(space + 1);
    if (const auto time = After(said, begin); time && !rank.begun) {
      rank.begun = true;
      if (const auto at = ParseDouble(*time); at.ok()) rank.began_unix_s = *at;
    } else if (const auto code = After(said, end); code && !rank.exit_code) {
      if (const auto value = ParseInt(*code); value.ok()) rank.exit_code = static_cast<int>(*value);
      if (EndsWith(rank.out, "\n\n") || rank.out == "\n") rank.out.pop_back();  // the script's own
    } else {
      rank.out += std::string(said) + "\n";
    }
  }
  for (const RankLog& rank : log.ranks) {
    const char* what = !rank.begun ? "beginning" : !rank.exit_code ? "end" : nullptr;
    if (what == nullptr || !log.missing.empty()) continue;
    log.missing = fmt::format("the {} of rank {}", what, rank.rank);
  }
  log.whole = log.missing.empty();
  return log;
}

}  // namespace muster::kubernetes
