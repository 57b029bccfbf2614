#!/usr/bin/env bash
# The release binary killed (SIGKILL) and interrupted (SIGINT) in the middle of `bringup run`, at moments that are told from
# outside by the records in its ledger; `bringup resume` then comes to the verdicts of a run that nobody disturbed.
# Usage: run.sh [BUILD_FOLDER]. Prints PASS, FAIL and SKIP lines. About a minute; MUSTER_NIGHTLY=1 kills at every record.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
muster=${1:-${MUSTER_BUILD:-$top/build/release}}/muster
[ -x "$muster" ] || { echo "FAIL kill: $muster is not built"; exit 1; }
exec python3 - "$muster" <<'PY'
import json, os, shutil, signal, struct, subprocess, sys, tempfile, time

muster = sys.argv[1]
nightly = bool(os.environ.get("MUSTER_NIGHTLY"))
work = tempfile.mkdtemp()
ends = time.monotonic() + (1800 if nightly else 55)
failed = False


def say(name, good, why=""):
    global failed
    failed = failed or not good
    print(f"PASS kill {name}" if good else f"FAIL kill {name}: {why}", flush=True)


def run(*words, **more):
    return subprocess.run([muster, *words], capture_output=True, text=True, timeout=240, **more)


def records(ledger):
    """How many whole records are in the file: 16 bytes of header, then frames of 24 + length + 32 bytes, the length first
    (docs/design/journal.md)."""
    try:
        data = open(ledger, "rb").read()
    except OSError:
        return 0
    at, count = 16, 0
    while at + 24 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        if at + 56 + length > len(data):
            break
        at, count = at + 56 + length, count + 1
    return count


def newest(folder):
    runs = os.path.join(folder, ".muster/runs")
    names = sorted(os.listdir(runs)) if os.path.isdir(runs) else []
    return os.path.join(runs, names[-1], "ledger") if names else ""


def verdicts(document):
    """Levels of gates and of all that does not pass. Figures of real work on a busy machine may differ; the gates may not."""
    return [(g["id"], g["verdict"] in ("pass", "warn"), g.get("blocked_by", "")) for g in document["gates"]]


lab = os.path.join(work, "lab")
# Gates 1 to 4 start no long work, so that many places can be tried; one kill is laid into gates 6 to 8.
made = run("lab", "create", "--spec", "nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2", "--out", lab + "/site.yaml")
say("a lab is made", made.returncode == 0, made.stderr)
whole = os.path.join(work, "whole")
shutil.copytree(lab, whole)
first = run("bringup", "run", "--site", whole + "/site.yaml", "--to", "4", "-o", "json")
say("the undisturbed run passes", first.returncode == 0, first.stderr[-300:])
wanted = verdicts(json.loads(first.stdout))
total = records(newest(whole))
say("the ledger is read from outside", total > 10, f"{total} records")


def disturb(at, how, words=("--to", "4")):
    """Starts a run, sends the signal once the ledger has `at` records. None when the run was over before."""
    shutil.rmtree(os.path.join(work, "now"), ignore_errors=True)
    shutil.copytree(lab, os.path.join(work, "now"))
    site = os.path.join(work, "now/site.yaml")
    child = subprocess.Popen([muster, "bringup", "run", "--site", site, *words], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while child.poll() is None and records(newest(os.path.dirname(site))) < at:
        time.sleep(0.001)
    if child.poll() is None:
        child.send_signal(how)
    told = child.communicate(timeout=240)[1]
    return site, child.returncode, told


def resumed(site):
    done = run("bringup", "resume", "--site", site, "-o", "json")
    if done.returncode == 2 and "no interrupted run" in done.stderr:  # killed before its header was durable
        done = run("bringup", "run", "--site", site, "--to", "4", "-o", "json")
    try:
        return done.returncode, verdicts(json.loads(done.stdout))
    except ValueError:
        return done.returncode, done.stderr[-300:]


# Spread over the whole run, each place once; more of them as time allows.
places, step = [], max(1, total // 2)
while step >= 1:
    places += [p for p in range(0, total, step) if p not in places]
    step //= 2
killed = wrong = 0
for place in places:
    if time.monotonic() > ends - (25 if not nightly else 0):
        break
    site, code, _ = disturb(place, signal.SIGKILL)
    if code != -signal.SIGKILL:
        continue
    killed += 1
    code, got = resumed(site)
    if code != 0 or got != wanted:
        wrong += 1
        print(f"killed at record {place} of {total}: resume exits {code} with {got}")
    verified = run("verify", newest(os.path.dirname(site)).split("/")[-2], "--site", site)
    if verified.returncode != 0:
        wrong += 1
        print(f"killed at record {place}: verify says {verified.stdout[-200:]} {verified.stderr[-200:]}")
say(f"killed at {killed} of {total} records, every resume ends as the undisturbed run", killed >= 5 and wrong == 0,
    f"{wrong} did not, {killed} were killed in time")

stopped = 0
for place in (1, total // 3, total // 2):
    site, code, told = disturb(place, signal.SIGINT)
    if code == 0:
        continue
    stopped += 1
    say(f"SIGINT at record {place} exits 130 and names the way on", code == 130 and "bringup resume --site " + site in told,
        f"exit {code}: {told[-300:]}")
    code, got = resumed(site)
    say(f"and is resumed to the same verdicts ({place})", code == 0 and got == wanted, f"exit {code}: {got}")
say("interrupted in time", stopped > 0, "the run was over each time")
shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failed else 0)
PY
