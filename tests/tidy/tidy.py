#!/usr/bin/env python3
"""Holds the tree to the rules of the house: what may include what, headers that say why they exist, tests beside
sources, catalogue entries with a source, files of a readable length, facts, runbooks and verbs that exist.

usage: tidy.py [--root DIR] [--self-test]
Prints one line a finding ("path:line: what") and "PASS tidy" or "FAIL tidy: N findings". Exit 0 or 1.
Python 3 standard library only.
"""
import argparse
import os
import re
import sys
import tempfile

# docs/architecture.md: a room may use rooms of its own level or lower ones, never higher ones.
LEVELS = {
    "base": 0, "yaml": 1, "model": 1, "world": 1, "evidence": 2, "journal": 2, "kube": 2, "catalogue": 3, "probes": 3, "manifest": 3, "render": 3,
    "sched": 3, "backend": 3, "diagnose": 4, "measure": 4, "plan": 4, "checkpoint": 4, "engine": 5, "app": 6, "cli": 7,
    "api": 7, "daemon": 7, "main": 8,
}
# What the table of rooms forbids beside the level: (room, what it must not use).
FORBIDDEN = [
    ("model", "world"), ("world", "model"), ("evidence", "world"), ("catalogue", "world"), ("journal", "model"),
    ("sched", "world"), ("plan", "world"), ("cli", "backend"), ("cli", "probes"), ("api", "cli"), ("cli", "api"),
]
# Only .cc files wrap these (compile time, and one place that catches what they throw).
WRAPPED = re.compile(r'#include <(nlohmann|httplib|pugixml|yaml-cpp|gloo|curl|simdjson|CLI|spdlog|openssl|sqlite3)[/.](?!json_fwd)')
# A header that only the .cc files of its folder use, and that says so, may name them.
PRIVATE = re.compile(r"Private\s*(//\s*)?to|Only for the \.cc files")
LONGEST = 500
LONG_REASON = re.compile(r"500 lines|longer than|one file because", re.I)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")  # tidy.py names them itself


class Tree:
    """The tree as text; findings are collected here."""

    def __init__(self, root):
        self.root = root
        self.findings = []

    def say(self, path, line, what):
        self.findings.append(f"{path}:{line}: {what}" if line else f"{path}: {what}")

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def files(self, folder, *endings):
        found = []
        for where, folders, names in os.walk(os.path.join(self.root, folder)):
            folders[:] = sorted(f for f in folders if f not in ("build", ".git", "__pycache__"))
            for name in sorted(names):
                if name.endswith(endings):
                    found.append(os.path.relpath(os.path.join(where, name), self.root))
        return found


# ---- rooms ----

class Room:
    def __init__(self, name, folder, deps, test_uses):
        self.name, self.folder, self.deps, self.test_uses = name, folder, deps, test_uses


def read_rooms(tree):
    rooms = {}
    for path in tree.files("src", "CMakeLists.txt"):
        text = re.sub(r"#.*", "", tree.read(path))
        for match in re.finditer(r"add_room\(\s*(\S+)([^)]*)\)", text):
            lists, current = {"DEPS": [], "USES": [], "FOLDERS": [], "TEST_USES": []}, None
            for word in match.group(2).split():
                if word in lists:
                    current = word
                elif current:
                    lists[current].append(word)
            rooms[match.group(1)] = Room(match.group(1), os.path.dirname(path), lists["DEPS"], lists["TEST_USES"])
    return rooms


def room_of(rooms, path):
    """The room whose folder holds the file: the deepest one."""
    best = None
    for room in rooms.values():
        if path.startswith(room.folder + "/") and (best is None or len(room.folder) > len(best.folder)):
            best = room
    return best


def reachable(rooms, name, seen=None):
    seen = set() if seen is None else seen
    for dep in rooms[name].deps if name in rooms else []:
        if dep not in seen:
            seen.add(dep)
            reachable(rooms, dep, seen)
    return seen


def level_of(name):
    top = name.split("/")[0]
    if top == "backend" and "/" in name:
        return 4
    return LEVELS.get(top)


