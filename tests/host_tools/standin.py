#!/usr/bin/env python3
"""Stand-ins for the tools that the host actuator runs: nvidia-smi, systemctl, modprobe, find, apt-get, apt-mark, dpkg-query. They print what
the real ones print (nvidia-smi 570, systemd 252, apt 2.6) and keep what they did in $MUSTER_STANDIN/state.json, so that an act shows in the
next look. All that is seen through them is rehearsed. Usage: standin.py TOOL ARGS..."""
import fcntl, json, os, subprocess, sys, uuid

FOLDER = os.environ["MUSTER_STANDIN"]
tool, args = sys.argv[1], sys.argv[2:]
lock = open(FOLDER + "/standin.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
with open(FOLDER + "/state.json") as f:
    state = json.load(f)


def end(code=0, text=""):
    if text:
        print(text, file=sys.stderr if code else sys.stdout)
    with open(FOLDER + "/state.json.new", "w") as f:
        json.dump(state, f)
    os.rename(FOLDER + "/state.json.new", FOLDER + "/state.json")
    with open(FOLDER + "/asked", "a") as f:
        f.write(" ".join([tool] + args) + "\n")
    sys.exit(code)


def option(name):
    return args[args.index(name) + 1] if name in args else None


def gpus():
    wanted = option("-i")
    found = [g for g in state["gpus"] if wanted is None or wanted in (g["index"], g["bus"], g["uuid"])]
    if not found:
        end(6, "No devices were found")
    return found


def boot():
    state["boots"] = state.get("boots", 0) + 1
    with open(FOLDER + "/boot_id", "w") as f:
        f.write(str(uuid.uuid4()) + "\n")
    for unit in state["units"].values():
        unit["id"] = uuid.uuid4().hex


def runs(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


fails = state.get("fails", {})
for begin, (code, text) in fails.items():
    if (" ".join([tool] + args)).startswith(begin):
        end(code, text)

if tool == "nvidia-smi":
    query = [a for a in args if a.startswith("--query-gpu=")]
    if query:
        columns = {"index": "index", "pci.bus_id": "bus", "uuid": "uuid", "persistence_mode": "persistence", "power.limit": "power",
                   "ecc.mode.pending": "ecc", "mig.mode.current": "mig", "ecc.errors.uncorrected.volatile.total": "errors",
                   "driver_version": "driver"}
        for g in gpus():
            print(", ".join(g[columns[c]] for c in query[0].split("=")[1].split(",")))
    elif any(a.startswith("--query-compute-apps=") for a in args):
        for pid, gpu, name in state["jobs"]:
            if runs(pid):
                print(pid if "pid," not in " ".join(args) else "%d, %s, %s" % (pid, gpu, name))
    elif "-L" in args:
        for g in state["gpus"]:
            print("GPU %s: NVIDIA H100 80GB HBM3 (UUID: %s)" % (g["index"], g["uuid"]))
            for n, profile in enumerate(g["instances"]):
                print("  MIG %-12s Device  %d: (UUID: MIG-%s-%d)" % (profile, n, g["uuid"], n))
    elif "--gpu-reset" in args:
        for g in gpus():
            g["errors"], g["resets"] = "0", g.get("resets", 0) + 1
            print("GPU %s was successfully reset." % g["bus"])
        print("All done.")
    elif args[0] == "mig" and "-cgi" in args:
        for g in gpus():
            for profile in option("-cgi").split(","):
                g["instances"].append(profile)
                print("Successfully created GPU instance ID %2d on GPU %2s using profile MIG %s" % (len(g["instances"]), g["index"], profile))
    elif args[0] == "mig":
        for g in gpus():
            if "-dgi" in args:
                g["instances"] = []
    else:
        for g in gpus():
            for flag, key, values in (("-pm", "persistence", ("Disabled", "Enabled")), ("-e", "ecc", ("Disabled", "Enabled")),
                                      ("-mig", "mig", ("Disabled", "Enabled"))):
                if flag in args:
                    g[key] = values[int(option(flag))]
                    print("%s %s mode for GPU %s." % (g[key], key, g["bus"]))
            if "-pl" in args:
                print("Power limit for GPU %s was set to %s.00 W from %s W." % (g["bus"], option("-pl"), g["power"]))
                g["power"] = option("-pl") + ".00"
            if "-lgc" in args:
                print('GPU clocks set to "(gpuClkMin %s)" for GPU %s' % (option("-lgc"), g["bus"]))
        print("All done.")
elif tool == "systemctl":
    if args[0] == "reboot":
        boot()
    elif args[0] == "show":
        unit = state["units"].get(args[1])
        print("LoadState=%s\nActiveState=%s\nInvocationID=%s" % (("loaded", unit["state"], unit["id"]) if unit else ("not-found", "inactive", "")))
    else:
        unit = state["units"].get(args[1]) or end(5, "Failed to %s %s.service: Unit %s.service not found." % (args[0], args[1], args[1]))
        if args[0] == "stop":
            unit["state"] = "inactive"
        elif args[0] == "restart" or unit["state"] != "active":
            unit["state"], unit["id"] = "active", uuid.uuid4().hex
elif tool == "modprobe":
    name = args[-1].replace("-", "_")
    if args[0] == "-r":
        state["modules"].pop(name, None)
    elif name not in state["modules"]:
        state["inodes"] = state.get("inodes", 1000) + 1
        state["modules"][name] = state["inodes"]
elif tool == "find":
    if args[0] != "/sys/module":
        sys.exit(subprocess.call(["/usr/bin/find"] + args))
    inode = state["modules"].get(option("-name"))
    print(inode if inode else "", end="\n" if inode else "")
elif tool == "apt-get":
    for pin in args[args.index("install") + 1:]:
        name, version = pin.split("=")
        if version not in state["mirror"].get(name, []):
            end(100, "E: Version '%s' for '%s' was not found" % (version, name))
        state["packages"][name] = version
elif tool == "apt-mark":
    held = set(state.get("held", []))
    state["held"] = sorted(held | set(args[1:]) if args[0] == "hold" else held - set(args[1:]))
elif tool == "dpkg-query":
    code = 0
    for name in args[2:]:
        if name in state["packages"]:
            print("%s=%s=%si " % (name, state["packages"][name], "h" if name in state.get("held", []) else "i"))
        else:
            code = 1
    end(code)
end()
