"""What happened, from etcd's own history: record.py ETCD_PORT DRIVER_LOG SCRIPT DECISIONS, or record.py --self-test

etcd orders every change by its revision, and keeps all of them (no compaction). So the record does not depend on what anybody watched:
it is a cluster script and the decisions that the bindings are, for the checker of scheduling decisions. The
revision stands for the time. A gang is bound, in the script, when its last pod is: until then nothing of it is charged there, so what a
part of a gang holds is held against the nodes here, pod by pod. A lower quota counts from the driver's mark, which follows it by 3 s in which the
API server was up and no scheduler stopped.
Exit 3 with findings of its own: a pod with two nodes, a node over its devices, a gang that stays half bound, a binding to a node that
never was.
"""
import base64
import collections
import hashlib
import json
import sys
import urllib.request

GPU = "nvidia.com/gpu"


def ask(port, path, body):
    return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode()), timeout=120)


def code(text):
    return base64.b64encode(text.encode()).decode()


def history(port, prefix):
    """(revision, key, object or None for a deletion), all of it."""
    end = prefix + "~end"
    last = int(json.load(ask(port, "/v3/kv/put", {"key": code(end), "value": code("{}")}))["header"]["revision"])
    request = {"create_request": {"key": code(prefix), "range_end": code(prefix[:-1] + chr(ord(prefix[-1]) + 1)), "start_revision": 1}}
    with ask(port, "/v3/watch", request) as stream:
        for line in stream:
            for event in json.loads(line).get("result", {}).get("events", []):
                kv = event["kv"]
                key = base64.b64decode(kv["key"]).decode()
                if int(kv["mod_revision"]) >= last:
                    return
                if key == end:  # of an earlier reading
                    continue
                gone = event.get("type") == "DELETE"
                yield int(kv["mod_revision"]), key, None if gone else json.loads(base64.b64decode(kv["value"]))


