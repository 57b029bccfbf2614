"""Rendered ClusterRoles and Roles less some rules, for kubectl replace.

less.py ROLE.json... [GROUP|RESOURCE|VERB]...   prints a List
less.py --rules ROLE.json...                    prints every rule, one verb of one resource each
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
    roles = [json.load(open(path)) for path in words if "|" not in path]
    away = {tuple(word.split("|")) for word in words if "|" in word}
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
