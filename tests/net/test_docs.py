"""What pages name is there: files, headings, make targets, programs, their commands and options. Their lines are short."""

import glob
import os
import re
import subprocess

import pytest

BUILD = os.environ.get("BUILD", "build")
PAGES = sorted(glob.glob("*.md") + glob.glob("docs/*/*.md")) + ["plugins/spark/README.md", "tests/guest/README.md"] + sorted(glob.glob("schemas/*.md"))
COLUMNS = 120
# What headers call by words that this project made up, or took for something of its own.
COINED = """account adopt allow bare bleach bucket cans ceiling cell claim confinement constraint crowd debt device
epoch eviction fact floor flow fold force foreign gate granule guest hold home hook hub inventory
lapse lease ledger lend level manners mark market member mode narrowed nats nudge objective offer
orphan overtaken portion preset probe promotion rack rank reach recording refit repair requester
rerun revival room rung sequence shape share slot stance suspect ticket trial trouble truth turn
unit unmarked user variant vouch watcher wish yield""".split()
TOP = ("controller/", "hostagent/", "lib/", "schemas/", "testbed/", "tests/", "docs/")


def text_of(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def words_in_code(text):
    """Everything between back-quotes, and the lines of fenced blocks."""
    fenced = re.findall(r"```[a-z]*\n(.*?)```", text, re.S)
    rest = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.findall(r"`([^`\n]+)`", rest) + [line for block in fenced for line in block.splitlines()]


def headings(page):
    """What links to places in a page may name, as GitHub makes it."""
    return {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text_of(page).splitlines() if line.startswith("#")}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", text_of(page)):
        if re.match(r"[a-z]+://", target):
            continue
        path = os.path.join(os.path.dirname(page), target) if target else page
        assert os.path.exists(path), "%s: %s" % (page, target)
        assert not place or place in headings(path), "%s: %s has no #%s" % (page, target, place)


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page):
    """But what programs print stands as they print it."""
    text = re.sub(r"^```(\w*)\n(.*?)^```$", lambda block: block[2] if block[1] else "", text_of(page), flags=re.S | re.M)
    assert [line for line in text.splitlines() if len(line) > COLUMNS] == []


def test_the_glossary_has_each_coined_word():
    has = set(re.findall(r"[a-z]+", " ".join(re.findall(r"\*\*([^*]+)\*\*", text_of("docs/explain/glossary.md").lower()))))
    assert [word for word in COINED if not {word, word + "s"} & has] == []


def test_each_symptom_begins_with_a_command_and_what_it_says():
    sections = re.split(r"^## .*\n", text_of("docs/operate/troubleshooting.md"), flags=re.M)[1:]
    assert len(sections) > 10
    assert [section for section in sections if not re.match(r"\n```\n\$ .*\n(.+\n)+```\n", section)] == []


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
