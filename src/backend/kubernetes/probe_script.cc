#include "backend/kubernetes/probe_script.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/base64.h"
#include "world/posix/shell_quote.h"

namespace muster::kubernetes {

namespace {

// In the node's namespaces. $1 seconds, $2 the tool, $3 the line that runs it, $4 another root.
constexpr const char* kOnNode = R"sh(limit=$1 tool=$2 line=$3 root=$4
export PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
if ! command -v "$tool" >/dev/null 2>&1; then
  if ! chroot "$root" sh -c 'command -v "$1"' sh "$tool" >/dev/null 2>&1; then
    echo "$tool: not found on the node, nor below $root" >&2
    exit 127
  fi
  exec timeout -k 3 "$limit" chroot "$root" sh -c "$line"
fi
exec timeout -k 3 "$limit" sh -c "$line"
)sh";

// A kubelet replaces "$$" and "$(NAME)" in a container's words, so what is to be run comes as
// base64. $1 the mark, $2 ticks, $3 kOnNode, $4 another root; then seconds, tool, line and
// standard input of each.
constexpr const char* kProbeScript = R"sh(mark=$1 ticks=$2 root=$4
for tool in nsenter base64 sed wc mktemp; do
  if ! command -v "$tool" >/dev/null 2>&1; then echo "$mark trouble $tool is not in the image"; exit 64; fi
done
on_node=`printf %s "$3" | base64 -d`
shift 4
enter="nsenter -t 1 -m -u -i -n -p --"
if ! why=`$enter true 2>&1`; then echo "$mark trouble the node's namespaces cannot be entered: $why"; exit 64; fi
if ! dir=`mktemp -d`; then echo "$mark trouble no temporary folder can be made"; exit 64; fi
n=0
while [ $# -ge 4 ]; do
  limit=$1 tool=`printf %s "$2" | base64 -d` line=`printf %s "$3" | base64 -d`
  printf %s "$4" | base64 -d >"$dir/in"
  shift 4
  $enter sh -c "$on_node" probe "$limit" "$tool" "$line" "$root" >"$dir/out" 2>"$dir/err" <"$dir/in"
  code=$?
  for stream in out err; do base64 <"$dir/$stream" | sed "s/^/$mark $n $stream /"; done
  echo "$mark $n end $code" `wc -c <"$dir/out"` `wc -c <"$dir/err"`
  n=`expr $n + 1`
done
rm -rf "$dir"
echo "$mark all $n"
exec $enter sh -c 'i=0
while [ "$i" -lt "$2" ]; do echo "$1 tick `date +%s.%N`"; sleep 0.02; i=`expr $i + 1`; done
echo "$1 over"' clock "$mark" "$ticks"
)sh";

// "12 out QUJD" of an answer, "12 end 0 3 0", "all 13".
struct AnswerParts {
  std::string out, err;
  std::optional<int> exit_code;
  int64_t out_bytes = -1, err_bytes = -1;
};

void TakeEnd(std::string_view rest, AnswerParts& parts) {
  const auto words = SplitBlank(rest);
  if (words.size() != 3) return;
  const auto code = ParseInt(words[0]), out = ParseInt(words[1]), err = ParseInt(words[2]);
  if (!code.ok() || !out.ok() || !err.ok()) return;
  parts.exit_code = static_cast<int>(*code);
  parts.out_bytes = *out;
  parts.err_bytes = *err;
}

std::optional<CommandResult> Whole(const AnswerParts& parts, const Command& command) {
  if (!parts.exit_code) return std::nullopt;
  auto out = kube::FromBase64(parts.out), err = kube::FromBase64(parts.err);
  if (!out || !err || static_cast<int64_t>(out->size()) != parts.out_bytes ||
      static_cast<int64_t>(err->size()) != parts.err_bytes)
    return std::nullopt;
  CommandResult result;
  result.exit_code = *parts.exit_code;
  // timeout(1) says 124, or 137 where TERM was not enough.
  result.timed_out = result.exit_code == 124 || result.exit_code == 137;
  for (auto [from, into] : {std::pair{&*out, &result.out}, std::pair{&*err, &result.err}}) {
    result.truncated = result.truncated || from->size() > command.max_output;
    if (from->size() > command.max_output) from->resize(command.max_output);
    *into = std::move(*from);
  }
  return result;
}

}  // namespace

Status CanRunInPod(const Command& command) {
  if (command.argv.empty()) return Fail(Code::kInvalid, "a command needs a program");
  if (!command.folder.empty())
    return Fail(Code::kInvalid, "a probe pod runs a command in no folder of its own");
  return {};
}

std::vector<std::string> ProbeCommand(const std::string& mark, const std::vector<Command>& commands,
                                      int ticks) {
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    kProbeScript,
                                    "probe",
                                    mark,
                                    std::to_string(ticks),
                                    kube::ToBase64(kOnNode),
                                    std::string(kDriverRoot)};
  for (const Command& command : commands) {
    std::vector<std::string> line;
    if (!command.env.empty()) line.emplace_back("env");
    for (const auto& [name, value] : command.env) line.push_back(name + "=" + value);
    line.insert(line.end(), command.argv.begin(), command.argv.end());
    const auto limit = std::chrono::ceil<std::chrono::seconds>(command.timeout).count();
    words.push_back(std::to_string(std::max<int64_t>(limit, 1)));
    words.push_back(kube::ToBase64(command.argv.front()));
    words.push_back(kube::ToBase64("exec " + ShellQuote(line)));
    words.push_back(kube::ToBase64(command.stdin_text));
  }
  return words;
}

ProbeLog ParseProbeLog(std::string_view text, const std::string& mark,
                       const std::vector<Command>& commands) {
  ProbeLog log;
  std::vector<AnswerParts> parts(commands.size());
  const size_t last = text.rfind('\n');  // a last line without its end may be half of one
  for (const std::string_view line :
       Split(last == std::string_view::npos ? std::string_view() : text.substr(0, last), '\n')) {
    const auto rest = After(line, mark + " ");
    if (!rest) continue;
    if (const auto why = After(*rest, "trouble ")) log.trouble = std::string(*why);
    if (StartsWith(*rest, "all ")) log.done = true;
    const size_t space = rest->find(' ');
    const auto number = ParseInt(rest->substr(0, space));
    if (space == std::string_view::npos || !number.ok() || *number < 0 ||
        static_cast<size_t>(*number) >= parts.size())
      continue;
    AnswerParts& one = parts[static_cast<size_t>(*number)];
    const std::string_view said = rest->substr(space + 1);
    if (const auto out = After(said, "out ")) one.out += *out;
    if (const auto err = After(said, "err ")) one.err += *err;
    if (const auto end = After(said, "end ")) TakeEnd(*end, one);
  }
  for (size_t i = 0; i < parts.size(); ++i) log.answers.push_back(Whole(parts[i], commands[i]));
  return log;
}

std::optional<std::string> LastTick(std::string_view text, const std::string& mark) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const size_t begin = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
  const size_t from = begin == std::string_view::npos ? 0 : begin + 1;
  const auto tick = After(text.substr(from, end - from), mark + " tick ");
  if (!tick || tick->empty()) return std::nullopt;
  return std::string(*tick);
}

}  // namespace muster::kubernetes
