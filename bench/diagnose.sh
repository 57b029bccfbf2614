#!/usr/bin/env bash
# How fast a large NCCL log is read: 1 GiB, 1,024 ranks on 128 hosts, against `rg -c NCCL` (or grep) on the same file in the same run;
# peak memory and the time to the first finding. Twice: each rank's lines in a row, as a set-up prints them, and all lines mixed, the
# worst order. Usage: bench/diagnose.sh [BUILD_FOLDER] [MIB]. Prints one line a figure; the files are removed.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
muster=${1:-$top/build/release}/muster
mib=${2:-1024}
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
for order in rows mixed; do
python3 - "$work/log" "$mib" "$order" <<'P'
import random, sys
path, mib, order = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ranks = 1024
def host(r): return f"gpu{r // 8:04d}"
with open(path, "w") as out:
    out.write("gpu0000:1000:1000 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n")
    for r in range(ranks):
        out.write(f"{host(r)}:{1000+r%8}:{2000+r%8} [{r%8}] NCCL INFO ncclCommInitRank comm 0x55{r:04x} rank {r} nranks {ranks} cudaDev {r%8} nvmlDev {r%8} busId {27+r%8:x}000 commId 0xfeed - Init START\n")
    out.write("gpu0003:1001:2001 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.4.2.3<41211> with error 12, opcode 0, len 0, vendor err 129 (Recv)\n")
    block = []
    for r in range(ranks):
        h = f"{host(r)}:{1000+r%8}:{2000+r%8} [{r%8}] NCCL INFO "
        for c in range(16):
            to = (r + 8) % ranks if c % 2 else (r // 8) * 8 + (r + 1) % 8
            via = f"NET/IB/{c//2}/GDRDMA" if c % 2 else "P2P/CUMEM/read"
            block.append(f"{h}Channel {c:02d}/0 : {r}[{r%8}] -> {to}[{to%8}] {'[send] ' if c % 2 else ''}via {via}\n")
    if order == "mixed":
        random.seed(1)
        random.shuffle(block)
    text = "".join(block)
    written = 0
    while written < mib * 1048576:
        out.write(text)
        written += len(text)
    for r in range(ranks):
        out.write(f"{host(r)}:{1000+r%8}:{2000+r%8} [{r%8}] NCCL INFO ncclCommInitRank comm 0x55{r:04x} rank {r} nranks {ranks} cudaDev {r%8} nvmlDev {r%8} busId {27+r%8:x}000 commId 0xfeed - Init COMPLETE\n")
P
cat "$work/log" >/dev/null  # both read it from the page cache
python3 - "$muster" "$work/log" "$order" "$(git -C "$top" rev-parse --short HEAD 2>/dev/null)" <<'P'
import os, platform, shutil, subprocess, sys, time
muster, log, order, commit = sys.argv[1:]
def run(argv):
    before = time.monotonic()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first = None
    for line in child.stderr:
        if first is None and "found so far" in line:
            first = time.monotonic() - before
    _, status, usage = os.wait4(child.pid, 0)
    return time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, first
search = "rg" if shutil.which("rg") else "grep"
rg = min(run([search, "-c", "NCCL", log]) for _ in range(5))
mu = min(run([muster, "diagnose", log]) for _ in range(5))
nccl = min(run([muster, "nccl", log]) for _ in range(3))
print(f"order of lines   {order}")
print(f"machine {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, commit {commit}")
print(f"log {os.path.getsize(log) / 2**30:.2f} GiB")
print(f"{search:4} -c NCCL     {rg[0]:.2f} s wall, {rg[1]:.2f} s cpu")
print(f"muster diagnose  {mu[0]:.2f} s wall, {mu[1]:.2f} s cpu, {mu[2]:.0f} MiB peak")
print(f"muster nccl      {nccl[0]:.2f} s wall, {nccl[1]:.2f} s cpu, {nccl[2]:.0f} MiB peak")
print(f"ratio            {mu[0] / rg[0]:.2f} wall, {mu[1] / rg[1]:.2f} cpu")
print(f"first finding    {mu[3]:.2f} s" if mu[3] is not None else "first finding    none")
P
done
