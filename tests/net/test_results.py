"""tests/lint/results: figures name where they come from, and say so when they are older than the
code that made them."""

import os
import subprocess

import pytest

LINT = os.path.abspath("tests/lint/results")
PAGE = """# Figures

## One
{lines}
| a | b |
|---|---|
| 1 | 2 |

## Words

No figures here.
"""
LINES = """
- **Command**: `make it`
- **Commit**: `%s` (today)
- **Machine**: A
- **Code**: `code`
"""
STALE = "- **Stale**: the code has changed since.\n"


def run(command, folder, check=False):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=check)


class Tree:
    """A repository with code, and a page of figures that were measured at its first commit."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.git("init", "-q")
        self.write("code/a.c", "int a;\n")
        self.commit()
        commit = self.git("rev-parse", "--short=8", "HEAD")
        self.lines = LINES % commit
        self.write("docs/results/one.md", PAGE.format(lines=self.lines))

    def git(self, *words):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
        return run(command, self.folder, check=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self):
        with open(os.path.join(self.folder, "docs/results/one.md"), encoding="utf-8") as file:
            return file.read()

    def lint(self, *words):
        done = run([LINT, *words], self.folder)
        assert not done.stderr
        return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_figures_of_the_code_as_it_is_are_fine(tree):
    assert tree.lint() == (0, "")


def test_changed_code_is_to_be_marked_and_back(tree):
    tree.write("code/a.c", "int b;\n")
    status, said = tree.lint()
    assert status == 1 and said.count("\n") == 1
    assert said.startswith("docs/results/one.md: One: the code has changed since ")
    assert tree.lint("--mark") == (0, "")
    assert tree.read() == PAGE.format(lines=tree.lines + STALE) and tree.lint() == (0, "")
    tree.write("code/a.c", "int a;\n")
    said = "docs/results/one.md: One: marked as stale, but the code is as it was\n"
    assert tree.lint() == (1, said)
    assert tree.lint("--mark") == (0, "") and tree.read() == PAGE.format(lines=tree.lines)


def test_figures_before_the_first_section_are_looked_at(tree):
    page = PAGE.replace("## One\n", "").replace("# Figures\n\n", "# Figures\n")
    tree.write("docs/results/one.md", page.format(lines=tree.lines))
    assert tree.lint() == (0, "")
    tree.write("code/a.c", "int b;\n")
    status, said = tree.lint()
    assert status == 1 and said.startswith("docs/results/one.md: Figures: the code has changed")
    assert tree.lint("--mark") == (0, "")
    assert tree.read() == page.format(lines=tree.lines + STALE)


def test_other_code_changes_nothing(tree):
    tree.write("other/a.c", "int b;\n")
    tree.commit()
    assert tree.lint() == (0, "")


@pytest.mark.parametrize("change, said", [
    (("- **Machine**: A\n", ""), "figures without Machine"),
    (("`code`", "`gone`"), "the code is not there: gone"),
    (("- **Commit**: `", "- **Commit**: `0000000"), "the history has no commit "),
])
def test_what_is_missing_is_said(tree, change, said):
    tree.write("docs/results/one.md", tree.read().replace(*change))
    status, told = tree.lint()
    assert status == 1 and "docs/results/one.md: One: " + said in told
    assert tree.lint("--mark")[0] == 1


def test_a_commit_of_a_rebased_branch_is_none(tree):
    """It is in the clone that made it, and in no other."""
    first = tree.git("rev-parse", "HEAD")
    tree.git("checkout", "-q", "--orphan", "again")
    tree.git("commit", "-qm", "the same, told anew")
    assert tree.git("cat-file", "-t", first) == "commit"
    status, said = tree.lint()
    assert status == 1 and "the history has no commit `%s`" % first[:8] in said


def test_without_history_nothing_is_compared(tree, tmp_path):
    copy = tmp_path / "copy"
    run(["git", "clone", "-q", "--depth=1", "file://" + tree.folder, str(copy)], None, check=True)
    done = run([LINT], copy)
    assert done.returncode == 0 and "the history is not here" in done.stdout


def test_this_trees_figures_are_marked():
    done = run([LINT], None)
    assert done.returncode == 0, done.stdout