def check_rooms(tree, rooms):
    for room in rooms.values():
        cmake = room.folder + "/CMakeLists.txt"
        if level_of(room.name) is None:
            tree.say(cmake, 0, f"room {room.name} stands in no level of docs/architecture.md")
            continue
        for dep in room.deps:
            if dep not in rooms and not tree.exists("src/" + dep):
                tree.say(cmake, 0, f"room {room.name} names {dep}, which is no room")
            elif (level_of(dep) or 0) > level_of(room.name):
                tree.say(cmake, 0, f"room {room.name} (level {level_of(room.name)}) uses {dep} (level {level_of(dep)})")
        used = reachable(rooms, room.name)
        for who, whom in FORBIDDEN:
            if room.name == who and any(u == whom or u.startswith(whom + "/") for u in room.deps):
                tree.say(cmake, 0, f"room {who} must not use {whom}")
        if room.name in used:
            tree.say(cmake, 0, f"room {room.name} uses itself through {', '.join(room.deps)}")


def check_includes(tree, rooms):
    for path in tree.files("src", ".cc", ".h"):
        room = room_of(rooms, path)
        if room is None and path.startswith("src/main/"):
            continue  # the program itself: it builds the real world out of everything
        if room is None:
            tree.say(path, 0, "belongs to no room (no add_room in its folder or above)")
            continue
        allowed = reachable(rooms, room.name) | {room.name}
        is_test = path.endswith("_test.cc") or "/testing/" in path or "/fuzz/" in path
        if is_test:
            targets = {use for use in room.test_uses}
            for other in list(rooms):
                if "muster_" + other.replace("/", "_") in targets:
                    allowed |= {other} | reachable(rooms, other)
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            match = re.match(r'\s*#\s*include "([^"]+)"', line)
            if match:
                check_include(tree, rooms, room, allowed, path, number, match.group(1))
            elif path.endswith(".h") and not is_test and WRAPPED.search(line) and not PRIVATE.search(tree.read(path)):
                tree.say(path, number, f"a header includes {line.split()[1]}: third-party headers belong into the .cc that wraps them")


def check_include(tree, rooms, room, allowed, path, number, target):
    source = "src/" + target
    if not tree.exists(source) and os.path.basename(target) in tree.read(room.folder + "/CMakeLists.txt"):
        return  # generated by the room's own build
    if not tree.exists(source):
        tree.say(path, number, f'includes "{target}", which is not under src/ (paths are "room/file.h")')
        return
    owner = room_of(rooms, source)
    if owner is not None and owner.name not in allowed:
        tree.say(path, number, f'room {room.name} includes "{target}" of room {owner.name}, which its DEPS do not name')


# ---- files ----

def check_headers(tree):
    for path in tree.files("src", ".h"):
        lines = tree.read(path).splitlines()
        comment = []
        for line in lines:
            if not line.startswith("//"):
                break
            comment.append(line.lstrip("/ ").strip())
        text = " ".join(comment)
        if not comment:
            tree.say(path, 1, "does not open with a comment that says why it exists")
        elif len(text.split()) < 4 or not re.search(r"[.:](\s|$)", text):
            tree.say(path, 1, "its opening comment is no sentence")


def read_untested(tree):
    excused = {}
    path = "tests/tidy/untested.txt"
    if not tree.exists(path):
        return excused
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        source, _, why = line.partition(" ")
        if not why.strip():
            tree.say(path, number, f"{source}: no reason given")
        if not tree.exists(source) and not source.endswith("*"):
            tree.say(path, number, f"{source} does not exist")
        excused[source] = why.strip()
    return excused


def is_excused(excused, path):
    return path in excused or any(p.endswith("*") and path.startswith(p[:-1]) for p in excused)


