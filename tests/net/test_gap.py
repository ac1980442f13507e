"""How far a live run is from the simulator: logs small enough to take apart by hand."""

import re

import pytest

from testbed.demo import gap, latency, ports

HEAD = """duopoly-log 1
begin 1
step 0
e host_join host=0 generation=1 name=w1 rack= labels= uplink_bps=800 downlink_bps=800 units=2,0,0,0,0,0
step {begin}
e job_begin request=1 job=7 name=one%20job content=1
e job_stage request=1 job=7 stage=0 tasks=2 parents= edges=
e job_tasks request=1 job=7 stage=0 first=0 compute_ns=900
e job_tasks request=1 job=7 stage=0 first=1 compute_ns=900
e job_stage request=1 job=7 stage=1 tasks=1 parents=0 edges=0
e job_tasks request=1 job=7 stage=1 first=0 compute_ns=500
e job_end request=1 job=7
"""
# The second map waits, fails and runs again; the reduce waits again, and its transfer has half of
# the link.
LIVE = HEAD.format(begin=1000) + """d start attempt=1 job=7 stage=0 task=0 host=0 input_bytes=0
step 1200
e attempt_received attempt=1 received_bytes=0
step 1500
d start attempt=2 job=7 stage=0 task=1 host=0 input_bytes=0
step 1800
e attempt_failed attempt=2 exit_status=1
step 2000
d start attempt=3 job=7 stage=0 task=1 host=0 input_bytes=0
step 2200
e attempt_done attempt=1 received_bytes=0
step 2500
e attempt_received attempt=3 received_bytes=0
step 3500
e attempt_done attempt=3 received_bytes=0
step 4000
d start attempt=4 job=7 stage=1 task=0 host=0 input_bytes={bytes}
step 6300
e attempt_received attempt=4 received_bytes={bytes}
step 7000
e attempt_done attempt=4 received_bytes={bytes}
d job_done job=7 submitted_ns=1000 finished_ns=7000 slot_wait_ns=0
step 7100
d job_do"""
SIMULATED = HEAD.format(begin=0) + """d start attempt=1 job=7 stage=0 task=0 host=0 input_bytes=0
d start attempt=2 job=7 stage=0 task=1 host=0 input_bytes=0
step 900
e attempt_done attempt=1 received_bytes=0
e attempt_done attempt=2 received_bytes=0
d start attempt=3 job=7 stage=1 task=0 host=0 input_bytes={bytes}
step 1900
e attempt_received attempt=3 received_bytes={bytes}
step 2400
e attempt_done attempt=3 received_bytes={bytes}
d job_done job=7 submitted_ns=0 finished_ns=2400 slot_wait_ns=0
"""
RESULTS = '{"replay": 1}\n{"job": 7, "planned_ns": 500000000}\n'
PORTS = """connect 10.0.0.1 4001 10.0.0.2 7070 4100000000
connect 10.0.0.1 4002 10.0.0.3 7070 4120000000
open 10.0.0.1 4002 10.0.0.3 7070 4250000000
first 10.0.0.1 4002 10.0.0.3 7070 4300000000
close 10.0.0.1 4002 10.0.0.3 7070 63000"""
MS = 10**6


def log_lines(text):
    """The logs above are in ms, as far as steps and computing go; a thousand bytes take a
    second."""
    text = re.sub(r"(step |_ns=)(\d+)", lambda match: match[1] + str(int(match[2]) * MS), text)
    return text.replace("{bytes}", "1000").replace("link_bps=800", "link_bps=8000").splitlines(keepends=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "live").write_text("".join(log_lines(LIVE)))
    (tmp_path / "simulated").write_text("".join(log_lines(SIMULATED)))
    (tmp_path / "results").write_text(RESULTS)
    (tmp_path / "ports").mkdir()
    (tmp_path / "ports" / "7-1-0-4").write_text(PORTS)
    return tmp_path


