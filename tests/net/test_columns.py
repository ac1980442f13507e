"""tests/lint/columns: comments, Python and text have a width, and a comment can be wrapped to it.
tests/lint/named: a file that a comment names is there."""

import os
import subprocess
import sys

import pytest

LINT = os.path.abspath("tests/lint/columns")
LONG = "word " * 30


def lint(*words):
    done = subprocess.run([sys.executable, LINT, *map(str, words)], capture_output=True, text=True,
                          check=False)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("name, text, line", [
    ("a.c", "int a; /* %s */\n" % LONG, 1),
    ("a.h", "/* short\n * %s */\n" % LONG, 2),
    ("a.c", "int a; // %s\n" % LONG, 1),
    ("a.py", "x = 1\n# %s\n" % LONG, 2),
    ("a.py", "x = [%s]\n" % ("1, " * 40), 1),
    ("a.md", "%s\n" % LONG, 1),
    ("a.yaml", "a: 1\n# %s\n" % LONG, 2),
])
def test_what_is_longer_is_found(tmp_path, name, text, line):
    path = tmp_path / name
    path.write_text(text)
    status, said = lint(path)
    assert status == 1 and said.startswith("%s:%d: longer than " % (path, line))
    assert said.count("\n") == 1


@pytest.mark.parametrize("name, text", [
    ("a.c", "const char *a = \"%s\";\n" % LONG),
    ("a.c", "const char *a = \"/* %s */\";\n" % LONG),
    ("a.c", "int %s;\n" % ("a" * 120)),
    ("a.md", "| %s |\n```\n%s\n```\n%s\n" % (LONG, LONG, "https://example.org/" + "a" * 120)),
    ("a.py", "# " + "a" * 98 + "\n"),
])
def test_the_rest_is_left_alone(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert lint(path) == (0, "")


def test_a_comment_is_wrapped_but_what_is_laid_out(tmp_path):
    path = tmp_path / "a.h"
    path.write_text("/* %s\n *\n *   one    hand-made\n *   two    table\n *\n"
                    " * - %s\n * - b */\nint a;\n" % (LONG, LONG))
    assert lint("--wrap", path) == (0, "")
    lines = path.read_text().splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert " *   one    hand-made" in lines and " *   two    table" in lines
    assert lines[-2:] == [" * - b */", "int a;"] and path.read_text().count("word") == 60
    before = path.read_text()
    assert lint("--wrap", path) == (0, "") and path.read_text() == before


def test_this_tree_is_held():
    assert lint() == (0, "")


def test_a_file_that_a_comment_names_is_there(tmp_path):
    path = tmp_path / "a.c"
    path.write_text("/* conf.h says what; lib/gone.h says why. */\nint a; // gone_too.c\n"
                    "const char *b = \"/* nowhere.h */\";\n")
    named = os.path.abspath("tests/lint/named")
    done = subprocess.run([named, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "%s:1: there is no lib/gone.h" % path, "%s:2: there is no gone_too.c" % path]
    assert subprocess.run([named], check=False).returncode == 0