def check_tests(tree):
    """A source has a test of its name beside it, or a test in its folder (or the one above) includes its header."""
    excused = read_untested(tree)
    includes = {}
    for path in tree.files("src", "_test.cc"):
        for header in re.findall(r'#include "([^"]+)\.h"', tree.read(path)):
            includes.setdefault(header, set()).add(os.path.dirname(path))
    for path in tree.files("src", ".cc"):
        if path.endswith("_test.cc") or "/fuzz/" in path or "/testing/" in path or is_excused(excused, path):
            continue
        folder, stem = os.path.dirname(path), path[:-len(".cc")]
        if tree.exists(stem + "_test.cc"):
            continue
        testers = includes.get(stem[len("src/"):], set())
        if folder in testers or os.path.dirname(folder) in testers:
            continue
        tree.say(path, 0, "no test beside it, none in its folder includes its header, and no line in tests/tidy/untested.txt")


def check_lengths(tree):
    for folder in ("src", "tests", "cmake", "bench"):
        for path in tree.files(folder, ".cc", ".h", ".py", ".sh", ".cmake", ".js"):
            lines = tree.read(path).splitlines()
            if len(lines) > LONGEST and not LONG_REASON.search("\n".join(lines[:30])):
                tree.say(path, 0, f"{len(lines)} lines and no reason at its top (\"Longer than {LONGEST} lines because ...\")")


def check_unfinished(tree):
    for folder in ("src", "tests", "cmake", "bench", "catalogue"):
        for path in tree.files(folder, ".cc", ".h", ".py", ".sh", ".cmake", ".yaml"):
            if path == "tests/tidy/tidy.py":
                continue
            for number, line in enumerate(tree.read(path).splitlines(), 1):
                match = UNFINISHED.search(line)
                if match:
                    tree.say(path, number, f"{match.group(1)}: unfinished work belongs into an issue")


# ---- data ----

def items_of(text):
    """Top entries of the lists of a catalogue file: (line, text), by the smallest indentation that a "- " has."""
    lines = text.splitlines()
    dashes = [len(l) - len(l.lstrip()) for l in lines if l.lstrip().startswith("- ") and not l.lstrip().startswith("#")]
    if not dashes:
        return []
    indent, items = min(dashes), []
    for number, line in enumerate(lines, 1):
        if line.startswith(" " * indent + "- "):
            items.append([number, line])
        elif items and (line.startswith(" " * (indent + 1)) or not line.strip()):
            items[-1][1] += "\n" + line
    return items


def check_sources(tree):
    for path in tree.files("catalogue", ".yaml"):
        if path == "catalogue/facts.yaml":  # a fact names who observes it (by:)
            continue
        text = tree.read(path)
        if re.search(r"(?m)^source: \S", text):
            continue
        items = items_of(text)
        anchors = {name for _, item in items if has_source(item, set()) for name in re.findall(r"&(\w+)", item)}
        if not items:
            tree.say(path, 0, "has no entries")
        for number, item in items:
            if not has_source(item, anchors):
                tree.say(path, number, "entry without a source")
            # A reader can open a public source, or weigh a reason; a list of wishes is neither.
            for named in re.findall(r"source: *(.*)", item):
                if re.search(r"mission row|issue text|\brunbooks? R\d", named):
                    tree.say(path, number, "a source that no reader can open: name a public one, or \"Muster's own choice\" with the reason")


def has_source(item, anchors):
    merged = set(re.findall(r"<<: \*(\w+)", item))
    return bool(re.search(r"[\s{]source: *[^\s,}]", item)) or bool(merged & anchors)


def read_facts(tree):
    if not tree.exists("catalogue/facts.yaml"):
        return {}, set()
    text = tree.read("catalogue/facts.yaml")
    ids, by = {}, set()
    for number, item in items_of(text):
        fact = re.search(r"id: *([\w.]+)", item)
        if fact:
            ids[fact.group(1)] = number
        by |= set(re.findall(r"by: *([\w.]+)", item))
    return ids, by


