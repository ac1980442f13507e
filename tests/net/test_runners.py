"""What runs the tests: what fails once is run again, alone, and said; what was skipped is said with its reason; parts say what they took."""

import os
import re
import shutil
import subprocess

import pytest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAKY = """
import os, pytest
@pytest.mark.parametrize("word", ["a b", "c"])
def test_once(word):
    if word == "a b" and not os.path.exists("seen"):
        open("seen", "w").close()
        assert False
def test_skipped():
    pytest.skip("no such\\nkernel")
"""
BAD = """
import pytest
@pytest.fixture
def broken():
    yield
    assert False, "cannot be undone"
def test_never(broken):
    assert False
"""
PROGRAM = """#!/bin/sh
echo 1..3
echo ok 1 - one
echo 'skipped: no such disk'
echo 'ok 2 - two # SKIP'
echo 'not ok 3 - three # SKIP'
"""


@pytest.fixture
def tree(tmp_path):
    """A tree that has the runners, one flaky file of tests and a bad one."""
    (tmp_path / "tests/net").mkdir(parents=True)
    for name in ("run-net", "run-unit", "recheck", "junit.py", "share.py", "parts.sh", "one"):
        shutil.copy(os.path.join(TREE, "tests", name), tmp_path / "tests")
    (tmp_path / "tests/net/test_flaky.py").write_text(FLAKY)
    (tmp_path / "tests/net/test_bad.py").write_text(BAD)
    program = tmp_path / "test_program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


def run(tree, *words, **more):
    environment = dict(os.environ, COUNTS=str(tree / "counts"), BUILD="build", **more)
    return subprocess.run(["tests/" + words[0], *words[1:]], cwd=tree, env=environment, capture_output=True, text=True, timeout=120)


def said(tree, name):
    path = tree / name
    return path.read_text().splitlines() if path.exists() else []


def total(tree):
    return [sum(column) for column in zip(*(map(int, line.split()) for line in said(tree, "counts")))]


def test_what_passes_when_run_again_is_flaky_and_does_not_count_as_failed(tree):
    assert run(tree, "run-net").returncode != 0
    assert sorted(said(tree, "counts.failed")) == ["host\tbuild\ttests/net/test_bad.py::test_never", "host\tbuild\ttests/net/test_flaky.py::test_once[a b]"]
    passed, failed, skipped = total(tree)
    assert run(tree, "recheck").returncode == 0
    assert said(tree, "counts.flaky") == ["flaky: tests/net/test_flaky.py::test_once[a b]"]
    assert total(tree) == [passed + 1, failed - 1, skipped] and failed - 1 > 0


def test_many_failures_are_no_flakes(tree):
    (tree / "counts.failed").write_text("host\tbuild\ttests/net/test_flaky.py::test_once[c]\n" * 21)
    assert run(tree, "recheck").stdout == "" and said(tree, "counts.flaky") == []


def test_what_was_skipped_is_said_with_its_reason(tree):
    run(tree, "run-net", "tests/net/test_flaky.py")
    run(tree, "run-unit", "some", str(tree / "test_program"))
    assert said(tree, "counts.skips") == ["no such kernel", "no such disk", "test_program gives no reason"]


def test_several_share_the_files_and_each_test_runs_once(tree):
    for name in "abcdef":
        (tree / ("tests/net/test_%s.py" % name)).write_text("def test_one():\n    open(%r, 'a').write('x')\n" % name)
    done = run(tree, "run-net", *("tests/net/test_%s.py" % name for name in "abcdef"))
    assert done.returncode == 0, done.stdout
    assert [said(tree, name) for name in "abcdef"] == [["x"]] * 6
    assert total(tree) == [6, 0, 0] and len(said(tree, "counts.times")) == 6
    assert {line.split(";")[0].split()[-1] for line in done.stderr.splitlines()} == {"begun"} and done.stderr.count("1 passed") == 6


PARTS = """
PARTS=(first_part second)
. tests/parts.sh
first_part() { step "this" true; printf '2.5\\tslow\\n0.5\\tfast\\n' >>"$COUNTS.times"; }
second() { step "that" false; step "other" exit_with 77; echo "no such kernel" >>"$COUNTS.skips"; }
exit_with() { return "$1"; }
for name in "${PARTS[@]}"; do part "$name"; done
conclude
"""


