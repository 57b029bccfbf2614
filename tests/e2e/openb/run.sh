#!/bin/bash
# The published openb experiments again (Alibaba cluster-trace-gpu-v2023): the baselines must agree with the published curves, Muster's
# policy must allocate more than each of them at load 130 %. The lists are read from ../shared/traces/openb beside the checkout.
# Usage: run.sh [BUILD_FOLDER]. Ten seeds; FGD, which is slow, has three unless MUSTER_NIGHTLY is set. Prints PASS, FAIL and SKIP lines
# and the table; exit 1 after a FAIL.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
data=${MUSTER_OPENB:-$top/../shared/traces/openb}
passed=0 failed=0 skipped=0
pass() { echo "PASS openb $1"; passed=$((passed + 1)); }
fail() { echo "FAIL openb $1: $2"; failed=$((failed + 1)); }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit $?; }

muster=
for build in "${1:-${MUSTER_BUILD:-$top/build/release}}" "$top/build/release" "$top/build/dev"; do
  [ -n "$muster" ] || muster=$(find "$build" -name muster -type f -perm -u+x 2>/dev/null | head -1)
done
[ -n "$muster" ] || { fail muster "not built"; finish; }
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-openb.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Bad input first: it needs no trace.
printf 'cpu_milli,memory_mib,gpu,model\n64000,9999,8,T4\n' >"$work/nodes"
printf 'cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,x\n' >"$work/pods"
"$muster" sched replay --nodes "$work/nodes" --pods "$work/pods" >"$work/out" 2>"$work/err"
if [ $? -eq 2 ] && grep -q 'line 2, column gpu_milli' "$work/err" && [ ! -s "$work/out" ]; then
  pass "bad list"
else
  fail "bad list" "$(head -1 "$work/err")"
fi
if [ ! -r "$data/openb_node_list_all_node.csv" ]; then
  echo "SKIP openb: no traces at $data"
  skipped=1
  finish
fi

few=3
[ -n "${MUSTER_NIGHTLY:-}" ] && few=10
# run LIST POLICY SEEDS -> $work/LIST.POLICY, in JSON
run() {
  timeout 300 "$muster" sched replay --nodes "$data/openb_node_list_all_node.csv" --pods "$data/openb_pod_list_$1.csv" --policy "$2" \
    --load 1.3 --seed 42 --seeds "$3" --json >"$work/$1.$2" 2>"$work/$1.$2.err" || echo "$1 $2: $(head -1 "$work/$1.$2.err")" >>"$work/broken"
}
for list in default gpuspec33 multigpu50; do
  run $list random 10
  run $list dotprod 10
  run $list bestfit 10
  run $list fgd $few
  run $list muster 10
done
[ -s "$work/broken" ] && { fail replay "$(cat "$work/broken")"; finish; }

run default muster 1 && cp "$work/default.muster" "$work/first" && run default muster 1
if cmp -s "$work/first" "$work/default.muster"; then pass "same seed, same bytes"; else fail "same seed" "two runs differ"; fi
run default muster 10

python3 - "$data/published_allocation.csv" "$work" $few <<'END' | tee "$work/judged"
import csv, json, sys
published, work, few = sys.argv[1], sys.argv[2], int(sys.argv[3])
names = {"01-Random": "random", "02-DotProd": "dotprod", "05-BestFit": "bestfit", "06-FGD": "fgd"}
ours = lambda name, policy: json.load(open(f"{work}/{name}.{policy}"))["alloc_pct_at_load"]
best = {}
print("  list        policy    load  published     here  difference")
for row in csv.DictReader(open(published)):
    name = row["pod_list"].removeprefix("openb_pod_list_")
    best[name] = max(best.get(name, 0), float(row["alloc_pct_at_load_130"]))
    policy = names.get(row["policy"])
    if policy is None:
        continue
    here = ours(name, policy)
    off = 0
    for load in ("50", "90", "100", "130"):
        want = float(row[f"alloc_pct_at_load_{load}"])
        print(f"  {name:11} {policy:9} {load:>4}  {want:9.2f} {here[load]:8.2f} {here[load] - want:+11.2f}")
        if load == "130":
            off = abs(here[load] - want)
    allowed = 0.5 if policy != "fgd" or few == 10 else 0.8  # three seeds scatter more
    print(f"PASS openb {policy} on {name} agrees" if off <= allowed else
          f"FAIL openb {policy} on {name}: {off:.2f} points from the published figure")
for name, bar in best.items():
    here = ours(name, "muster")
    print(f"  {name:11} muster     130  {bar:9.2f} {here['130']:8.2f} {here['130'] - bar:+11.2f}   (published: the best of all)")
    print(f"PASS openb muster beats all published on {name}" if here["130"] > bar else
          f"FAIL openb muster on {name}: {here['130']:.2f}, published {bar:.2f}")
END
passed=$((passed + $(grep -c '^PASS ' "$work/judged")))
failed=$((failed + $(grep -c '^FAIL ' "$work/judged")))
finish
