#!/usr/bin/env bash
# Every fault of the lab in turn, and a sample of pairs, through the production gates: no false pass, the right gate, the right
# suspect. Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER_BUILD:-$top/build/release}}/muster
[ -x "$muster" ] || { echo "FAIL exam: $muster is not built"; exit 1; }
pairs=${MUSTER_NIGHTLY:+200}; pairs=${pairs:-12}
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
timeout 1200 "$muster" lab exam --seed 7 --pairs "$pairs" -q -o json >"$out"
python3 - "$out" <<'PY'
import json, sys
try:
    exam = json.load(open(sys.argv[1]))
except ValueError:
    sys.exit(print("FAIL exam: it gave no result"))
def say(name, good, why):
    print(f"PASS exam {name}" if good else f"FAIL exam {name}: {why}")
wrong = [c for c in exam["results"] if c["false_pass"] or not c["right_gate"] or not c["right_suspect"]]
for case in wrong:
    print("wrong:", case["faults"], "gate", case["first_gate"], "expected", case["expected_gate"], "suspect", case["suspect"])
print(f"{exam['cases']} cases, seed {exam['seed']}: false passes {exam['false_passes']}, right gate {exam['right_gate']:.3f}, right suspect {exam['right_suspect']:.3f}")
say("covers at least 40 kinds", len({c["faults"][0].split()[0] for c in exam["results"] if len(c["faults"]) == 1}) >= 40, "fewer")
say("no false pass", exam["false_passes"] == 0, exam["false_passes"])
say("right gate always", exam["right_gate"] == 1.0, exam["right_gate"])
say("right suspect first", exam["right_suspect"] >= 0.97, exam["right_suspect"])
PY
