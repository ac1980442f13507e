"""That our programs stand on a port is no proof that packets come by them: packets of our own are
counted there, or it is said."""

import contextlib
import time

import pytest

import tcx
from nets import Capture, needs_root, wait_for
from test_guard import site  # noqa: F401: a fixture

pytestmark = needs_root
WORDS = {"egress": "up0: what is sent passes our program by", "ingress": "up0: what arrives passes our program by"}
YIELD = ["queues: {on_change: yield}"]


def said(site):  # noqa: F811
    state = site.controller.of("host_state")[-1]
    return state["marks"], state["text"]


def probes(capture):
    return [p for p in capture.read() if p.protocol == 17 and p.dport == 9]


def passes(site, way):  # noqa: F811
    marks, text = said(site)
    return marks == "passed by: ebpf" and WORDS[way] in text


@contextlib.contextmanager
def in_front(site, way):  # noqa: F811
    """Somebody's that ends processing: by tcx, or where there is none by a filter."""
    if tcx.works():
        with tcx.in_front(site.host, "up0", way):
            yield
        return
    add = ("dev", "up0", way, "prio", "4", "protocol", "all", "u32")
    site.host.tc("filter", "add", *add, "match", "u32", "0", "0", "flowid", "1:1")
    yield
    site.host.tc("filter", "del", *add)


@pytest.mark.guest("host", "uml")
@pytest.mark.parametrize("way", tcx.BOTH)
def test_what_passes_our_programs_by_is_said_and_so_is_its_end(site, way):  # noqa: F811
    """Left as it is by who yields; our program stands all the while."""
    site.begin(lines=YIELD)
    with in_front(site, way):
        wait_for("the word", lambda: passes(site, way), 40)
        assert len(site.lines("passes our program by")) == 1, "once"
    wait_for("its end", lambda: said(site)[0] == "ebpf" and WORDS[way] not in said(site)[1], 40)
    assert len(site.lines("come by our programs again")) == 1 and len(site.lines("passes our program by")) == 1


def test_a_probe_is_a_small_packet_now_and_then_that_tells_nobody_anything(site):  # noqa: F811
    out = Capture(site.net.sw, "p1")
    begin = time.monotonic()
    site.begin()
    wait_for("some rounds", lambda: len(probes(out)) >= 5, 40)
    took = time.monotonic() - begin
    assert len(probes(out)) <= took / 2 + 2
    assert {(p.dscp, p.payload, p.dst) for p in probes(out)} == {(0, 8, site.net.hosts[1].address)}
    assert said(site) == ("ebpf", "") and not site.lines("probed") and not site.lines("passes")
    out.close()


def test_nobody_is_probed_where_marks_reach_nothing(site):  # noqa: F811
    site.begin(lines=YIELD)
    with in_front(site, "egress"):
        wait_for("the word", lambda: passes(site, "egress"), 40)
        site.controller.do("stance 1")
        wait_for("no word more", lambda: said(site)[0] == "ebpf", 20)


def test_where_no_neighbour_answers_nothing_is_claimed_of_what_arrives(site):  # noqa: F811
    """It is not probed; what is sent is, all the same."""
    site.net.hosts[1].enter("nft", "add table inet f; add chain inet f in { type filter hook input priority 0; }; add rule inet f in udp dport 9 drop")
    site.begin(lines=YIELD)
    wait_for("the word", lambda: site.lines("our program is not probed with what arrives: no neighbour answers there"), 60)
    assert not site.lines("not probed with what is sent")
    with in_front(site, "ingress"), in_front(site, "egress"):
        wait_for("what is sent", lambda: passes(site, "egress"), 40)
        # That somebody's program is there for what arrives is said beside it, or soon after.
        assert "arrives passes our program by" not in said(site)[1]