def test_the_parts_of_a_chain_add_up_to_the_jct():
    live = gap.Side(gap.Log(log_lines(LIVE)), {"4": 4300 * MS}, {"7": 500 * MS})
    simulated = gap.Side(gap.Log(log_lines(SIMULATED)))
    for side, jct, wanted in (
            (live, 6500, {"slot": 1500, "start": 800, "transfer": 2000, "computing": 1400, "accepted": 300, "again": 500}),
            (simulated, 2400, {"slot": 0, "start": 0, "transfer": 1000, "computing": 1400, "accepted": 0, "again": 0})):
        parts = side.parts["one job"]
        assert {part: parts[part] / MS for part in gap.PARTS} == wanted
        assert sum(parts.values()) == jct * MS


def test_the_difference_is_one_line_that_adds_up(folder):
    sides = gap.sides([folder / "live"], ports.read(folder / "ports"), folder / "results", [folder / "simulated"])
    said = gap.sentence(*sides)
    assert said == ("mean JCT 6.50 s, of the simulator on the same input 2.40 s: +4.10 s (+171 %), along what each of 1 jobs waited for "
                    "last waiting for a slot +1.50, start to first byte +0.80, transfer +1.00 (at 50 % of the links' rate, "
                    "simulated 100 %), last byte to accepted +0.30, failed and lost attempts +0.50")


def test_the_means_of_the_parts_are_of_both_sides(folder):
    means = gap.means(*gap.sides([folder / "live"], ports.read(folder / "ports"), folder / "results", [folder / "simulated"]))
    assert means["transfer"] == (2.0, 1.0) and means["slot"] == (1.5, 0)
    assert [round(sum(side), 6) for side in zip(*means.values())] == [6.5, 2.4]


def test_several_simulated_runs_count_as_their_average(folder):
    (folder / "slower").write_text("".join(log_lines(SIMULATED.replace("step 1900", "step 2900").replace("2400", "3400"))))
    live, average = gap.sides([folder / "live"], ports.read(folder / "ports"), folder / "results", [folder / "simulated", folder / "slower"])
    assert {part: average.parts["one job"][part] / MS for part in ("transfer", "computing")} == {"transfer": 1500, "computing": 1400}
    assert gap.sentence(live, average).startswith(
        "mean JCT 6.50 s, of the simulator on the same input 2.90 s (2 runs: 2.40 to 3.40 s, "
        "standard deviation 0.71 s): +3.60 s (+124 %), along")


def test_a_task_computes_as_long_as_its_variant():
    """Where none is said it is as long as the stage's."""
    told = "".join("e job_tasks request=1 job=7 stage=0 first=%d compute_ns=300 variant=1\n" % task for task in (0, 1))
    for variant, computing in (0, 1400), (1, 800), (2, 1400):
        lines = SIMULATED.replace("e job_end", told + "e job_end")
        lines = lines.replace("input_bytes=0\nstep", "input_bytes=0 variant=%d\nstep" % variant)
        parts = gap.Side(gap.Log(log_lines(lines))).parts["one job"]
        assert (parts["computing"] / MS, sum(parts.values()) / MS) == (computing, 2400)


def test_jobs_that_did_not_finish_here_or_there_are_left_out():
    live, nothing = gap.Side(gap.Log(log_lines(LIVE))), gap.Side(gap.Log(log_lines(LIVE)[:20]))
    assert gap.means(live, nothing) is None
    assert gap.sentence(live, nothing) == "the simulator and this run finished no job in common"


def test_connections_speak_for_themselves(folder):
    said = ports.read(folder / "ports")
    assert [line.what for line in said["4"]] == ["connect", "connect", "open", "first"]  # the last was cut off
    measured = latency.Measurements(["begin 4 0 0 %d\n" % (4090 * MS)])
    assert latency.connection_latencies([measured], said, 0) == ([10 * MS], [130 * MS], [50 * MS])
    assert ports.read(folder / "none") == {}
