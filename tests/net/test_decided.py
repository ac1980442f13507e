"""A run's decisions on exact links: a log small enough to compute by hand. Two senders, one
receiver; 1 000 bytes a second, where nothing else is said."""

import pytest

from testbed.demo import decided

S = 10**9
BEGIN = """duopoly-log 1
step 0
e host_join host=0 generation=1 name=w1 rack= labels= uplink_bps=8000 downlink_bps=8000 units=4,0,0,0,0,0
e host_join host=1 generation=1 name=w2 rack= labels= uplink_bps=8000 downlink_bps=8000 units=4,0,0,0,0,0
e host_join host=2 generation=1 name=w3 rack= labels= uplink_bps=8000 downlink_bps=8000 units=4,0,0,0,0,0
e job_begin request=1 job=7 name=one content=1 user=0 job_kind=0 priority=0 deadline_ns=0 estimate_bytes=-1 estimate_ns=-1
e job_stage request=2 job=7 stage=0 tasks=2 demand=1,0,0,0,0,0 command=map constraint= parents= edges=
e job_stage request=3 job=7 stage=1 tasks=2 demand=1,0,0,0,0,0 command=reduce constraint= parents=0 edges={edge}
e job_bytes request=4 job=7 stage=1 parent=0 first=0 matrix=0 bytes=2000,1000
d start reason=x left=0 right=0 attempt=1 job=7 stage=0 task=0 host=0 unit=0 resources=1 coflow_level=0 macroflow_level=0 queue=0 input_bytes=0
d start reason=x left=0 right=0 attempt=2 job=7 stage=0 task=1 host=1 unit=0 resources=1 coflow_level=0 macroflow_level=0 queue=0 input_bytes={input}
step 1000000000
e attempt_received attempt=2 received_bytes=0
d start reason=x left=0 right=0 attempt=3 job=7 stage=1 task=0 host=2 unit=0 resources=1 coflow_level=1 macroflow_level=0 queue=0 input_bytes=2000
d start reason=x left=0 right=0 attempt=4 job=7 stage=1 task=1 host=2 unit=0 resources=1 coflow_level={level} macroflow_level=1 queue=0 input_bytes=1000
"""
ENDS = """step 4500000000
e attempt_received attempt=3 received_bytes=2000
e attempt_received attempt=4 received_bytes=1000
"""


def ends(text, sources=lambda attempt: None):
    run = decided.Run((text + ENDS).splitlines(keepends=True), sources)
    decided.flow(run, 1)
    return run, {attempt: moved.fluid_ns / S for attempt, moved in run.transfers.items()}


def log(level=1, edge=0, input_bytes=0):
    return BEGIN.format(level=level, edge=edge, input=input_bytes)


def test_transfers_of_one_level_share_their_link():
    run, found = ends(log())
    assert found == pytest.approx({"3": 4, "4": 3})  # four flows of 250 bytes a second, then two of 500
    assert decided.stages(run) == [pytest.approx((3.5, 3))]


def test_the_more_urgent_level_goes_first():
    assert ends(log(level=0))[1] == pytest.approx({"3": 4, "4": 2})


def test_a_promotion_counts_from_its_moment():
    text = log(level=0) + "step 1500000000\nd level reason=x left=0 right=0 attempt=3 host=2 coflow_level=0 macroflow_level=0\n"
    assert ends(text)[1] == pytest.approx({"3": 4, "4": 2.5})


def test_the_mode_says_which_level_is_in_force():
    text = log(level=0) + "step 1500000000\nd mode reason=x left=0 right=0 mode=1 sequence=1\n"
    assert ends(text)[1] == pytest.approx({"3": 3.5, "4": 4})


def test_a_map_away_from_its_block_receives_it_too():
    run, found = ends(log(input_bytes=500), {"2": "w1"}.get)
    assert found["2"] == pytest.approx(0.5) and len(decided.stages(run)) == 2


def test_each_host_has_its_own_rate():
    """The receiver's link carries 500 bytes a second: four flows of 125, then two of 250."""
    text = log().replace("name=w3 rack= labels= uplink_bps=8000 downlink_bps=8000",
                         "name=w3 rack= labels= uplink_bps=8000 downlink_bps=4000")
    assert ends(text)[1] == pytest.approx({"3": 7, "4": 5})


def test_how_much_longer_it_took_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "log"
    path.write_text(log() + ENDS)
    assert decided.sentence([path], {}, {}, 1) == (
        "under the same decisions the transfers of 1 stages took 3.5 s here, 3.0 s on exact links: +16.7 %")
    path.write_text(log(edge=1) + ENDS)
    assert "not compared, since" in decided.sentence([path], {}, {}, 1)


def test_edges_without_a_barrier_are_refused():
    with pytest.raises(ValueError, match="job 7"):
        ends(log(edge=1))
