"""A rendered ClusterRole and Role less some rules, for kubectl replace.

less.py CLUSTER_ROLE ROLE [GROUP|RESOURCE|VERB]...   prints a List
less.py --rules CLUSTER_ROLE ROLE                    prints every rule, one verb of one resource each
"""
import json
import sys


def each(role):
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, resource, verb


def main():
    words = sys.argv[1:]
    listing = words[0] == "--rules"
    words = words[listing:]
    roles = [json.load(open(path)) for path in words[:2]]
    away = {tuple(word.split("|")) for word in words[2:]}
    for role in roles:
        if listing:
            print(*("|".join(rule) for rule in each(role)), sep="\n")
        for field in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
            role["metadata"].pop(field, None)
        role["rules"] = [
            {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
            for group, resource, verb in each(role)
            if (group, resource, verb) not in away
        ]
    if not listing:
        json.dump({"apiVersion": "v1", "kind": "List", "items": roles}, sys.stdout)


main()
