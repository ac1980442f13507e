"""What README and docs/ name is there: files, make targets, programs, their commands and options."""

import glob
import os
import re
import subprocess

import pytest

BUILD = os.environ.get("BUILD", "build")
PAGES = ["README.md"] + sorted(glob.glob("docs/*.md"))
TOP = ("controller/", "hostagent/", "lib/", "schemas/", "testbed/", "tests/", "docs/")


def text_of(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def words_in_code(text):
    """Everything between back-quotes, and the lines of fenced blocks."""
    fenced = re.findall(r"```[a-z]*\n(.*?)```", text, re.S)
    rest = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.findall(r"`([^`\n]+)`", rest) + [line for block in fenced for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page)):
        if not re.match(r"[a-z]+://", target):
            assert os.path.exists(os.path.join(os.path.dirname(page), target)), "%s: %s" % (page, target)


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page):
    for code in words_in_code(text_of(page)):
        for word in re.findall(r"[\w./*{},-]+", code):
            if word.startswith(TOP) and not re.search(r"[A-Z]{3}|\{", word):
                assert glob.glob(word.rstrip(".,")), "%s names %s" % (page, word)


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    targets = {name for part in ["Makefile", *glob.glob("make/*.mk")] for name in re.findall(r"^([a-z][a-z_.-]*):", text_of(part), re.M)}
    for code in words_in_code(text_of(page)):
        for named in re.findall(r"(?:^|(?<!keys)[\s(])make ([a-z](?:[a-z_.-]*[a-z])?-?)", code):
            if named.endswith("-"):
                continue  # make bench-…
            assert named in targets, "%s: make %s" % (page, named)


def help_of(program, *words):
    done = subprocess.run([os.path.join(BUILD, program), *words, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_are_known(page):
    """`build/PROGRAM …` or `PROGRAM …`: the program is built, its command and long options are in its help."""
    programs = {name for name in os.listdir(BUILD) if re.match(r"duopoly|replay-", name) and os.access(os.path.join(BUILD, name), os.X_OK)}
    for code in words_in_code(text_of(page)):
        words = code.split()
        if not words or "─" in code or os.path.basename(words[0]) not in programs or len(words) == 1:
            continue
        name = os.path.basename(words[0])
        command = next((word for word in words[1:] if re.fullmatch(r"[a-z]+", word)), None)
        told = help_of(name) + (help_of(name, command) if command else "")
        if command and name in ("duopolyctl", "duopoly-sim"):
            assert re.search(r"\b%s\b" % command, help_of(name)), "%s: %s" % (page, code)
        for option in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", code):
            assert option in told, "%s: %s" % (page, code)
