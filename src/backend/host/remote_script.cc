#include "backend/host/remote_script.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/posix/shell_quote.h"

namespace muster::host {

namespace {

bool IsVariableName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string GangFolder(std::string_view gang, std::string_view node) {
  // A shell word: ${TMPDIR} is the host's business.
  return fmt::format("\"${{TMPDIR:-/tmp}}\"/{}",
                     ShellQuote(fmt::format("muster-gang-{}@{}", gang, node)));
}

// What every script that goes after a gang's processes begins with.
// alive FILE: the group in FILE is still led by the process that wrote it (a number may be given to
// others later). pids: processes of this user whose environment names the gang.
std::string GangFunctions(std::string_view gang, std::string_view node) {
  return fmt::format(R"sh(d={}
alive() {{
  read -r p s < "$1" 2>/dev/null || return 1
  [ -n "$s" ] || return 1
  now=$(sed -n 's/.*) //p' "/proc/$p/stat" 2>/dev/null | cut -d' ' -f1,20)
  [ "${{now#? }}" = "$s" ] && [ "${{now%% *}}" != Z ]
}}
pids() {{
  grep -lsazFx {} /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}}
)sh",
                     GangFolder(gang, node), ShellQuote(fmt::format("MUSTER_GANG={}", gang)));
}

Result<std::string> Exports(const Command& command) {
  std::string text;
  if (!command.env.contains("PATH")) text += "PATH=\"$PATH:/usr/local/sbin:/usr/sbin:/sbin\"\n";
  for (const auto& [name, value] : command.env) {
    if (!IsVariableName(name)) {
      return Fail(
          Code::kInvalid,
          fmt::format("\"{}\" cannot be the name of an environment variable", Printable(name)));
    }
    text += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  return text;
}

}  // namespace

bool IsGangName(std::string_view name) {
  return !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

std::string ShellLine(std::string_view script) { return "exec /bin/sh -c " + ShellQuote(script); }

Result<std::string> CommandScript(const Command& command, std::string_view marker,
                                  int64_t seconds) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return Fail(Code::kInvalid, "a command without a program");
  }
  TRY(const std::string exports, Exports(command));
  std::string script =
      fmt::format("end() {{ printf '\\n{} %s\\n' \"$1\" >&2; exit 255; }}\n", marker);
  if (!command.folder.empty()) {
    script += fmt::format("cd {} 2>/dev/null || end folder\n", ShellQuote(command.folder));
  }
  script += exports;
  script += fmt::format("set -- {}\n", ShellQuote(command.argv));
  script += R"sh(case "$1" in
*/*) [ -e "$1" ] || end missing; [ -x "$1" ] && [ ! -d "$1" ] || end forbidden ;;
*) command -v "$1" >/dev/null 2>&1 || end missing ;;
esac
)sh";
  if (seconds > 0) {
    script += fmt::format(
        "if command -v timeout >/dev/null 2>&1; then timeout -k 2 {} \"$@\"; else \"$@\"; fi\n",
        seconds);
  } else {
    script += "\"$@\"\n";
  }
  return script + "c=$?\n[ $c -ne 255 ] || end exit\nexit $c\n";
}

std::optional<std::string> TakeMarked(std::string& err, std::string_view marker,
                                      std::string_view word) {
  const std::string wanted = fmt::format("\n{} {}", marker, word);
  const size_t at = err.rfind(wanted);
  if (at == std::string::npos) return std::nullopt;
  const size_t line_end = std::min(err.find('\n', at + 1), err.size());
  std::string rest(
      Trim(std::string_view(err).substr(at + wanted.size(), line_end - at - wanted.size())));
  err.erase(at, std::min(line_end + 1, err.size()) - at);
  return rest;
}

Result<std::string> ExecScript(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return Fail(Code::kInvalid, "a command without a program");
  }
  TRY(std::string script, Exports(command));
  if (!command.folder.empty()) {
    script += fmt::format("cd {} || exit 125\n", ShellQuote(command.folder));
  }
  return script + fmt::format("exec {}\n", ShellQuote(command.argv));
}

std::string HeldScript(std::string_view script, std::string_view marker, int64_t seconds) {
  const std::string watch =
      seconds > 0
          ? fmt::format(
                "if command -v timeout >/dev/null 2>&1; then timeout {} cat <&3; else cat <&3; fi",
                seconds)
          : "cat <&3";
  // The watcher reads standard input by its own descriptor: a background job's would be /dev/null.
  return fmt::format(R"sh(exec 3<&0
setsid /bin/sh -c {} </dev/null 3<&- &
c=$!
(
  {}
  kill -s TERM -- -$c; sleep 1; kill -s KILL -- -$c
) >/dev/null 2>&1 &
w=$!
wait $c
r=$?
kill -s KILL -- -$c 2>/dev/null
kill $w 2>/dev/null
[ $r -ne 255 ] || printf '\n{} exit\n' >&2
exit $r
)sh",
                     ShellQuote(script), watch, marker);
}

Result<std::string> RankScriptText(const RankScript& rank) {
  Command command = rank.command;
  command.env["MUSTER_GANG"] = rank.gang;
  TRY(const std::string exec, ExecScript(command));
  // Field 22 of /proc/PID/stat is the start time (proc(5)): with it a process number names one
  // process for good.
  return fmt::format(
      R"sh(printf '%s %s\n' "$$" "$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)" > {}/rank-{}.pgid || exit 125
printf '\n{} started %s\n' "$(date +%s.%N)" >&2
{})sh",
      GangFolder(rank.gang, rank.node), rank.rank, rank.marker, exec);
}

std::string ReadyScript(std::string_view gang, std::string_view node, std::string_view program) {
  return GangFunctions(gang, node) + fmt::format(R"sh(PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
mkdir -p -m 700 "$d" 2>/dev/null
[ -d "$d" ] && [ -O "$d" ] && [ -w "$d" ] || echo "problem $d cannot be written"
for t in setsid sed cut grep date; do
  command -v $t >/dev/null 2>&1 || echo "problem no $t on this host"
done
command -v {0} >/dev/null 2>&1 || echo "problem no program "{0}
q=$(pids)
if [ -n "$q" ]; then
  echo "problem processes of an earlier gang of this name still run: "$q
else
  rm -f "$d"/rank-*
fi
sed -n 's/^ *[0-9]*: [0-9A-F]*:\([0-9A-F]*\) [0-9A-F]*:0000 0A .*/port \1/p' /proc/net/tcp /proc/net/tcp6 2>/dev/null
hostname -I 2>/dev/null | sed -n 's/^\([^ ]*\) .*/address \1/p'
exit 0
)sh",
                                                 ShellQuote(program));
}