class Record:
    def __init__(self, ends):
        self.ends, self.script, self.decisions, self.findings = ends, [], [], []
        self.nodes, self.ever, self.gangs, self.pods = set(), set(), {}, {}
        self.used, self.devices = collections.Counter(), collections.defaultdict(dict)
        self.counted, self.marks = {}, {}  # nominal in the script, the driver's last mark, by queue
        self.lower = {}  # by queue, a decrease that does not count yet: nominal, gangs to wait for (None: no mark came)
        self.stats = collections.Counter()
        self.bound = self.pending = 0

    def event(self, t, op, **keys):
        self.script.append(json.dumps({"t": t, "op": op, **keys}))

    def decide(self, t, do, **keys):
        self.decisions.append(json.dumps({"t": t, "do": do, **keys}))

    # ---- nodes and queues
    def node(self, t, name, obj):
        if obj is not None and name not in self.nodes:
            self.nodes.add(name)
            self.ever.add(name)
            self.devices[name] = {}
            self.event(t, "node.add", name=name, capacity={"cpu": "96", GPU: obj["status"]["allocatable"][GPU]})
        elif obj is None and name in self.nodes:
            self.stats["nodes vanished"] += 1
            for gang in list(self.gangs.values()):
                if gang["state"] == "bound" and name in gang["nodes"].values():
                    self.finish(t, gang, "job.cancel", "CANCELLED")
            self.nodes.discard(name)
            self.event(t + 2, "node.remove", name=name)

    def queue(self, t, name, obj):
        if obj is None:
            return
        nominal = int(obj["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])
        notes = obj["metadata"].get("annotations", {})
        mark = notes.get("settled", "")
        before = self.counted.get(name)
        if before is None:
            self.counted[name] = nominal
            entry = {"flavor": "any", "resource": GPU, "nominal": str(nominal)}
            self.event(t, "queue.add", name=name, parent="all", quota=[entry], preempt={"within": "lower-priority"})
        elif nominal >= before:
            self.lower.pop(name, None)
            if nominal > before:
                self.set_quota(t, name, nominal)
        elif name not in self.lower or self.lower[name][0] != nominal:
            self.lower[name] = (nominal, None)
        # The mark of an earlier edit says nothing of a later one.
        if mark != self.marks.get(name, "") and mark == notes.get("edit") and name in self.lower:
            # What is half bound was decided before.
            half = {gang["name"] for gang in self.gangs.values() if gang["state"] == "waiting" and gang["nodes"]}
            self.lower[name] = (nominal, half)
            self.settle(t, None)
        self.marks[name] = mark

    def set_quota(self, t, name, nominal):
        self.stats["quotas changed"] += 1
        self.counted[name] = nominal
        self.event(t, "queue.quota", queue=name, flavor="any", resource=GPU, nominal=str(nominal))

    def settle(self, t, gang):
        for name, (nominal, half) in list(self.lower.items()):
            if half is not None:
                half.discard(gang)
            if half is not None and not half:
                del self.lower[name]
                self.set_quota(t + 1, name, nominal)

    # ---- pods
    def pod(self, t, name, obj):
        if obj is None:
            return self.pod_gone(t, name)
        gang_name, _, rank = name.rpartition("-")
        node = obj["spec"].get("nodeName", "")
        gpus = int(obj["spec"]["containers"][0]["resources"]["limits"][GPU])
        if name not in self.pods:
            self.pods[name] = ""
            size = int(obj["metadata"]["labels"]["muster.dev/gang-size"])
            queue = obj["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
            gang = self.gangs.setdefault(
                gang_name, {"name": gang_name, "size": size, "gpus": gpus, "queue": queue, "pods": set(), "nodes": {}, "state": "gathering"}
            )
            gang["pods"].add(rank)
            if len(gang["pods"]) == size and gang["state"] == "gathering":
                gang["state"] = "waiting"
                task = {"name": "pods", "count": size, "shape": {GPU: str(gpus)}}
                self.event(t, "job.submit", name=gang_name, queue=queue, priority=obj["spec"].get("priority", 0), tasks=[task])
        before = self.pods[name]
        if node == before:
            return
        if before:
            self.findings.append(f"revision {t // 4}: pod {name} moved from {before} to {node}")
        self.pods[name] = node
        self.bind(t, self.gangs[gang_name], rank, node)

    def bind(self, t, gang, rank, node):
        self.stats["pods bound"] += 1
        if node not in self.ever:
            self.findings.append(f"revision {t // 4}: {gang['name']}-{rank} is bound to {node}, which never was")
        self.used[node] += gang["gpus"]
        if self.used[node] > 8:
            self.findings.append(f"revision {t // 4}: {node} holds {self.used[node]} of 8 devices")
        if gang["state"] == "gathering":
            self.findings.append(f"revision {t // 4}: {gang['name']} is bound before all of its pods are there")
        gang["nodes"][rank] = node
        if gang["state"] != "waiting" or len(gang["nodes"]) < gang["size"]:
            return
        if any(node not in self.nodes for node in gang["nodes"].values()):
            self.stats["gangs with a rank on a node that had vanished"] += 1
            return
        gang["state"] = "bound"
        self.bound += 1
        self.stats["gangs bound"] += 1
        self.decide(t, "admit", job=gang["name"], flavors={"pods": {GPU: "any"}})
        for index, place in sorted(gang["nodes"].items(), key=lambda item: int(item[0])):
            ids = [i for i in range(8) if i not in self.devices[place]][: gang["gpus"]]
            ids += list(range(gang["gpus"] - len(ids)))  # none is free: the checker says so
            for i in ids:
                self.devices[place][i] = gang["name"]
            self.decide(t, "bind", job=gang["name"], task="pods", rank=int(index), node=place, devices={GPU: ids})
        self.settle(t, gang["name"])

    def finish(self, t, gang, op, why):
        self.event(t, op, name=gang["name"])
        if gang["state"] == "bound":
            self.bound -= 1
            self.decide(t, "finish", job=gang["name"], why=why)
            for held in self.devices.values():
                for i in [i for i, job in held.items() if job == gang["name"]]:
                    del held[i]
        gang["state"] = "over"
        self.settle(t, gang["name"])

    def pod_gone(self, t, name):
        gang_name, _, rank = name.rpartition("-")
        gang, node = self.gangs[gang_name], self.pods.pop(name, "")
        gang["pods"].discard(rank)
        if node:
            self.used[node] -= gang["gpus"]
            gang["nodes"].pop(rank, None)
        if gang["state"] in ("bound", "waiting"):
            how = self.ends.get(gang_name, "evicted")
            self.stats["gangs " + how] += 1
            if gang["state"] == "waiting" and (gang["nodes"] or node):
                self.stats["gangs taken down half bound"] += 1
            self.finish(t, gang, *(("job.finish", "DONE") if how == "finished" else ("job.cancel", "CANCELLED")))

    def close(self, t):
        for gang in self.gangs.values():
            if gang["nodes"] and len(gang["nodes"]) < gang["size"]:
                self.findings.append(f"at the end {gang['name']} is half bound: {len(gang['nodes'])} of {gang['size']}")
        pending = sum(gang["state"] == "waiting" for gang in self.gangs.values())
        if self.lower:
            self.stats["lower quotas that never counted"] = len(self.lower)
        self.event(t, "end")
        digest = hashlib.sha256("".join(line + "\n" for line in self.decisions).encode()).hexdigest()
        self.decide(t, "summary", decisions_sha256=digest, bound=self.bound, pending=pending)


def self_test():
    """Each finding, from changes that must give it, and none from changes that must not."""

    def pod(node, gang="g", size=2, gpus=8):
        labels = {"muster.dev/gang-size": str(size), "kueue.x-k8s.io/queue-name": "q"}
        container = {"resources": {"limits": {GPU: str(gpus)}}}
        return {"metadata": {"labels": labels}, "spec": {"nodeName": node, "containers": [container]}}

    def findings(*changes):
        record = Record({})
        for name in ("a", "b"):
            record.node(1, name, {"status": {"allocatable": {GPU: "8"}}})
        for t, (name, obj) in enumerate(changes):
            record.pod(4 * t + 8, name, obj)
        record.close(1000)
        return " ".join(record.findings)

    made = (("g-0", pod("")), ("g-1", pod("")))
    expected = {
        "": (*made, ("g-0", pod("a")), ("g-1", pod("b"))),
        "moved from a to b": (*made, ("g-0", pod("a")), ("g-1", pod("b")), ("g-0", pod("b"))),
        "16 of 8": (*made, ("g-0", pod("a")), ("g-1", pod("a"))),
        "half bound": (*made, ("g-0", pod("a"))),
        "never was": (*made, ("g-0", pod("a")), ("g-1", pod("c"))),
        "before all": (("g-0", pod("a")),),
    }
    bad = [words for words, changes in expected.items() if (words not in findings(*changes)) or (not words and findings(*changes))]
    sys.exit("not found: " + "; ".join(bad) if bad else 0)


def main():
    if sys.argv[1] == "--self-test":
        self_test()
    port, log, script, decisions = sys.argv[1:5]
    with open(log) as lines:
        ends = {entry["gang"]: entry["end"] for entry in map(json.loads, lines)}
    record = Record(ends)
    record.event(0, "flavor.add", name="any")
    record.event(0, "queue.add", name="all", quota=[{"flavor": "any", "resource": GPU, "nominal": "0"}])
    changes = []
    for kind, prefix in (("node", "/registry/minions/"), ("queue", "/registry/kueue.x-k8s.io/clusterqueues/"), ("pod", "/registry/pods/ml/")):
        changes += [(revision, kind, key[len(prefix) :], obj) for revision, key, obj in history(port, prefix)]
    changes.sort(key=lambda change: change[0])
    for revision, kind, name, obj in changes:
        getattr(record, kind)(4 * revision, name, obj)
    record.close(4 * changes[-1][0] + 4)
    for path, lines in ((script, record.script), (decisions, record.decisions)):
        with open(path, "w") as file:
            file.writelines(line + "\n" for line in lines)
    print(json.dumps({"changes": len(changes), **record.stats}))
    for finding in record.findings[:50]:
        print("finding:", finding)
    sys.exit(3 if record.findings else 0)


main()
