"""Gangs come and go on a real API server while things break: drive.py STATE_FOLDER MUSTER UP_SH GANGS SEED LOG

Two schedulers run; one is killed now and then, or stopped and woken. Nodes vanish, pods are deleted, quotas are edited, the API server is
killed. This side plays the controllers of a cluster: it makes a gang anew that lost a pod, and collects the pods of a node that is gone.
A gang ends by itself only when every pod of it is bound to a node that exists, so one that stays half bound ends the run as stuck.
"""
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kube_api import Api  # noqa: E402

NODES, GPUS, LIVE, MEAN_LIFE_S = 32, 8, 100, 2
PODS = "/api/v1/namespaces/ml/pods"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
# After so many gangs, on average, one of these.
EVERY = {"kill a scheduler": 40, "delete a pod": 30, "a node vanishes": 60, "edit a quota": 50, "stop a scheduler": 900, "kill the API server": 1000}
# So many times as often; short runs would hardly see the rare ones.
OFTEN = float(os.environ.get("MUSTER_SOAK_FAULTS", "1"))
EVERY = {name: max(2, round(every / OFTEN)) for name, every in EVERY.items()}


class Gang:
    def __init__(self, name, rng):
        self.name, self.size, self.gpus = name, rng.choice([1, 2, 2, 3, 4, 4, 6, 8]), rng.choice([1, 1, 2, 4, 8])
        self.queue, self.urgent = rng.choice(["team-a", "team-b"]), rng.random() < 0.1
        self.nodes, self.gone, self.made, self.ends_at = {}, False, False, None

    def pod(self, rank):
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{self.name}-{rank}",
                "labels": {"muster.dev/gang": self.name, "muster.dev/gang-size": str(self.size), "kueue.x-k8s.io/queue-name": self.queue},
            },
            "spec": {
                "schedulerName": "muster",
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                **({"priorityClassName": "urgent"} if self.urgent else {}),
                "containers": [{"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(self.gpus)}}}],
            },
        }


def node_object(index):
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    ready = {"type": "Ready", "status": "True"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{index:03}"}, "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}}


def quota(nominal):
    resource = {"name": "nvidia.com/gpu", "nominalQuota": nominal}
    return {
        "cohortName": "all",
        "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "any", "resources": [resource]}]}],
    }


