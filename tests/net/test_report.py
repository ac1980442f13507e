"""The figures of a run: a log small enough to compute by hand."""

import os
import re

import pytest

from testbed.demo import demo, latency, page, report, spoilt, transport

S = 1_000_000_000

LOG = """duopoly-log 1
begin 1
step 0
e host_join host=0 generation=1 name=w1 rack= labels= uplink_bps=800 downlink_bps=800 units=1,0,0,0,0,0
e host_join host=1 generation=1 name=w2 rack= labels= uplink_bps=800 downlink_bps=800 units=1,0,0,0,0,0
step {t1}
e job_begin request=1 job=11 name=first%20job content=1 user=0 job_kind=0 priority=0 deadline_ns=0 estimate_bytes=-1 estimate_ns=-1
e job_stage request=2 job=11 stage=0 tasks=1 demand=1,0,0,0,0,0 command=map constraint= parents= edges=
e job_stage request=3 job=11 stage=1 tasks=2 demand=1,0,0,0,0,0 command=reduce constraint= parents=0 edges=0
e job_bytes request=4 job=11 stage=1 parent=0 first=0 matrix=0 bytes=300,100
e job_end request=5 job=11
d start reason=greedy left=0 right=0 attempt=1 job=11 stage=0 task=0 host=0 unit=0 resources=1,0,0,0,0,0 coflow_level=0 macroflow_level=0 queue=0 input_bytes=0
step {t2}
e attempt_done attempt=1 received_bytes=0
d mode reason=first-blocked left=2 right=1 mode=1 sequence=1
d start reason=greedy left=0 right=0 attempt=2 job=11 stage=1 task=0 host=1 unit=0 \
resources=1,0,0,0,0,0 coflow_level=0 macroflow_level=0 queue=0 input_bytes=300
d hold reason=would-stall left=0 right=0 job=11 stage=1 host=4294967295 until_ns=0
step {t4}
e attempt_failed attempt=2 exit_status=1
d start reason=greedy left=0 right=0 attempt=3 job=11 stage=1 task=0 host=1 unit=0 \
resources=1,0,0,0,0,0 coflow_level=0 macroflow_level=0 queue=0 input_bytes=300
d start reason=greedy left=0 right=0 attempt=4 job=11 stage=1 task=1 host=0 unit=0 resources=1,0,0,0,0,0 coflow_level=0 macroflow_level=0 queue=0 input_bytes=0
step {t6}
e attempt_done attempt=3 received_bytes=300
e attempt_done attempt=4 received_bytes=0
d job_done reason=none left=0 right=0 job=11 submitted_ns={t1} finished_ns={t6} slot_wait_ns={t3}
step {t9}
d job_d""".format(**{"t%d" % i: i * S for i in range(10)})


def figures(log=LOG):
    run = report.Run("x")
    run.read(log.splitlines(keepends=True))
    return run


def test_a_run_is_followed():
    found = figures().figures()
    assert found["jct"] == {"first job": 5.0}
    assert (found["mean"], found["median"], found["p95"], found["p99"]) == (5.0, 5.0, 5.0, 5.0)
    assert found["slot_wait"] == pytest.approx(1.0)
    # One slot was free from 2 s to 4 s while the second reduce was ready; from 1 s to 2 s nothing was ready.
    assert found["idle_held"] == pytest.approx(2.0)
    assert found["link_use"] == pytest.approx(600 / (2 * 100 * 5))
    assert (found["mode_switches"], found["holds"], found["unfinished"]) == (1, 1, 0)
    assert found["largest"] == 1.0


def test_what_crosses_racks_is_told_where_there_are_some():
    """The attempts on the other host read 300 bytes each, the one beside the map none over the network."""
    assert figures().figures()["crossed"] is None
    together = LOG.replace("rack=", "rack=a")
    apart = together.replace("name=w2 rack=a", "name=w2 rack=b")
    assert (figures(together).figures()["crossed"], figures(apart).figures()["crossed"]) == (0.0, 1.0)
    third = "e host_join host=2 generation=1 name=w3 rack=a labels= uplink_bps=800 downlink_bps=800 units=1,0,0,0,0,0\nstep {0}\n".format(S)
    mixed = apart.replace("step %d\n" % S, third, 1).replace("task=1 host=0", "task=1 host=2")
    assert figures(mixed).figures()["crossed"] == pytest.approx(600 / 700)


