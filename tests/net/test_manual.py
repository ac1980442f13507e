"""The man page and the completions that duopolyctl makes of its tables."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from controller import BUILD
from terminal import Terminal


def printed(form):
    done = subprocess.run([BUILD / "duopolyctl", "--print", form], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def said_by_help():
    """(commands, long options) of --help."""
    text = subprocess.run([BUILD / "duopolyctl", "--help"], capture_output=True, text=True,
                          timeout=20, check=True).stdout
    commands = text[text.index("\nCommands:\n"):text.index("\nA TASK is")]
    return (re.findall(r"^  ([a-z-]+) ", commands, re.M),
            re.findall(r"^ .*--([a-z]+)\b", text[:text.index("\nCommands:\n")], re.M))


COMMANDS, OPTIONS = said_by_help()


@pytest.mark.parametrize("columns", [60, 100])
def test_help_fits_the_terminal(columns):
    """No line is broken by the terminal, and none is longer than it is on a page."""
    terminal, written = Terminal([BUILD / "duopolyctl", "--help"], lines=400, columns=columns), b""
    try:
        while terminal.process.poll() is None:
            written += terminal.read(0.1)
        while more := terminal.read(0):
            written += more
    finally:
        terminal.close()
    lines = [line for line in written.decode("ascii").splitlines() if len(line.split()) > 1]
    assert len(lines) > 100 and max(map(len, lines)) < min(columns, 80)


def test_an_unknown_form_is_told():
    done = subprocess.run([BUILD / "duopolyctl", "--print", "fish"], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == ("duopolyctl: there is no form 'fish' to print; there are: man, bash, "
                           "zsh\n")


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_the_man_page_has_all_and_no_warning(tmp_path):
    page = tmp_path / "duopolyctl.1"
    page.write_text(printed("man"))
    done = subprocess.run(["man", "--warnings", "-E", "ascii", "-l", page], text=True,
                          capture_output=True, timeout=60, check=False,
                          env={"MANWIDTH": "100", "PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = re.sub(".\b", "", done.stdout)
    assert len(COMMANDS) > 20 and len(OPTIONS) > 15
    for command in COMMANDS:
        assert re.search(rf"^ {{7}}{command}\b", text, re.M), command
    for option in set(OPTIONS) - {"help", "usage", "version"}:
        assert f"--{option}" in text, option
    assert re.search(r"^ +8 unhealthy", text, re.M)


COMPLETE = """
source FILE
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_duopolyctl
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(name="bash", scope="module")
def _bash(tmp_path_factory):
    file = tmp_path_factory.mktemp("bash") / "duopolyctl"
    file.write_text(printed("bash"))

    def complete(*words):
        script = "set -eu\n" + COMPLETE.replace("FILE", str(file)).replace("_duopolyctl\n",
                                                                           "_duopolyctl || :\n")
        done = subprocess.run(["bash", "--norc", "-c", script, "-", "duopolyctl", *words],
                              capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, done
        return done.stdout.split()
    return complete


def test_bash_completes_commands_words_and_options(bash):
    assert bash("") == COMMANDS
    assert bash("st") == ["status", "stance", "store"]
    assert bash("-j", "--controller", "x", "sw") == ["switches", "switch"]
    assert bash("keys", "r") == ["revoke", "rotate"]
    assert bash("policy", "") == ["turn", "place", "commit", "network", "mode", "users"]
    assert bash("policy", "turn", "") == []
    assert bash("drain", "--u") == ["--undo"] and bash("drain", "--w") == ["--wait"]
    assert bash("job", "re") == ["release", "requeue"] and bash("cancel", "--dr") == ["--dry-run"]
    assert "--role" in bash("keys", "make", "w1", "--") and "--undo" not in bash("keys", "--")
    assert bash("submit", "") == [] and bash("--key", "") == [], "files"
    assert bash("tasks", "--columns", "job,st") == ["job,stage", "job,state"]
    assert bash("queues", "--columns", "marked") == ["marked_packets"], "of queues HOST"
    assert bash("config", "--sort", "taken") == ["taken_by"], "of config diff"
    assert {"--filter", "--since"} <= set(bash("history", "--")), "and its own"
    assert "--since" in bash("events", "--") and "--filter" not in bash("events", "--")
    assert bash("hosts", "--sort", "-upl") == ["-uplink_permille"]
    assert bash("status", "--columns", "") == [] and "--filter" not in bash("status", "--")
    assert {"--filter", "--columns", "--sort", "--since", "--limit"} <= set(bash("jobs", "--"))
    assert {"--json", "--socket", "--help"} <= set(bash("--"))
    assert bash("--form", "j") == ["json", "json-lines"]
    assert bash("events", "--kind", "job,h") == ["job,host", "job,hold"]


def refused(*words):
    done = subprocess.run([BUILD / "duopolyctl", "-s", "/nowhere", *words], capture_output=True,
                          text=True, timeout=20, check=False)
    return done.stderr if done.returncode == 2 else None


# An option's values, of commands that take some of them.
TAKERS = {"--form": [["status"]], "--kind": [["events"]], "--role": [["keys", "make", "w1"]],
          "--result": [["audit"], ["history"]], "--as": [["graph"], ["switch", "s", "render"]]}


@pytest.mark.parametrize("option", TAKERS)
def test_values_that_bash_completes_are_those_that_are_taken(bash, option):
    offered, listed = bash(option, ""), set()
    for words in TAKERS[option]:
        told = refused(*words, option, "nonsense")
        found = re.search(r"(?:there are: |--result is )(.*?)(?:, not|$)", told.strip(), re.M)
        listed |= set(re.findall(r"[a-z-]+", found[1])) - {"or"}
    assert set(offered) == listed - {"controller"}
    for value in offered:
        assert None in [refused(*words, option, value) for words in TAKERS[option]], value


class Shell:
    """A zsh on a terminal, with the completion."""

    def __init__(self, folder):
        (folder / "_duopolyctl").write_text(printed("zsh"))
        pid, self.terminal = pty.fork()
        if not pid:
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.pid, self.seen = pid, ""
        path = BUILD.resolve()
        self.type(f"fpath=({folder} $fpath) PATH={path}:$PATH; autoload -Uz compinit\n"
                  "compinit -u -D; show() { print \"<$BUFFER>\"; BUFFER= }; zle -N show\n"
                  "bindkey '^G' show; print REA''DY\n")
        assert self.shows("READY")

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def shows(self, text):
        """Whether it does, before long."""
        deadline = time.monotonic() + 20
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.5)[0]:
                more = os.read(self.terminal, 65536).decode(errors="replace")
                self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\x07\x08]", "", more)
        found = text in self.seen
        self.seen = ""
        return found

    def end(self):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed (make deps-test)")
