"""Commands on pages run as they stand: duopolyctl's on a small cluster, the simulator's on the
tree's own files.

Left out, since tests of their own run them: keys (test_keys.py), switches (test_switches.py,
test_render.c), the data plane (test_fastpath.py), what goes on (test_events.py, test_top.py),
support bundles
(test_bundle.py), --check and --plan (test_checks.py, test_plan.py), make demo and make up
(test_demo.py,
test_soak.py)."""

import functools
import glob
import os
import re

import pytest

import small_site
from testbed.net import system

BUILD = os.environ.get("BUILD", "build")
PAGES = sorted(glob.glob("*.md")) + sorted(glob.glob("docs/*/*.md"))
ELSEWHERE = {"keys", "switch", "fastpath", "graph", "--controller", "host", "--help", "watch",
             "record", "support-bundle", "top"}
# What is spoken of by its name alone takes more.
NAMES = {"explain", "replay", "job", "cancel", "drain", "submit", "store", "store backup", "stance",
         "job hold", "job set", "keys", "run", "compare", "sweep", "whatif"}
# What changes something comes last, what takes hosts away behind that.
ORDER = ["submit", "policy", "store", "stance", "job", "cancel", "drain"]
WORD = re.compile(r"-{0,2}[a-z][a-z0-9-]*|-[a-z]|[\w./]+\.(jsonl|log|yaml)|[a-z-]+(,[a-z-]+)+")
RECORDING = "tests/recordings/nats-cans-even.log"


def code_of(page):
    """Inline code, and lines of fenced blocks without their remarks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    fenced = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.S | re.M)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    lines = [line for block in fenced for line in block.splitlines()]
    return inline + [re.sub(r"\s+#.*", "", line).strip() for line in lines]


def commands(program, known):
    """What pages say of a program, each once: words in lower case, options, files, and the
    placeholders that are known."""
    found = set()
    for page in PAGES:
        for code in code_of(page):
            words = re.sub(r"\[[^]]*\]", "", code).split()
            if len(words) > 1 and os.path.basename(words[0]) == program and all(
                    word in known or WORD.fullmatch(word) for word in words[1:]):
                found.add(" ".join(words[1:]))
    return found - NAMES


def place(command):
    word = command.split()[0]
    return (ORDER.index(word) if word in ORDER else -1, command)


KNOWN = {"JOB", "HOST", "FILE", "JOB/STAGE/TASK"}
DUOPOLYCTL = sorted((command for command in commands("duopolyctl", KNOWN)
                     if not ELSEWHERE & set(command.split())), key=place)


def of_the_tree(command):
    """It takes a recording, or files of the tree alone; what a reader makes first is not there."""
    files = [word for word in command.split() if "." in word]
    return command.split()[0] in ("replay", "explain") or files and all(map(os.path.isfile, files))


SIMULATOR = sorted(filter(of_the_tree, commands("duopoly-sim", {"FILE", "JOB/STAGE/TASK"})))


def test_there_are_such_commands():
    assert {"status", "hosts", "links", "explain JOB/STAGE/TASK"} <= set(DUOPOLYCTL), DUOPOLYCTL
    assert len(DUOPOLYCTL) > 12, DUOPOLYCTL
    assert "explain FILE JOB/STAGE/TASK" in SIMULATOR, SIMULATOR


@pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")
def test_duopolyctls_on_a_cluster(tmp_path):
    """All of them; each is done (exit status 0), with something to say."""
    with small_site.site(str(tmp_path), 2, lambda _name, _seen: {"long": "sleep 600"}) as site:
        number = site.submit({"tasks": 2, "command": "long", "compute_ms": 1})
        site.wait(number, lambda job: job["running"] == 2)
        for command in DUOPOLYCTL:
            first = command.split()[0]
            file = {"submit": os.path.join(site.folder, "job-1.jsonl"), "store": "copy.db",
                    "whatif": os.path.join(site.folder, "job-1.jsonl"),
                    "config": os.path.abspath("schemas/duopolyd.yaml")}
            given = {"JOB": number, "HOST": "w1", "w4": "w2", "JOB/STAGE/TASK": number + "/0/0",
                     "FILE": file.get(first, str(tmp_path / "out.svg"))}
            assert site.text(*(given.get(word, word) for word in command.split())).strip(), command


def shows(site, words, headings):
    return headings <= set(re.findall(r"[A-Z]+", site.text(*words)))


def samples():
    """(command, headings) of tables that the page on symptoms shows, but Spark's."""
    with open("docs/operate/troubleshooting.md", encoding="utf-8") as page:
        text = page.read()
    shown = re.compile(r"^\$ duopolyctl (.+)\n((?:[A-Z]+ +)+.*)$", re.M)
    for command, line in shown.findall(text.split("## Spark")[0]):
        yield command, set(re.findall(r"[A-Z]+", line))


@pytest.mark.skipif(os.geteuid() != 0, reason="the testbed needs root")
def test_headings_of_samples_are_the_programs(tmp_path):
    with small_site.site(str(tmp_path), 2, lambda _name, _seen: {"short": "true"}) as site:
        number = site.submit({"tasks": 1, "command": "short", "compute_ms": 1})
        site.wait(number, lambda job: job["state"] == "done")
        shown = list(samples())
        assert len(shown) >= 4
        for command, headings in shown:
            system.wait_for(functools.partial(shows, site, command.split(), headings), 30,
                            "the headings of " + command)


@pytest.mark.parametrize("command", SIMULATOR)
def test_the_simulators(command, tmp_path):
    """FILE: a recording of the tree, or what is to be written."""
    with open(RECORDING, encoding="utf-8") as recording:
        task = re.search(r"^d start .*\bjob=(\d+) stage=(\d+) task=(\d+)", recording.read(), re.M)
    recorded = command.split()[0] in ("replay", "explain")
    given = {"FILE": RECORDING if recorded else str(tmp_path / "out"),
             "JOB/STAGE/TASK": "/".join(task.groups())}
    words = [given.get(word, word) for word in command.split()]
    assert system.run(os.path.join(BUILD, "duopoly-sim"), *words).strip()