def test_planned_arrivals_count_where_they_are_known():
    run = figures()
    run.plan([{"replay": 1}, {"job": 11, "planned_ns": S // 2}, {"job": 99, "planned_ns": 0}])
    assert run.figures()["mean"] == 5.5


def test_nearest_rank():
    values = list(range(1, 41))
    assert [report.percentile(values, p) for p in (50, 95, 99, 100)] == [20, 38, 40, 40]
    assert report.percentile([], 50) is None


def test_the_median_of_an_even_number_is_between_the_two_in_the_middle():
    assert [report.median(values) for values in ([3.0], [1.0, 4.0], [9.0, 1.0, 2.0], [1.0, 2.0, 8.0, 9.0], [])] == [3.0, 2.5, 2.0, 5.0, None]
    assert "median 1.50 ms" in latency.summary("x", [1_000_000, 2_000_000])
    log = LOG[:-len("d job_d")] + ("e job_begin request=6 job=12 name=b content=1 user=0 job_kind=0 priority=0 deadline_ns=0 estimate_bytes=-1 estimate_ns=-1\n"
                      "e job_end request=7 job=12\nd job_done reason=none left=0 right=0 job=12 submitted_ns=%d finished_ns=%d slot_wait_ns=0\n" % (9 * S,
                                                                                                                                                    10 * S))
    assert figures(log).figures()["median"] == pytest.approx(3.0)


def made(label, **changes):
    jct = changes.pop("jct")
    values = sorted(jct.values())
    base = {"label": label, "jct": jct, "mean": sum(values) / len(values), "p95": values[-1], "p99": values[-1],
            "mode_switches": 5, "holds": 20, "unfinished": 0, "median": values[0], "largest": 0.5, "slot_wait": 0.1,
            "idle_held": 0.0, "link_use": 0.5, "makespan": 1.0, "jobs": len(values)}
    return dict(base, **changes)


def test_the_sentence_is_honest():
    fair = made("fair", jct={"a": 1.0, "b": 9.0})
    better = made("duopoly", jct={"a": 0.5, "b": 8.0})
    tail = made("duopoly", jct={"a": 0.1, "b": 9.5})
    worse = made("duopoly", jct={"a": 4.0, "b": 9.0}, mode_switches=1)
    assert "15 % below that of fair" in report.sentence([fair, better])
    assert "but" not in report.sentence([fair, better])
    assert "but its p95 is 6 % above fair's" in report.sentence([fair, tail])
    said = report.sentence([fair, worse])
    assert "30 % above that of fair" in said and "hardly exercises" in said and "1 of 2 jobs took over 5 % longer" in said
    assert "2 jobs did not finish" in report.sentence([dict(fair, unfinished=2), better])
    assert "that of fair" in report.sentence([fair, dict(better, label="duopoly-paper", mean=1.0), better])
    assert "13 % below that of duopoly," in report.sentence([fair, dict(better, label="joint"), dict(fair, label="duopoly", mean=4.9)])
    assert "that of duopoly-paper" in report.sentence([dict(worse, label="duopoly-paper"), better])
    assert report.sentence([dict(better, mean=None)]) == "duopoly finished no job."


def test_ratios_compare_with_the_first():
    fair, other = made("fair", jct={"a": 1.0, "b": 10.0}), made("aalo", jct={"a": 2.0, "b": 10.0})
    assert report.mean_ratio(other, fair) == 1.5
    lines = report.table([fair, other])
    assert len(lines) == 3 and "1.50" in lines[2] and len({len(line) for line in lines}) == 1


def test_latencies_are_of_slots_that_had_work_waiting():
    measured = [latency.Measurements(line + "\n" for line in lines) for lines in (
        ["begin 1 0 10 20", "end 1 1000", "begin 3 1500 1600 1700", "mode 1 7 5300", "end 3 9000", "echo 900 950", "echo 9100 9300",
         "begin 5 99000 99100 99200"],
        ["begin 2 0 10 30", "end 2 1100", "begin 4 1550 1650 1900", "mode 1 7 5700", "echo 0 40"])]
    refills, modes = latency.read_log([
        "step 1000\n", "e attempt_done attempt=1 received_bytes=0\n", "e attempt_done attempt=2 received_bytes=0\n",
        "d start reason=greedy attempt=3 host=0\n", "d start reason=greedy attempt=4 host=1\n",
        "step 5000\n", "d mode reason=x left=0 right=0 mode=1 sequence=7\n",
        "step 9000\n", "e attempt_done attempt=3 received_bytes=0\n",
        "step 99000\n", "d start reason=greedy attempt=5 host=0\n"])
    assert sorted(latency.slot_latencies(measured, refills)) == [(700, 50 + 100), (800, 40 + 250)]
    assert latency.mode_latencies(measured, modes, 100) == ([400, 800], [800])
    assert "2 samples" in latency.summary("x", [1, 2]) and "no samples" in latency.summary("x", [])


def test_counters_are_read_by_their_names():
    said = "Tcp: OutSegs RetransSegs\nTcp: 100 3\nTcpExt: TCPTimeouts TCPLossProbes TCPDelivered TCPDeliveredCE\nTcpExt: 1 2 90 30\n"
    after = transport.parse(said)
    assert after["Tcp.OutSegs"] == 100 and after["TcpExt.TCPDeliveredCE"] == 30
    assert transport.line(dict(after, **{"Tcp.OutSegs": 40, "TcpExt.TCPTimeouts": 1}), after).startswith(
        "TCP: 60 segments, 0 of them sent again, after 0 time-outs")


def test_this_kernel_says_those_counters():
    found = {}
    for path in transport.FILES:
        with open(path) as file:
            found.update(transport.parse(file.read()))
    assert transport.line(found, found).startswith("TCP: 0 segments")


def ran(label, **changes):
    """Figures as a quiet machine leaves them."""
    jct = changes.pop("jct", {"a": 1.0, "b": 9.0})
    quiet = {"cpu_idle": 41.0, "cpu_stolen": 0.0, "late": 0.03, "slept": 0.0, "silence": ("w4", 0.9), "silent_hosts": [], "attempts_lost": 0,
             "frames_lost": 0, "marks_right": True}
    return {**made(label, jct=jct), **quiet, **changes}


def test_a_quiet_run_counts():
    assert spoilt.reasons(ran("fair")) == [] and spoilt.verdict([ran("fair"), ran("joint")]) is None


@pytest.mark.parametrize("changes, words", [
    ({"cpu_idle": 0.0}, "the processors were 0 % idle, below 20 %"),
    ({"cpu_stolen": 12.0}, "the machine's host gave 12 % of the processors to others"),
    ({"late": 2.34}, "the demo itself was woken 2.3 s too late"),
    ({"slept": 61.0}, "the machine was suspended for 61.0 s"),
    ({"silence": ("w7", 4.0)}, "w7 heard nothing from the controller for 4.0 s"),
    ({"silent_hosts": ["w1", "w2"]}, "the controller heard nothing from w1, w2 for a time"),
    ({"attempts_lost": 3}, "3 attempts failed or were lost"),
    ({"unfinished": 1}, "1 jobs did not finish"),
    ({"frames_lost": 358620}, "358620 frames were lost by the capture, so not all marks were checked"),
])
def test_what_spoils_a_run_is_said(changes, words):
    assert spoilt.reasons(ran("joint", **changes)) == [words]
    said = spoilt.verdict([ran("fair"), ran("joint", **changes)])
    assert said.startswith("This comparison does not count. Under joint %s. Repeat it" % words) and "fair" not in said


def test_a_busy_machine_is_said_of_each_policy():
    """Figures of a demo of nine hosts on two processors at a load of 36, beside those of a quiet one."""
    fair = ran("fair", cpu_idle=0.0, cpu_stolen=0.087, slept=-1.6e-06, silence=["w2", 0.468], frames_lost=23383)
    joint = ran("joint", cpu_idle=0.0, cpu_stolen=0.178, slept=-2.2e-07, silence=["w6", 0.39])
    said = spoilt.verdict([fair, ran("aalo", cpu_idle=51.0), joint])
    assert ("Under fair the processors were 0 % idle, below 20 %; 23383 frames were lost by the capture, so not all marks were checked. "
            "Under joint the processors were 0 % idle, below 20 %. Repeat") in said
    assert "aalo" not in said


def test_figures_of_before_say_what_they_know():
    old = made("fair", jct={"a": 1.0})
    assert spoilt.reasons(dict(old, cpu_idle=50)) == []


def test_silent_hosts_and_lost_attempts_are_read_from_the_log():
    found = figures().figures()
    assert (found["silent_hosts"], found["attempts_lost"]) == ([], 1)
    log = LOG.replace("e attempt_failed", "e host_silent host=1\ne host_lost host=0\ne attempt_lost attempt=9\ne attempt_failed")
    found = figures(log).figures()
    assert (found["silent_hosts"], found["attempts_lost"]) == (["w1", "w2"], 2)


def test_hosts_that_end_after_the_last_job_are_not_silent():
    assert figures(LOG[:-len("d job_d")] + "e host_silent host=1\n").figures()["silent_hosts"] == []


def test_a_host_that_stalls_is_found_by_its_answers():
    measured = {"w1": latency.Measurements(["echo 0 1\n", "echo 200000000 200100000\n"]),
                "w2": latency.Measurements(["echo 0 1\n", "echo 200000000 4200000001\n"]), "w3": latency.Measurements([])}
    assert spoilt.longest_silence(measured, 0, 9 * S) == ("w2", 4.2)
    assert spoilt.longest_silence(measured, 4 * S, 9 * S) == ("w2", pytest.approx(0.2)), "before the replay agents wait for each other"
    assert spoilt.longest_silence({}, 0, S) == ("", 0)


def test_who_sleeps_on_a_machine_that_stands_still_is_woken_late(monkeypatch):
    at, watch = [100.0], spoilt.Watch()
    naps = iter((0.2, 0.25, 2.7, 0.2))
    monkeypatch.setattr(spoilt.time, "monotonic", lambda: at[0])
    monkeypatch.setattr(spoilt.time, "sleep", lambda _: at.__setitem__(0, at[0] + next(naps)))
    for _ in range(4):
        watch.sleep(0.2)
        at[0] += 5  # what is done between two naps is not the machine's
    assert watch.figures()["late"] == pytest.approx(2.5)


def test_where_ours_is_worse_is_said():
    """The mean may be better, and the tail, while the average job takes longer."""
    fair = ran("fair", jct={"small": 1.0, "large": 9.0})
    joint = ran("joint", jct={"small": 1.6, "large": 7.0})
    said = report.sentence([fair, joint])
    assert "14 % below that of fair" in said and "1 of 2 jobs took over 5 % longer than under fair, small 1.60 times as long" in said
    assert "job by job it took 1.19 times as long as under fair on average" in said
    best = ran("aalo", jct={"small": 2.0, "large": 7.0})
    said = report.sentence([fair, best, joint])
    assert "that of aalo, the better" in said and "0 of 2 jobs took over 5 % longer than under aalo" in said
    assert "1.19 times as long as under fair on average" in said, "the table's ratio is above 1"
    assert "on average" not in report.sentence([fair, ran("joint", jct={"small": 0.5, "large": 7.0})])


def test_what_does_not_count_is_said_before_the_comparison(tmp_path, capsys):
    def end(*runs):
        runs = [dict(run, mode_switches=5) for run in runs]
        words = [(run["label"], ["1 packet", "latencies"]) for run in runs]
        status = demo.conclude(page.Story(["2 hosts"], runs, words, None, demo.verdict(runs)), str(tmp_path), talkative=True)
        return status, capsys.readouterr().out.strip().splitlines()
    status, lines = end(ran("fair"), ran("joint", jct={"a": 0.5, "b": 8.0}))
    assert status == 0 and lines[-1].startswith("joint's mean JCT") and "does not count" not in "".join(lines)
    status, lines = end(ran("fair"), ran("joint", cpu_idle=0.0))
    assert status == 0 and lines[-2].startswith("This comparison does not count. Under joint ")
    assert end(ran("fair", cpu_idle=0.0), ran("joint", marks_right=False))[0] == 1
    assert end(ran("fair", cpu_idle=0.0), ran("joint", unfinished=1))[0] == 1


def test_the_terminal_has_the_table_proofs_and_the_verdict_and_the_pages_the_rest(tmp_path, capsys):
    runs = [dict(ran(label), mode_switches=5) for label in ("fair", "joint")]
    words = [(run["label"], ["1 packet checked", "empty <round trip>: 2 samples"]) for run in runs]
    assert demo.conclude(page.Story(["2 hosts", "  40 jobs"], runs, words, "in a guest", demo.verdict(runs)), str(tmp_path)) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["policy", "fair", "joint"] and lines[3] == "in a guest"
    assert lines[5:7] == ["fair: 1 packet checked", "joint: 1 packet checked"]
    assert lines[-2] == demo.verdict(runs)[-1] and len(lines) == 10
    named = re.fullmatch(r"everything else: (\S+results/report\.html) and (\S+results/report\.txt)", lines[-1])
    html, text = (open(os.path.join(demo.TREE, path), encoding="utf-8").read() for path in named.groups())
    assert "empty <round trip>: 2 samples" in text and report.LEGEND in text and "  40 jobs" in text
    assert "empty &lt;round trip&gt;: 2 samples" in html and "<td>joint</td>" in html and "  40 jobs" in html
