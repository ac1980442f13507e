"""`duopolyctl links`: what every port of hosts and switches carried, against what crossed them."""

import re
import subprocess

import kills
from nets import needs_root

pytestmark = needs_root


def rows(site, *host):
    return {(row["host"], row["port"]): row for row in site.running.ask("links", *host)["links"]}


def test_every_port_says_what_it_carries(begin):
    site = begin(kills.REAL)
    names = [f"w{i + 1}" for i in range(site.hosts)]
    ports = {(name, "eth0") for name in names} | {("s", name) for name in [*names, "c"]}
    site.wait("all ports", lambda: set(rows(site)) == ports)
    assert {row["rate_bps"] for row in rows(site).values() if row["port"] != "c"} == {kills.LINK_BPS}
    site.wait("quiet links", lambda: all(row["sent_bps"] < kills.LINK_BPS / 20 for row in rows(site).values()))

    site.replay(site.transfers(6))

    def full():
        now = rows(site)
        return now if all(now[name, "eth0"]["received_permille"] > 700 for name in names) else None
    busy = site.wait("full downlinks", full)
    for name in names:
        row = busy[name, "eth0"]
        assert row["received_bps"] <= row["received_peak_bps"] <= 1.2 * kills.LINK_BPS, row
        assert row["age_ns"] < 31e9, row
        # The other end of its link is a port of the switch, which sends what the host receives.
        assert busy["s", name]["sent_permille"] > 500, busy
    assert set(rows(site, "w1")) == {("w1", "eth0")}
    site.finish()
    site.wait("quiet links", lambda: all(row["received_permille"] < 50 for row in rows(site).values()))


def test_a_host_that_nobody_knows_has_no_links(begin):
    site = begin(kills.SHORT)
    wrong = subprocess.run([site.running.program("duopolyctl"), "--socket", site.running.socket, "links", "w77"],
                           capture_output=True, text=True, timeout=30)
    assert (wrong.returncode, wrong.stdout) == (5, "")
    assert wrong.stderr == "duopolyctl: there is no host or switch w77; did you mean 'w1'?\n"


class Slow(kills.Site):
    slow = "w2"


def test_a_link_at_a_tenth_of_its_rate_is_found(begin):
    """By the command that docs/operate/troubleshooting.md gives; both ends of the slow cable are
    named, and nobody else who waits because of it. WHY not in short time: the agent's own words
    wait in that cable, too, for longer than its timers have then."""
    site = begin(kills.REAL, Slow)
    ends = {("w2", "eth0"), ("s", "w2")}
    site.submit(kills.job("transfers", 5, 60_000_000))

    def noted():
        return {key: row["text"] for key, row in rows(site).items() if row.get("text")}
    site.wait("a note", lambda: set(noted()) >= ends, 240)
    said = noted()
    assert set(said) == ends, said
    assert all(re.search(r"never over (1\.[89]|2\.[0-4]) Mbit/s", text) for text in said.values()), said