class Soak:
    def __init__(self, state, muster, up, gangs, seed, log):
        self.api, self.state, self.muster, self.up, self.count = Api(state), state, muster, up, gangs
        self.rng, self.log = random.Random(seed), open(log, "w")
        self.began, self.events = time.monotonic(), open(f"{state}/log/faults.log", "w")
        self.stopped, self.server_down, self.printed = [], False, 0
        self.lock, self.live, self.nodes = threading.Lock(), {}, set()
        self.made = self.ended = self.edits = 0
        self.done, self.stats, self.later = False, {name: 0 for name in EVERY}, []
        self.stats.update(finished=0, cancelled=0, evicted=0)
        self.stats["schedulers that ended by themselves"] = 0
        self.troubles = []  # of what this side asked for
        self.next_fault = {name: self.rng.randint(1, min(2 * every, gangs)) for name, every in EVERY.items()}
        self.pool = concurrent.futures.ThreadPoolExecutor(32)
        self.schedulers, self.ours = [], set()  # ours: gangs of which this side took a pod

    # ---- what the watch says
    def on_list(self, pods):
        with self.lock:
            there = {pod["metadata"]["name"]: pod for pod in pods}
            for gang in self.live.values():
                for rank in range(gang.size):
                    pod = there.get(f"{gang.name}-{rank}")
                    if pod is None:
                        gang.gone = gang.gone or rank in gang.nodes
                    else:
                        gang.nodes[rank] = pod["spec"].get("nodeName", "")

    def on_event(self, kind, pod):
        name, _, rank = pod["metadata"]["name"].rpartition("-")
        with self.lock:
            gang = self.live.get(name)
            if gang is None:
                return
            gang.nodes[int(rank)] = pod["spec"].get("nodeName", "")
            gang.gone = gang.gone or kind == "DELETED"

    # ---- the controllers' part
    def make(self, gang):
        for rank in range(gang.size):
            status, said = self.api.ask("POST", PODS, gang.pod(rank))
            if status not in (201, 409):
                self.troubles.append(f"{gang.name} is not made: {status} {said.get('message')}")
                return
        gang.made = True

    def end(self, gang, how):
        self.live.pop(gang.name, None)
        self.stats[how] += 1
        self.log.write(json.dumps({"gang": gang.name, "end": how}) + "\n")
        self.pool.submit(self.api.ask, "DELETE", f"{PODS}?labelSelector=muster.dev/gang={gang.name}")
        if how == "finished":
            self.ended += 1
        else:  # whoever made it makes it anew
            again = Gang(gang.name.split("r")[0] + f"r{self.stats['cancelled'] + self.stats['evicted']}", self.rng)
            again.size, again.gpus, again.queue, again.urgent = gang.size, gang.gpus, gang.queue, gang.urgent
            self.start(again)

    def start(self, gang):
        self.live[gang.name] = gang
        self.pool.submit(self.make, gang)

    def turn(self):
        now = time.monotonic()
        with self.lock:
            while len(self.live) < LIVE and self.made < self.count:
                self.start(Gang(f"g{self.made:05}", self.rng))
                self.made += 1
            for gang in list(self.live.values()):
                if not gang.made:
                    continue
                if gang.gone:
                    self.end(gang, "cancelled" if gang.name in self.ours else "evicted")
                elif gang.ends_at is None and len(gang.nodes) == gang.size and all(node in self.nodes for node in gang.nodes.values()):
                    gang.ends_at = now + self.rng.expovariate(1 / MEAN_LIFE_S)
                elif gang.ends_at is not None and now >= gang.ends_at:
                    self.end(gang, "finished")
        for item in [item for item in self.later if item[0] <= now]:
            self.later.remove(item)
            item[1]()

    # ---- what breaks
    def serve(self):
        errors = open(f"{self.state}/log/scheduler.log", "a")
        environment = {**os.environ, "KUBECONFIG": f"{self.state}/kubeconfig"}
        return subprocess.Popen([self.muster, "sched", "serve", "--kubernetes"], env=environment, stdout=errors, stderr=errors)

    def look_at_schedulers(self):
        """What ends by itself is started again, and said; a crash ends the run."""
        for which, scheduler in enumerate(self.schedulers):
            code = scheduler.poll()
            if code is None:
                continue
            self.stats["schedulers that ended by themselves"] += 1
            if code < 0:
                print(f"a scheduler crashed: signal {-code}; see scheduler.log", file=sys.stderr)
                return False
            self.schedulers[which] = self.serve()
        return True

    def break_one(self, fault):
        rng, now = self.rng, time.monotonic()
        if fault == "kill a scheduler":
            which = rng.randrange(len(self.schedulers))
            self.schedulers[which].kill()
            self.schedulers[which].wait()
            self.schedulers[which] = self.serve()
        elif fault == "stop a scheduler":
            stopped = rng.choice(self.schedulers)
            stopped.send_signal(signal.SIGSTOP)
            self.stopped.append(stopped)
            self.later.append((now + rng.uniform(2, 18), lambda: self.wake(stopped)))
        elif fault == "delete a pod":
            with self.lock:
                names = [f"{gang.name}-{rank}" for gang in self.live.values() if gang.made for rank in range(gang.size)]
            if names:
                name = rng.choice(names)
                self.ours.add(name.rpartition("-")[0])
                self.pool.submit(self.api.ask, "DELETE", f"{PODS}/{name}")
        elif fault == "a node vanishes":
            name = rng.choice(sorted(self.nodes))
            self.nodes.discard(name)
            self.pool.submit(self.vanish, name)
        elif fault == "edit a quota":
            self.edits += 1
            self.pool.submit(self.edit, rng.choice(["team-a", "team-b"]), rng.choice([64, 96, 128, 192]), str(self.edits))
        elif fault == "kill the API server":
            self.server_down = True
            with open(f"{self.state}/pid/apiserver") as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGKILL)
            while os.path.exists(f"/proc/{pid}"):  # up.sh takes what is not yet waited for as running
                time.sleep(0.1)
            for _ in range(3):
                if subprocess.run([self.up, self.state], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                    break
            self.server_down = False
        self.said(fault)
        self.stats[fault] += 1

    def wake(self, stopped):
        if stopped.poll() is None:
            stopped.send_signal(signal.SIGCONT)
        self.stopped.remove(stopped)
        self.said("wake a scheduler")

    def said(self, *words):
        print(f"{time.monotonic() - self.began:.2f}", *words, file=self.events, flush=True)

    def edit(self, queue, nominal, number):
        """A new quota, and when a scheduler must have heard of it a mark: the record holds it to a lower quota from there on."""

        def patch(**change):
            self.api.ask("PATCH", f"{QUEUES}/{queue}", {"metadata": {"annotations": change.pop("notes")}, **change}, "application/merge-patch+json")

        patch(notes={"edit": number}, spec=quota(nominal))
        self.said("quota", number, queue, nominal)
        calm_since = time.monotonic()
        while time.monotonic() - calm_since < 3 and not self.done:
            time.sleep(0.1)
            if self.stopped or self.server_down:
                calm_since = time.monotonic()
        patch(notes={"settled": number})
        self.said("settled", number)

    def collect(self, name):
        """As the pod garbage collector does: what was bound to a node that is gone is removed."""
        _, pods = self.api.ask("GET", f"{PODS}?fieldSelector=spec.nodeName={name}")
        for pod in pods.get("items", []):
            self.ours.add(pod["metadata"]["labels"]["muster.dev/gang"])
            self.api.ask("DELETE", f"{PODS}/{pod['metadata']['name']}")

    def vanish(self, name):
        self.api.ask("DELETE", f"/api/v1/nodes/{name}")
        for _ in range(3):  # bindings that were under way come later
            time.sleep(0.7)
            self.collect(name)
        self.api.ask("POST", "/api/v1/nodes", node_object(int(name[1:])))
        self.nodes.add(name)

    def run(self):
        for index in range(NODES):
            self.api.ask("POST", "/api/v1/nodes", node_object(index))
            self.nodes.add(f"n{index:03}")
        for queue in ("team-a", "team-b"):
            self.api.ask("POST", QUEUES, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": queue}, "spec": quota(128)})
        threading.Thread(target=self.api.follow, args=(PODS, self.on_list, self.on_event, lambda: self.done), daemon=True).start()
        self.schedulers = [self.serve(), self.serve()]
        began = last_at = time.monotonic()
        last = -1
        while self.ended < self.count:
            self.turn()
            if not self.look_at_schedulers():
                return 1
            for fault, at in self.next_fault.items():
                if self.ended >= at:
                    self.break_one(fault)
                    self.next_fault[fault] = self.ended + self.rng.randint(1, 2 * EVERY[fault])
            if self.ended != last:
                last, last_at = self.ended, time.monotonic()
            if time.monotonic() - last_at > 180:
                for gang in list(self.live.values())[:20]:
                    print("stuck:", gang.name, gang.size, gang.gpus, gang.nodes, "gone" if gang.gone else "", file=sys.stderr)
                print(*self.troubles[-5:], sep="\n", file=sys.stderr)
                return 1
            if self.ended % 500 == 0 and self.ended != self.printed:
                self.printed = self.ended
                print(f"{self.ended} of {self.count} gangs in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            time.sleep(0.02)
        self.done = True
        self.pool.shutdown(wait=True)
        for scheduler in self.schedulers:
            scheduler.send_signal(signal.SIGCONT)
            scheduler.kill()
            scheduler.wait()
        self.log.close()
        print(json.dumps({"gangs": self.count, "seconds": round(time.monotonic() - began), **self.stats}))
        return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(Soak(words[0], words[1], words[2], int(words[3]), int(words[4]), words[5]).run())
