"""What an API server's audit log, and a list of pods, say of a scheduler.

audit.py bindings LOG             exit 1 when a pod (by its uid where the log has it) has two bindings that were taken
audit.py count LOG RESOURCE       how many writes of it were asked for: pods/binding, events, pods/status
audit.py writes LOG AGENT         JSON: writes whose user agent begins so, by verb and resource; with the Lease apart
audit.py placed PODS.json GPUS    exit 1 when a node holds more pods of one GPU than that, or a gang is bound in part
"""
import collections
import json
import sys


def writes(path):
    with open(path) as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line of a server that was killed
            ref = event.get("objectRef", {})
            resource = ref.get("resource", "?") + ("/" + ref["subresource"] if ref.get("subresource") else "")
            yield event, resource, ref.get("namespace", "") + "/" + ref.get("name", ""), event.get("responseStatus", {}).get("code", 0)


def bindings(path):
    # A pod that was deleted may have a namesake: what was deleted counts anew.
    taken, bad = collections.Counter(), []
    for event, resource, name, code in writes(path):
        if resource == "pods/binding" and event["verb"] == "create" and 200 <= code < 300:
            taken[name] += 1
            if taken[name] > 1:
                bad.append(name)
        elif resource == "pods" and event["verb"] == "delete" and 200 <= code < 300:
            taken[name] = 0
        elif resource == "pods" and event["verb"] == "deletecollection":
            taken.clear()
    return bad


def placed(path, gpus):
    pods = json.load(sys.stdin if path == "-" else open(path))["items"]
    on_node, gangs = collections.Counter(), collections.defaultdict(list)
    for pod in pods:
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        node = pod["spec"].get("nodeName", "")
        on_node[node] += 1
        gangs[pod["metadata"]["labels"].get("muster.dev/gang", "")].append(node)
    bad = [f"{node}: {count} pods" for node, count in on_node.items() if node and count > gpus]
    return bad + [f"{gang}: {sum(map(bool, nodes))} of {len(nodes)}" for gang, nodes in gangs.items() if any(nodes) and not all(nodes)]


def main():
    what, path = sys.argv[1:3]
    if what == "count":
        return print(sum(resource == sys.argv[3] for _, resource, _, _ in writes(path)))
    if what == "writes":
        counts = collections.Counter()
        for event, resource, _, code in writes(path):
            if event.get("userAgent", "").startswith(sys.argv[3]):
                counts[f"{event['verb']} {resource}{'' if code < 300 else ' ' + str(code)}"] += 1
        return print(json.dumps(counts, sort_keys=True))
    bad = bindings(path) if what == "bindings" else placed(path, int(sys.argv[3]))
    if bad:
        sys.exit("; ".join(bad[:5]))


main()