def test_zsh_completes_commands_words_and_options(tmp_path):
    shell = Shell(tmp_path)
    try:
        for typed, line in (("aud", "audit"), ("-j sto", "-j store"), ("keys rot", "keys rotate"),
                            ("drain --un", "drain --undo"), ("--form w", "--form wide")):
            shell.type(f"duopolyctl {typed}\t\x07")
            assert shell.shows(f"<duopolyctl {line} >"), typed
        for typed, line in (("hosts --columns name,upl", "hosts --columns name,uplink_permille"),
                            ("watch --kind job,fr", "watch --kind job,framework")):
            shell.type(f"duopolyctl {typed}\t\x07")
            assert shell.shows(f"<duopolyctl {line},>"), typed  # a blank takes the comma's place
        shell.type("duopolyctl st\t")
        assert shell.shows("-- observe, mark or enforce"), "commands are described"
    finally:
        shell.end()
    text = printed("zsh")
    for command in COMMANDS:
        assert f"        '{command}:" in text, command
    for option in set(OPTIONS) - {"usage"}:
        assert f"--{option}" in text, option


def test_each_option_belongs_to_a_command(bash):
    """What a command's completion offers is what the command takes."""
    for command in COMMANDS:
        for option in bash(command, "--"):
            if option in ("--help", "--version", "--print"):
                continue
            value = [] if option in ("--all", "--undo", "--json") else ["x"]
            done = subprocess.run([BUILD / "duopolyctl", command, option, *value],
                                  capture_output=True, text=True,
                                  timeout=20, check=False)
            # 'here': another form of the command takes it, as 'mode history' takes --filter
            assert "takes no" not in done.stderr or " here" in done.stderr, done