def check_facts(tree):
    ids, by = read_facts(tree)
    if not ids:
        return
    prefixes = {fact.split(".")[0] for fact in ids}
    for path in tree.files("catalogue/criteria", ".yaml"):
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            match = re.match(r"\s+(?:- )?fact: *([\w.]+)", line)
            if match and match.group(1) not in ids:
                tree.say(path, number, f"fact {match.group(1)} is not in catalogue/facts.yaml")
    # What a probe or a measurement emits, or lists among its facts: a literal that looks like a fact. Ids of probes look so too.
    for folder in ("src/probes", "src/measure", "src/app"):
        for path in tree.files(folder, ".cc", ".h"):
            if path.endswith("_test.cc") or "/fuzz/" in path or "/testing/" in path:
                continue
            text = tree.read(path)
            probe_ids = by | set(re.findall(r'\{\s*"(\w+\.\w+)",\s*"\w+",', text)) | set(re.findall(r'(?:ProbeUse\{\d|Read(?:File|Command|Url)\(\w+), "([\w.]+)"', text))
            for number, line in enumerate(text.splitlines(), 1):
                for literal in re.findall(r'"([a-z][a-z0-9_]*\.[a-z][a-z0-9_]*)"', line.split("//")[0]):
                    if literal.split(".")[0] in prefixes and literal not in ids and literal not in probe_ids and not is_file(literal):
                        tree.say(path, number, f'"{literal}" is not in catalogue/facts.yaml')


def check_runbooks(tree):
    """Whoever sends a reader to a runbook sends them to one that is there."""
    there = {m.group(1) for path in tree.files("catalogue/runbooks", ".yaml") for m in [re.search(r"(?m)^id: *(\w+)", tree.read(path))] if m}
    for path in tree.files("catalogue", ".yaml"):
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            match = re.match(r"\s+(?:- )?runbook: *(\w+)", line)
            if match and match.group(1) not in there:
                tree.say(path, number, f"runbook {match.group(1)} is not in catalogue/runbooks")


def is_file(literal):
    return literal.rsplit(".", 1)[1] in ("json", "yaml", "txt", "log", "xml", "sock", "html", "md", "csv", "db")


# ---- verbs ----

def check_verbs(tree):
    """verb = folder in src/cli = page in docs/commands, once there are pages."""
    if not tree.exists("src/cli") or not tree.exists("docs/commands"):
        return
    pages = {os.path.basename(p)[:-3] for p in tree.files("docs/commands", ".md")} - {"README"}
    if not pages:
        return
    folder = os.path.join(tree.root, "src/cli")
    verbs = {v for v in os.listdir(folder) if os.path.isdir(os.path.join(folder, v)) and tree.files("src/cli/" + v, ".cc")}
    for verb in sorted(verbs - pages):
        tree.say(f"docs/commands/{verb}.md", 0, f"is missing: muster {verb} is in src/cli/{verb}")
    for page in sorted(pages - verbs):
        tree.say(f"docs/commands/{page}.md", 0, f"no folder src/cli/{page}")


def run(root):
    tree = Tree(root)
    rooms = read_rooms(tree)
    check_rooms(tree, rooms)
    check_includes(tree, rooms)
    check_headers(tree)
    check_tests(tree)
    check_lengths(tree)
    check_unfinished(tree)
    check_sources(tree)
    check_facts(tree)
    check_runbooks(tree)
    check_verbs(tree)
    return tree.findings


# ---- self-test: each rule finds its offence, and a clean tree passes ----

