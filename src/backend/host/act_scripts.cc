#include "backend/host/act_scripts.h"

#include <fmt/format.h>

#include "world/posix/shell_quote.h"

namespace muster::host {

namespace {

// d: the folder; h: the hold. put FILE TEXT: replaced as a whole, on disk before it returns.
constexpr std::string_view kFunctions = R"sh(PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
LC_ALL=C
export PATH LC_ALL
d=${MUSTER_STATE_DIR:-/var/lib/muster}
h=$d/hold.json
put() {
  printf '%s' "$2" >"$1.new" && sync "$1.new" && mv "$1.new" "$1" && sync "${1%/*}"
}
unwritable() { printf 'muster unwritable %s\n' "$d"; exit 0; }
)sh";

// Takes the lock and holds the file to the version that was read.
std::string Locked(std::string_view version, std::string_view busy) {
  return fmt::format(R"sh(umask 022
mkdir -p "$d/acts" 2>/dev/null || unwritable
( exec 9>>"$d/lock" ) 2>/dev/null || unwritable
exec 9>>"$d/lock"
command -v flock >/dev/null 2>&1 || {{ echo "muster unwritable no flock on this host"; exit 0; }}
flock -w 10 9 || {{ {}; echo "muster busy"; exit 0; }}
v=-
[ ! -e "$h" ] || v=$(sha256sum <"$h" | cut -d' ' -f1)
[ "$v" = {} ] || {{ echo "muster moved"; exit 0; }}
)sh",
                     busy, ShellQuote(version));
}

std::string Put(std::string_view content) {
  if (content.empty()) return "";
  return fmt::format("put \"$h\" {} || unwritable\n", ShellQuote(content));
}

}  // namespace

std::string ReadHoldScript() {
  return std::string(kFunctions) + R"sh(if [ -e "$h" ]; then
  t=$(cat "$h"; echo x) || exit 1
  t=${t%x}
  printf 'hold %s\n' "$(printf '%s' "$t" | sha256sum | cut -d' ' -f1)"
  printf '%s' "$t"
else
  if [ -e "$d" ] && [ ! -x "$d" ]; then exit 1; fi
  echo "hold -"
fi
echo end
)sh";
}

std::string WriteHoldScript(std::string_view version, std::string_view content) {
  return std::string(kFunctions) + Locked(version, ":") + Put(content) + "echo \"muster done\"\n";
}

std::string DoScript(const ActScript& act) {
  const std::string folder = fmt::format("r=$d/acts/{}\n", act.token_hash);
  // The same order, still under way: it is not refused, it is being done.
  const std::string busy =
      "if [ -e \"$r/begun\" ] && [ ! -e \"$r/ended\" ]; then echo \"muster begun\"; exit 0; fi";
  std::string runner = std::string(kFunctions) + folder + "c=0\n";
  for (const Words& words : act.commands)
    runner +=
        fmt::format("[ $c -ne 0 ] || {{ {} <\"$r/input\" 9>&-; c=$?; }}\n", ShellQuote(words));
  if (!act.kernel_mark.empty())
    runner += fmt::format(
        "[ $c -ne 0 ] || printf '%s\\n' {} >\"${{MUSTER_KMSG:-/dev/kmsg}}\" 2>/dev/null || "
        "echo \"(the kernel log took no mark)\"\n",
        ShellQuote(act.kernel_mark));
  runner += "sync \"$r/out\"\nput \"$r/ended\" \"$c\"\n";
  return std::string(kFunctions) + folder + Locked(act.version, busy) +
         "if [ \"$(cat \"$r/ended\" 2>/dev/null)\" = 0 ]; then\n"
         "  echo \"muster ended 0\"; echo \"(it was done when it was first ordered)\"; exit 0\n"
         "fi\n"
         // What was kept of long ago goes: the engine's journal has it.
         "ls -1t \"$d/acts\" 2>/dev/null | tail -n +201 | while read -r o; do rm -rf "
         "\"$d/acts/$o\"; done\n" +
         Put(act.content) +
         fmt::format(
             "rm -rf \"$r\"; mkdir -p \"$r\" || unwritable\n"
             "printf '%s' {} >\"$r/input\" || unwritable\n"
             "put \"$r/begun\" \"$(cat /proc/sys/kernel/random/boot_id)\" || unwritable\n"
             // A session of its own: it keeps the lock, and outlives the connection.
             "setsid /bin/sh -c {} </dev/null >\"$r/out\" 2>&1 &\n",
             ShellQuote(act.input), ShellQuote(runner)) +
         fmt::format(
             "i=0\nwhile [ $i -lt {} ] && [ ! -e \"$r/ended\" ]; do sleep 0.1; "
             "i=$((i + 1)); done\n",
             act.wait_s * 10) +
         R"sh(if [ -e "$r/ended" ]; then
  printf 'muster ended %s\n' "$(cat "$r/ended")"
  tail -c 1500 "$r/out"
else
  echo "muster begun"
fi
)sh";
}

std::string RecordScript(std::string_view token_hash) {
  return std::string(kFunctions) + fmt::format("r=$d/acts/{}\n", token_hash) + R"sh(b=0
if [ -e "$d/lock" ]; then flock -n "$d/lock" true || b=1; fi
if [ ! -e "$r/begun" ]; then
  echo "state none"
elif [ -e "$r/ended" ]; then
  echo "state ended"
elif [ $b -eq 1 ]; then
  echo "state busy"
else
  echo "state begun"
fi
printf 'boot %s\n' "$(cat "$r/begun" 2>/dev/null)"
printf 'code %s\n' "$(cat "$r/ended" 2>/dev/null)"
printf 'output\n%s\nend\n' "$(tail -c 1500 "$r/out" 2>/dev/null)"
)sh";
}

std::string JobsScript() {
  return std::string(kFunctions) +
         R"sh(o=$(nvidia-smi --query-compute-apps=pid,gpu_uuid,process_name --format=csv,noheader 2>&1)
printf 'code %s\n' "$?"
printf '%s\n' "$o" | while IFS= read -r l; do
  [ -n "$l" ] || continue
  p=${l%%,*}
  case $p in *[!0-9]*|'') s=- ;; *) s=$(stat -c %Y "/proc/$p" 2>/dev/null || echo -) ;; esac
  printf '%s %s\n' "$s" "$l"
done
echo end
)sh";
}

Words EndJobsWords() {
  return {
      "/bin/sh", "-c",
      R"sh(pids() { nvidia-smi --query-compute-apps=pid --format=csv,noheader,nounits | grep -x '[0-9]*'; }
for p in $(pids); do kill -s TERM "$p"; done
i=0
while [ $i -lt 100 ] && [ -n "$(pids)" ]; do sleep 0.1; i=$((i + 1)); done
for p in $(pids); do kill -s KILL "$p"; done
exit 0
)sh"};
}

}  // namespace muster::host