def test_parts_say_how_far_it_is_what_they_took_and_what_was_slow(tree):
    done = subprocess.run(["bash", "-c", PARTS], cwd=tree, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and lines[-1] == "1 passed, 1 failed, 1 skipped", done.stdout
    assert lines[0].endswith("first part: part 1 of 2; second to come") and any(line.endswith("second: part 2 of 2; nothing to come") for line in lines)
    assert re.search(r"^part first part: [0-9]+ s, processors [0-9]+ % idle$", done.stdout, re.M) and "FAIL that" in lines
    slow = lines.index("the slowest tests:")
    assert [line.split() for line in lines[slow + 1:slow + 3]] == [["2.5", "s", "slow"], ["0.5", "s", "fast"]]
    assert "skipped 1: no such kernel" in lines and "skipped 1: other: what it needs is not installed" in lines


def test_one_test_is_run_by_its_name(tree):
    (tree / "tests/unit").mkdir()
    (tree / "tests/fuzz").mkdir()
    (tree / "tests/unit/test_program.c").write_text("")
    (tree / "build/tests").mkdir(parents=True)
    shutil.copy(tree / "test_program", tree / "build/tests")
    assert "skipped: no such disk" in run(tree, "one", T="test_program").stdout
    first = run(tree, "one", T="tests/net/test_flaky.py::test_once[a b] tests/net/test_flaky.py::test_once[c]")
    assert "1 failed, 1 passed" in first.stdout and first.returncode == 1
    assert run(tree, "one", T="tests/net/test_flaky.py::test_once[a b]").returncode == 0
    for wrong in ("", "test_nothing", "tests/net/test_nothing.py", "test_program tests/net/test_nothing.py::test_one"):
        refused = run(tree, "one", T=wrong)
        assert refused.returncode == 1 and refused.stdout == "" and "there is no test" in refused.stderr
    for near in ("tests/unit/test_program.c", "program", "test_progam"):
        assert run(tree, "one", T=near).stderr == f"there is no test {near}; did you mean test_program?\n"


# In the place of what tests/run calls: each says that it was called, and counts one test.
STAND_IN = """#!/bin/sh
echo "$0 $*" >>called
case $* in *lints) echo tests/lint/one tests/lint/other; exit ;; esac
echo "1 0 0" >>"$COUNTS"
"""


def test_all_parts_of_make_test_run_beside_each_other_and_end_with_one_line(tmp_path):
    for folder in ("tests/lint", "tests/epochs", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("run", "parts.sh"):
        shutil.copy(os.path.join(TREE, "tests", name), tmp_path / "tests")
    lints = ("one", "other", "symbols", "hardening")
    for name in ("run-net", "run-unit", "run-guest", "recheck", "epochs/run", *("lint/" + lint for lint in lints)):
        (tmp_path / "tests" / name).write_text(STAND_IN)
        (tmp_path / "tests" / name).chmod(0o755)
    (tmp_path / "bin/make").write_text(STAND_IN)
    (tmp_path / "bin/make").chmod(0o755)
    done = subprocess.run(["tests/run"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, BUILD="build", PATH="%s/bin:%s" % (tmp_path, os.environ["PATH"])))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and re.fullmatch(r"[0-9]+ passed, 0 failed, 0 skipped", lines[-1]), done.stdout + done.stderr
    begun = re.findall(r"^== [0-9:]+ (.*): part ([0-9]+) of ([0-9]+); ", done.stdout, re.M)
    assert len(begun) == len({name for name, _, _ in begun}) == int(begun[0][2])
    assert [name for name, _, _ in begun[:2]] == ["checks", "build"] and "; nothing to come" in done.stdout
    called = (tmp_path / "called").read_text()
    for words in ("run-guest uml", "run-guest qemu", "BUILD=build/clang", "SAN=address,undefined", "SAN=thread", "run-net together",
                  "run-net alone", "recheck", "lint/one", "lint/other", "lint/hardening build"):
        assert words in called, called
    assert called.index("run-net together") < called.index("run-net alone")
    assert lines.index(next(line for line in lines if "data plane under sanitizers: part" in line)) > max(
        i for i, line in enumerate(lines) if re.search("done, (guest qemu|threads|network alone)", line))
