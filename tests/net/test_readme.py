"""The README is one screen, and what it says of make and of policies is so."""

import os
import re
import subprocess

from testbed.net import cluster

BUILD = os.environ.get("BUILD", "build")
BYTES_MOST = 7 * 1024


def text_of(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def test_it_is_one_screen():
    assert len(text_of("README.md").encode()) <= BYTES_MOST


def test_each_page_is_on_its_map():
    """What docs/ holds can be found from the README; figures by their folder's own page."""
    said = text_of("README.md")
    for folder, _, names in os.walk("docs"):
        for name in names if folder != "docs/results" else ["README.md"]:
            if name.endswith(".md"):
                assert "(%s)" % os.path.join(folder, name) in said, name
    results = text_of("docs/results/README.md")
    assert all("(%s)" % name in results for name in os.listdir("docs/results") if name != "README.md")


def test_its_lines_for_a_mininet_are_the_tutorials():
    lines = re.compile(r"^```python\n.*?^```$", re.M | re.S)
    assert lines.search(text_of("README.md"))[0] == lines.search(text_of("docs/tutorial/mininet.md"))[0]


def test_a_build_without_its_packages_says_what_to_do(tmp_path):
    """`make` before `make deps`: one sentence, and nothing is built."""
    nothing = tmp_path / "dpkg-query"
    nothing.write_text("#!/bin/sh\nexit 1\n")
    nothing.chmod(0o755)
    made = subprocess.run(["make", "BUILD=%s" % (tmp_path / "build")], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH="%s:%s" % (tmp_path, os.environ["PATH"])))
    assert made.returncode != 0
    ours = [line for line in made.stderr.splitlines() if not line.startswith("make")]
    assert len(ours) == 1 and "missing Debian packages: " in ours[0] and "make deps" in ours[0], made.stderr
    assert not (tmp_path / "build").exists()


def test_a_build_without_dpdk_says_what_it_leaves_out(tmp_path):
    """As where DPDK was never installed; neither does it install what would start that program."""
    def make(*words):
        return subprocess.run(["make", "-s", "BUILD=" + BUILD, *words], capture_output=True, text=True, check=True,
                              env=dict(os.environ, PKG_CONFIG_LIBDIR=str(tmp_path))).stdout
    said = [line for line in make("all").splitlines() if "left out" in line]
    assert len(said) == 1 and "DPDK is not installed: duopoly-fastpath" in said[0] and "make deps-dpdk" in said[0]
    make("install", "DESTDIR=%s/root" % tmp_path)
    installed = [name for _, _, names in os.walk(tmp_path / "root") for name in names]
    assert "duopoly-agent.service" in installed and "duopoly-fastpath.service" not in installed
    assert "duopoly-fastpath" not in installed


def test_what_mininet_needs_is_one_target(tmp_path):
    """README names it, also where neither is installed it says which they are."""
    nothing = tmp_path / "dpkg-query"
    nothing.write_text("#!/bin/sh\nfor last; do :; done\ncase $last in mininet|bridge-utils) exit 1;; esac; echo installed\n")
    nothing.chmod(0o755)
    assert "make deps-mininet" in text_of("README.md") and "make deps-mininet" in text_of("docs/tutorial/mininet.md")
    for words in (["deps-mininet"], ["demo", "NET=mininet"]):
        made = subprocess.run(["make", *words, "NO_INSTALL=1"], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH="%s:%s" % (tmp_path, os.environ["PATH"])))
        assert made.returncode != 0 and "missing Debian packages: mininet bridge-utils" in made.stderr.splitlines()[0], made.stderr


def test_the_table_of_policies_is_the_daemons():
    table = text_of("docs/explain/policies.md").split("| policy | jobs | tasks | wire |\n", 1)[1].split("\n\n", 1)[0]
    named = re.findall(r"`([a-z-]+)`", " ".join(row.split("|")[1] for row in table.splitlines()))
    assert sorted(named) == sorted(cluster.policies(BUILD))


def test_the_simulator_knows_them_by_the_same_names():
    said = subprocess.run([BUILD + "/duopoly-sim", "run", "--help"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"^  ([a-z-]+) ", said.split("policies\n", 1)[1], re.M)
    assert set(cluster.policies(BUILD)) <= set(known)
