"""Asks Muster's JSON for a verdict; exit 0 where it is the one that is wanted.

Usage: verdicts.py FILE gate NUMBER VERDICT [TEXT]
       verdicts.py FILE verdict CODE SUBJECT VERDICT [TEXT]   of every subject, where SUBJECT is empty
"""

import json
import sys


def verdicts(tree):
    """Every verdict in the tree."""
    if isinstance(tree, dict):
        if "code" in tree and "verdict" in tree:
            yield tree
        for value in tree.values():
            yield from verdicts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from verdicts(value)


def short(verdict):
    return verdict["code"], verdict.get("subject", {}).get("id"), verdict["verdict"], verdict.get("text")


def main(path, what, *words):
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    if what == "gate":
        number, wanted, text = (*words, "")[:3]
        found = [g for g in whole["gates"] if g["id"] == int(number)][:1]
        print([(g["verdict"], [short(v) for v in g["verdicts"]][:6]) for g in found])
    else:
        code, subject, wanted, text = (*words, "")[:4]
        found = [v for v in verdicts(whole) if v["code"] == code and subject in ("", v.get("subject", {}).get("id"))]
        print([short(v) for v in found][:3])
    return 0 if found and all(f["verdict"] == wanted for f in found) and text in json.dumps(found) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