std::string EndScript(std::string_view gang, std::string_view node) {
  return GangFunctions(gang, node) + R"sh(
signal() {
  for f in "$d"/rank-*.pgid; do
    if [ -e "$f" ] && alive "$f"; then kill -s "$1" -- "-$p" 2>/dev/null; fi
  done
  for q in $(pids); do kill -s "$1" "$q" 2>/dev/null; done
}
left() {
  for f in "$d"/rank-*.pgid; do
    if [ -e "$f" ] && alive "$f"; then return 0; fi
  done
  [ -n "$(pids)" ]
}
if left; then
  signal TERM
  for i in 1 2 3 4 5 6 7 8 9 10; do
    left || break
    sleep 0.1
  done
fi
for i in 1 2 3 4 5 6 7 8 9 10; do
  left || break
  signal KILL
  sleep 0.1
done
left && exit 1
rm -rf "$d"
)sh";
}

std::string ForgetScript(std::string_view gang, std::string_view node) {
  return GangFunctions(gang, node) + "[ -n \"$(pids)\" ] || rm -rf \"$d\"\n";
}

std::string LookScript(std::string_view gang, std::string_view node) {
  return GangFunctions(gang, node) + R"sh(
for q in $(pids); do
  echo "process $q: $(tr '\0' ' ' < /proc/$q/cmdline 2>/dev/null | cut -c1-200)"
done
for f in "$d"/rank-*.pgid; do
  if [ -e "$f" ] && alive "$f"; then echo "process group $p: ${f##*/}"; fi
done
if [ -e "$d" ]; then echo "folder $d"; fi
exit 0
)sh";
}

}  // namespace muster::host