CLEAN = {
    "src/base/CMakeLists.txt": "add_room(base DEPS)\n",
    "src/base/a.h": "// A thing that everybody needs.\n#pragma once\n",
    "src/base/a.cc": '#include "base/a.h"\n',
    "src/base/a_test.cc": '#include "base/a.h"\n',
    "src/world/CMakeLists.txt": "add_room(world DEPS base FOLDERS posix)\n",
    "src/world/posix/p.h": "// How the real machine is reached.\n",
    "src/model/CMakeLists.txt": "add_room(model DEPS base)\n",
    "src/evidence/CMakeLists.txt": "add_room(evidence DEPS model)\n",
    "src/evidence/e.cc": '#include "base/a.h"\n#include <nlohmann/json.hpp>\n',
    "src/probes/CMakeLists.txt": "add_room(probes DEPS base)\n",
    "src/probes/p.cc": 'Add(node, "gpu.count"); Probe{"gpu.query", "xml", f};\n',
    "src/cli/CMakeLists.txt": "add_room(cli DEPS base)\n",
    "src/cli/check/check.cc": "// x\n",
    "docs/commands/check.md": "# check\n",
    "catalogue/facts.yaml": "- {id: gpu.count, on: node, by: smi}\n",
    "catalogue/criteria/nodes.yaml": "gate: 3\ncriteria:\n  - &a\n    code: N-1\n    fact: gpu.count\n    source: x\n  - <<: *a\n    code: N-2\n",
    "tests/tidy/untested.txt": "# why not\nsrc/evidence/e.cc it only includes\nsrc/probes/* as above\nsrc/cli/* as above\n",
}
OFFENCES = [
    ({"src/model/m.h": '// It looks further than it may.\n#include "world/posix/p.h"\n'}, "which its DEPS do not name"),
    ({"src/model/CMakeLists.txt": "add_room(model DEPS evidence)\n"}, "uses evidence (level 2)"),
    ({"src/evidence/CMakeLists.txt": "add_room(evidence DEPS base world)\n"}, "room evidence must not use world"),
    ({"src/model/CMakeLists.txt": "add_room(model DEPS bsae)\n"}, "which is no room"),
    ({"src/model/m.h": '// It names nothing.\n#include "base/gone.h"\n'}, "which is not under src/"),
    ({"src/model/m.h": "// It drags much behind it.\n#include <nlohmann/json.hpp>\n"}, "belong into the .cc"),
    ({"src/stray.cc": "int x;\n"}, "belongs to no room"),
    ({"src/model/m.h": "#pragma once\n"}, "does not open with a comment"),
    ({"src/model/m.h": "// Model\n"}, "is no sentence"),
    ({"src/model/m.cc": "int x;\n"}, "no test beside it"),
    ({"tests/tidy/untested.txt": "src/evidence/e.cc\nsrc/probes/* x\nsrc/cli/* x\n"}, "no reason given"),
    ({"tests/tidy/untested.txt": CLEAN["tests/tidy/untested.txt"] + "src/gone.cc because\n"}, "does not exist"),
    ({"src/base/a.h": CLEAN["src/base/a.h"] + "\n" * 600}, "lines and no reason"),
    ({"src/base/a.cc": "// " + "TO" + "DO later\n"}, "unfinished work"),
    ({"catalogue/criteria/nodes.yaml": "gate: 3\ncriteria:\n  - code: N-1\n    fact: gpu.count\n"}, "nodes.yaml:3: entry without a source"),
    ({"catalogue/criteria/nodes.yaml": CLEAN["catalogue/criteria/nodes.yaml"].replace("gpu.count", "gpu.cuont")}, "fact gpu.cuont is not in"),
    ({"src/probes/p.cc": 'Add(node, "gpu.cuont");\n'}, '"gpu.cuont" is not in'),
    ({"catalogue/diagnose/gpu.yaml": "causes:\n- id: gpu.lost\n  runbook: R99\n  source: x\n"}, "runbook R99 is not in"),
    ({"src/cli/init/init.cc": "// x\n"}, "docs/commands/init.md: is missing"),
    ({"docs/commands/gone.md": "# gone\n"}, "no folder src/cli/gone"),
]


def self_test():
    failures = 0
    for change, wanted in [({}, None)] + OFFENCES:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **change}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            findings = run(root)
        right = not findings if wanted is None else any(wanted in f for f in findings)
        if not right:
            failures += 1
            print(f"self-test: wanted {wanted!r}, found {findings}")
    print(f"{'PASS' if failures == 0 else 'FAIL'} tidy self-test: {len(OFFENCES) + 1} trees")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return 1 if self_test() else 0
    findings = run(os.path.abspath(options.root))
    for finding in findings:
        print(finding)
    print("PASS tidy" if not findings else f"FAIL tidy: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
