"""What make builds, and its targets for who works on the tree."""

import json
import os
import subprocess

BUILD = os.environ.get("BUILD", "build")


def make(*words):
    """As a user would, also when the tests themselves were started by make."""
    inner = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "T")
    environment = {name: value for name, value in os.environ.items() if name not in inner}
    return subprocess.run(["make", "BUILD=" + BUILD, *words], capture_output=True, text=True,
                          check=False, env=environment, timeout=300)


def test_make_alone_builds_the_products():
    said = make("-nB").stdout
    assert "-o %s/duopolyd " % BUILD in said
    assert BUILD + "/tests/" not in said and "tests/net" not in said and "tests/unit" not in said


def test_one_unit_test_says_all_that_it_has_to_say():
    done = make("unit", "T=test_conf")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stdout + done.stderr
    refused = make("unit", "T=test_nothing")
    assert refused.returncode != 0 and "there is no test test_nothing" in refused.stderr


def test_every_source_is_compiled_as_an_editor_is_told():
    dry = make("-nB", "unit-programs").stdout
    written = subprocess.run(["make/compile-commands"], input=dry, capture_output=True, text=True,
                             check=True).stdout
    entries = {entry["file"]: entry["arguments"] for entry in json.loads(written)}
    tracked = subprocess.run(["git", "ls-files", "lib/*.c", "controller/*.c", "hostagent/*.c",
                              "tests/unit/*.c"], capture_output=True, text=True, check=True)
    sources = {name for name in tracked.stdout.split() if not name.endswith((".bpf.c", "_dpdk.c"))}
    assert sources and not sources - set(entries)
    words = entries["controller/main.c"]
    assert "-Wall" in words and "-I." in words
    assert words[-1] == "controller/main.c" and words[-2].endswith("obj/controller/main.o")


def test_the_list_of_targets_is_a_page():
    lines = make("help").stdout.splitlines()
    named = {line.split()[0] for line in lines}
    assert {"all", "test", "unit", "quick", "check", "demo", "install",
            "compile_commands.json"} <= named and len(lines) <= 60
