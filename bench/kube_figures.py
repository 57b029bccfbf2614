"""Figures of the gang scheduler on a real API server: kube_figures.py STATE_FOLDER MUSTER urgent|writes|stall|restart [KUBE_BENCH]

One scenario a call, on a control plane of its own (kube_figures.sh). Nodes are API objects of eight GPUs. Prints figures, asserts nothing.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
from kube_api import Api  # noqa: E402

PODS = "/api/v1/namespaces/ml/pods"
KUBE_BENCH = sys.argv[4] if len(sys.argv) > 4 else ""  # a list, and bindings, by our own client alone


def pod(gang, rank, size, gpus=1, select=None, more=None, labels=None):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{gang}-{rank}", "labels": {"muster.dev/gang": gang, "muster.dev/gang-size": str(size), **(labels or {})}},
        "spec": {
            "schedulerName": "muster",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            **({"nodeSelector": select} if select else {}),
            **(more or {}),
            "containers": [{"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
        },
    }


def node(index, pool):
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    labels = {"pool": pool, "muster.dev/leaf": f"leaf{index // 32}", "muster.dev/spine": f"spine{index // 256}"}
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{index}", "labels": labels}, "status": status}


class Figures:
    def __init__(self, state, muster):
        self.api, self.state, self.muster = Api(state), state, muster
        self.bound_at, self.gone_at, self.scheduler, self.done = {}, {}, None, False
        self.began = time.monotonic()

    def make(self, path, bodies):
        bodies = list(bodies)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for status, said in pool.map(lambda body: self.api.ask("POST", path, body), bodies):
                if status not in (201, 409):
                    raise RuntimeError(said)
        return len(bodies) / (time.monotonic() - began)

    def nodes(self, count, pool="train", first=0):
        self.make("/api/v1/nodes", (node(first + i, pool) for i in range(count)))

    def serve(self):
        environment = {**os.environ, "KUBECONFIG": f"{self.state}/kubeconfig"}
        self.words = open(f"{self.state}/log/scheduler.log", "w+")
        self.scheduler = subprocess.Popen([self.muster, "sched", "serve", "--kubernetes"], env=environment, stderr=self.words, stdout=self.words)
        began = time.monotonic()
        self.led_s = 0
        while "are known" not in (said := open(f"{self.state}/log/scheduler.log").read()):
            if "leading" in said and not self.led_s:
                self.led_s = time.monotonic() - began
            if self.scheduler.poll() is not None or time.monotonic() - began > 120:
                raise RuntimeError(open(f"{self.state}/log/scheduler.log").read())
            time.sleep(0.005)
        return time.monotonic() - began

    def used(self):
        """Seconds of CPU, and the peak of resident memory in MiB."""
        with open(f"/proc/{self.scheduler.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{self.scheduler.pid}/status") as file:
            peak = re.search(r"VmHWM:\s+(\d+)", file.read())
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak.group(1)) / 1024

    def follow(self, path=PODS):
        """When each pod was first seen bound, and when it was seen to go. Returns when the pods that are there are known."""
        listed = threading.Event()

        def on_event(kind, obj):
            if kind == "DELETED" or obj["metadata"].get("deletionTimestamp"):
                self.gone_at.setdefault(obj["metadata"]["name"], time.monotonic())
            elif obj["spec"].get("nodeName"):
                self.bound_at.setdefault(obj["metadata"]["name"], time.monotonic())

        def on_list(items):
            for item in items:
                on_event("", item)
            listed.set()

        threading.Thread(target=self.api.follow, args=(path, on_list, on_event, lambda: self.done), daemon=True).start()
        listed.wait()

    def until_bound(self, names, limit_s=300):
        until = time.monotonic() + limit_s
        names = list(names)
        while time.monotonic() < until:
            if all(name in self.bound_at for name in names):
                return max(self.bound_at[name] for name in names)
            time.sleep(0.01)
        raise TimeoutError(f"{sum(name in self.bound_at for name in names)} of {len(names)} bound")

    def writes(self):
        """Of the API server's own counters: writes by verb and resource, with the answer's code."""
        connection = self.api.open()
        connection.request("GET", "/metrics", None, self.api.headers())
        counts = {}
        for line in connection.getresponse().read().decode().splitlines():
            if not line.startswith("apiserver_request_total{"):
                continue
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            if labels["verb"] not in ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"):
                continue
            what = labels["resource"] + ("/" + labels["subresource"] if labels.get("subresource") else "")
            key = (labels["verb"], what, labels["code"])
            counts[key] = counts.get(key, 0) + float(line.rpartition(" ")[2])
        return counts

    @staticmethod
    def less(after, before):
        return {key: int(count - before.get(key, 0)) for key, count in after.items() if count != before.get(key, 0)}

    # ---- scenarios
    def urgent(self):
        """1,000 gangs wait for room; a gang comes that has room of its own; another comes that must evict."""
        self.nodes(96)
        self.nodes(8, "urgent", 96)
        self.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000})
        kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
        gpus = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "any", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 100000}]}]}
        self.api.ask("POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors", {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}})
        spec = {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [gpus]}
        self.api.ask("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", {**kueue, "kind": "ClusterQueue", "metadata": {"name": "team"}, "spec": spec})
        queue = {"muster.dev/queue": "team"}
        self.follow()
        self.serve()
        first = [pod(f"w{g}", r, 8, 8, {"pool": "train"}, labels=queue) for g in range(12) for r in range(8)]
        self.make(PODS, first)
        self.until_bound(body["metadata"]["name"] for body in first)
        self.make(PODS, (pod(f"w{g}", r, 8, 8, {"pool": "train"}, labels=queue) for g in range(12, 1012) for r in range(8)))
        time.sleep(5)
        cpu, peak = self.used()
        print(f"1,000 gangs of 8 wait, 12 run: {cpu:.2f} CPU s so far, peak RSS {peak:.0f} MiB")
        for index in range(5):
            bodies = [pod(f"u{index}", r, 8, 1, {"pool": "urgent"}, {"priorityClassName": "urgent"}, queue) for r in range(8)]
            self.make(PODS, bodies)
            made = time.monotonic()
            last = self.until_bound(body["metadata"]["name"] for body in bodies)
            print(f"an urgent gang while 1,000 wait: last pod created to last pod bound {max(0.0, last - made) * 1000:.0f} ms")
        for index in range(5):
            gone = set(self.gone_at)
            bodies = [pod(f"e{index}", r, 8, 8, {"pool": "train"}, {"priorityClassName": "urgent"}, queue) for r in range(8)]
            self.make(PODS, bodies)
            made = time.monotonic()
            last = self.until_bound((body["metadata"]["name"] for body in bodies), 60)
            victims = [at for name, at in self.gone_at.items() if name not in gone]
            print(
                f"an urgent gang that must evict while 1,000 wait: last pod created to first eviction seen {max(0.0, min(victims) - made) * 1000:.0f} ms, "
                f"to its last pod bound {max(0.0, last - made) * 1000:.0f} ms; {len(victims)} pods evicted"
            )
        cpu, peak = self.used()
        print(f"afterwards: {cpu:.2f} CPU s, peak RSS {peak:.0f} MiB")

    def wrote(self):
        """What is written, by the API server's counters; what happens while nothing happens."""
        self.nodes(100)
        self.follow()
        self.serve()
        before = self.writes()
        bodies = [pod(f"g{g}", r, 8) for g in range(100) for r in range(8)]
        self.make(PODS, bodies)
        self.until_bound(body["metadata"]["name"] for body in bodies)
        time.sleep(2)
        own = {key: count for key, count in self.less(self.writes(), before).items() if key[:2] not in (("POST", "pods"), ("PUT", "leases"))}
        print(f"100 gangs of 8: writes a bound pod {sum(own.values()) / len(bodies):.3f}, by the API server's counters:", {" ".join(key): count for key, count in own.items()})
        before = self.writes()
        self.make(PODS, (pod(f"half{g}", r, 8) for g in range(50) for r in range(7)))
        time.sleep(15)
        own = {key: count for key, count in self.less(self.writes(), before).items() if key[:2] not in (("POST", "pods"), ("PUT", "leases"))}
        print("50 gangs with 7 of 8 pods, 15 s:", {" ".join(key): count for key, count in own.items()} or "no write")
        self.api.ask("DELETE", f"{PODS}?labelSelector=muster.dev/gang-size=8")
        time.sleep(3)
        self.make(PODS, (pod(f"i{g}", r, 8) for g in range(50) for r in range(8)))
        self.until_bound(f"i{g}-{r}" for g in range(50) for r in range(8))
        time.sleep(15)
        before, (cpu, _) = self.writes(), self.used()
        time.sleep(60)
        own = {" ".join(key): count for key, count in self.less(self.writes(), before).items()}
        print(f"idle, 400 pods bound, 60 s: {self.used()[0] - cpu:.2f} CPU s; writes:", own)

    def stall(self):
        """20 gangs of 500 pods are there when the scheduler starts."""
        self.nodes(1250)
        rate = self.make(PODS, (pod(f"g{g}", r, 500) for g in range(20) for r in range(500)))
        self.follow()
        known = self.serve()
        began = time.monotonic()
        last = self.until_bound(f"g{g}-{r}" for g in range(20) for r in range(500))
        times = sorted(self.bound_at.values())
        cpu, peak = self.used()
        print(f"20 gangs of 500: created at {rate:.0f}/s; known after {known:.2f} s, first bind {times[0] - began:.2f} s later, all bound in {last - began:.1f} s ({10000 / (last - began):.0f}/s)")
        print(f"longest times between two bindings: {self.gaps()}; {cpu * 1000 / 10000:.2f} ms of CPU a pod, peak RSS {peak:.0f} MiB")
        self.scheduler.terminate()
        self.scheduler.wait()
        print(open(f"{self.state}/log/scheduler.log").read().splitlines()[-1])
        if not KUBE_BENCH:
            return
        # The same by a bare loop, seen by the same watcher.
        self.bound_at = {}
        self.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
        self.api.ask("POST", "/api/v1/namespaces/bench/serviceaccounts", {"metadata": {"name": "default"}})
        self.follow("/api/v1/namespaces/bench/pods")
        said = subprocess.run([KUBE_BENCH, f"{self.state}/kubeconfig", "bind", "10000", "2"], capture_output=True, text=True).stdout
        print("\n".join(line for line in said.splitlines() if line.startswith("bind")))
        print(f"bare loop, longest times between two bindings as the same watcher sees them: {self.gaps()}")

    def gaps(self):
        times = sorted(self.bound_at.values())
        gaps = sorted((b - a for a, b in zip(times, times[1:])), reverse=True)
        return ", ".join(f"{gap * 1000:.0f} ms" for gap in gaps[:5])

    def restart(self):
        """5,000 nodes, 30,000 bound pods; kill -9, a gang comes, the scheduler starts."""
        self.nodes(5000)
        self.make(PODS, (pod(f"g{i // 8}", i % 8, 8, more={"nodeName": f"n{i // 6}"}) for i in range(30000)))
        self.serve()
        self.scheduler.kill()
        self.scheduler.wait()
        before = self.writes()
        bodies = [pod(f"new{g}", r, 8, labels={"new": "yes"}) for g in range(200) for r in range(8)]
        self.make(PODS, bodies)
        self.follow(f"{PODS}?labelSelector=new")
        for mode in ("pages", "stream", "pages", "stream") if KUBE_BENCH else ():
            print(mode, subprocess.run([KUBE_BENCH, f"{self.state}/kubeconfig", "list", mode], capture_output=True, text=True).stdout.strip())
        began = time.monotonic()
        known = self.serve()
        last = self.until_bound(body["metadata"]["name"] for body in bodies)
        first = min(self.bound_at[body["metadata"]["name"]] for body in bodies)
        cpu, peak = self.used()
        own = {" ".join(key): count for key, count in self.less(self.writes(), before).items() if key[1] == "pods/binding"}
        print(f"after kill -9 at 5,000 nodes and 30,000 bound pods: leading {self.led_s:.2f} s, all known {known:.2f} s, first bind {first - began:.2f} s, all 1,600 {last - began:.1f} s after the start; peak RSS {peak:.0f} MiB, {cpu:.1f} CPU s; {own}")

    def run(self, what):
        try:
            getattr(self, {"writes": "wrote"}.get(what, what))()
        finally:
            self.done = True
            if self.scheduler is not None and self.scheduler.poll() is None:
                self.scheduler.terminate()
                self.scheduler.wait()


if __name__ == "__main__":
    Figures(sys.argv[1], sys.argv[2]).run(sys.argv[3])
