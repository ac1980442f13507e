"""make bench-hdas: which sets of unknown numbers it draws, what workload a set makes, and which
sets it keeps."""

import json
import math
import os
import random
import subprocess
import sys

import pytest

import nets

sys.path.insert(0, os.path.join(nets.TOP, "tests/bench"))
import hdas_bars  # noqa: E402
import hdas_keep  # noqa: E402
import hdas_ours  # noqa: E402
import hdas_page  # noqa: E402
import hdas_runs  # noqa: E402
import hdas_sets  # noqa: E402
import hdas_shuffles  # noqa: E402

RUNNER = os.path.join(nets.BUILD, "bench-hdas")
SET = {"KNN rate": 100, "KNN times": 10, "KNN tasks": 3, "Kmeans rate": 100, "Kmeans times": 20,
       "Kmeans tasks": 3, "Kmeans split": 240, "RS rate": 100, "RS times": 30, "RS tasks": 2,
       "RS seconds": 10, "RS part": .01, "NB rate": 80, "NB times": 5, "NB tasks": 3,
       "BP rate": 10, "BP times": 20, "BP tasks": 1, "spread": 0, "loss": .025, "core": 1}


def sets(n):
    stream = random.Random(3)
    return [hdas_sets.at(hdas_sets.draw(stream)) for _ in range(n)]


# ---- what is drawn ----


def test_the_mixes_are_the_sources():
    assert len(hdas_sets.MIXES) == 25
    for mix, names in (("A", "KNN Kmeans"), ("C", "KNN NB"), ("I", "RS BP"), ("L", "KNN Kmeans NB"),
                       ("P", "KNN NB BP"), ("T", "RS NB BP"), ("Y", "Kmeans RS NB BP")):
        assert hdas_sets.MIXES[mix] == tuple(names.split())


def test_sets_stay_in_their_ranges_and_what_is_known_holds_in_all():
    for values in sets(200):
        for name, known in hdas_sets.UNKNOWN.items():
            assert known.least <= values[name] <= known.most
        of = {name: hdas_sets.application(values, name) for name in hdas_sets.NAMES}
        for name, part in (("KNN", .828), ("Kmeans", .24), ("NB", .539)):
            assert of[name].read_s / hdas_sets.lone_gpu_s(of[name]) == pytest.approx(part)
        assert of["KNN"].split_bytes == of["NB"].split_bytes == 10**9
        assert of["BP"].split_bytes == 4_000_000 and of["BP"].gpu_s == 23.6
        assert of["RS"].read_s / hdas_sets.lone_gpu_s(of["RS"]) <= .05
        for one in of.values():  # a CPU task reads in a part of its time, however short
            assert one.read_s < one.cpu_s * (1 - .3)


def test_all_of_the_ranges_is_drawn():
    for name, known in hdas_sets.UNKNOWN.items():
        values = sorted(one[name] for one in sets(400))
        middle = math.sqrt(known.least * known.most) if known.log else known.most / 2
        assert values[100] < middle < values[300]


# ---- what a set makes ----


def text_of(values, mix, gpus=True):
    return hdas_sets.workload(mix, lambda name: hdas_sets.job(values, name, gpus))


def test_the_workload_that_a_set_makes():
    head = ('{"duopoly_workload": 1, "hosts": 6, "slots": 6, "description": '
            '"tests/bench/hdas_sets.py, mix I"}\n{"id": 6, "name": "gate", "stages": [{"tasks": 6, '
            '"demand": {"slots": 6, "gpu_milli": 4000}, "compute_ms": 1}]}\n')
    rs_cpu = ('"demand": {"slots": 1}, "profile": {"read_bytes": 10000000, "read_bytes_s": '
              '100000000}, "compute_ms": 300000')
    bp_cpu = ('"demand": {"slots": 1}, "profile": {"read_bytes": 4000000, "read_bytes_s": '
              '10000000}, "compute_ms": 480000')
    assert text_of(SET, "I") == head + (
        '{"id": 3, "name": "RS", "arrival_ms": 0.5, "stages": [{"tasks": 2, "demand": '
        '{"slots": 1, "gpu_milli": 1000}, "profile": {"read_bytes": 10000000, "read_bytes_s": '
        '100000000, "reads": "before"}, '
        '"compute_ms": 9900, "variants": [{' + rs_cpu + '}]}]}\n'
        '{"id": 5, "name": "BP", "arrival_ms": 0.5, "stages": [{"tasks": 1, "demand": '
        '{"slots": 1, "gpu_milli": 1000}, "profile": {"read_bytes": 4000000, "read_bytes_s": '
        '10000000, "reads": "before"}, '
        '"compute_ms": 23600, "variants": [{' + bp_cpu + '}]}]}\n')
    assert text_of(SET, "I", gpus=False) == head + (
        '{"id": 3, "name": "RS", "arrival_ms": 0.5, "stages": [{"tasks": 2, ' + rs_cpu + '}]}\n'
        '{"id": 5, "name": "BP", "arrival_ms": 0.5, "stages": [{"tasks": 1, ' + bp_cpu + '}]}\n')
    alone = json.loads(hdas_sets.job({**SET, "core": .4}, "KNN"))["stages"][0]
    assert alone["demand"] == {"gpu_milli": 1000}


def test_the_hosts_that_a_set_makes():
    assert hdas_sets.cluster(SET) == (
        "classes:\n  - hosts: 6\n    units: [{slots: 6, devices: [gpu0, gpu1, gpu2, gpu3]}]\n"
        "    disk: 128 MB\n    disk_loss: 2.5 %\n")


def test_tasks_differ_by_the_spread_and_not_in_their_mean():
    stage = json.loads(hdas_sets.job({**SET, "spread": .2, "KNN tasks": 40}, "KNN"))["stages"][0]
    mean_ms = 1000 * hdas_sets.application(SET, "KNN").gpu_s
    assert sum(stage["compute_ms"]) / 40 == pytest.approx(mean_ms, rel=1e-3)
    assert .7 * mean_ms < min(stage["compute_ms"]) < .9 * mean_ms
    assert 1.1 * mean_ms < max(stage["compute_ms"]) < 1.3 * mean_ms
    ratio = stage["variants"][0]["compute_ms"][7] / stage["compute_ms"][7]
    assert ratio == pytest.approx(stage["variants"][0]["compute_ms"][8] / stage["compute_ms"][8],
                                  rel=1e-3)


def test_an_unknown_is_halved_and_doubled():
    assert hdas_sets.changed(SET, "KNN times", 2)["KNN times"] == 20
    assert hdas_sets.changed(SET, "KNN rate", 2)["KNN rate"] == 128  # no disk reads faster
    assert hdas_sets.changed(SET, "core", .5)["core"] == 0
    assert hdas_sets.changed(SET, "core", 2)["core"] == 1


# ---- which sets are kept ----

MET = {"P-KNN": 4.8, "P-NB": 2.7, "C": 2.0, "I": 25, "mean": 14.3}


def test_a_set_is_kept_if_all_baselines_are_as_printed():
    tried = hdas_keep.judge((), MET.get)
    assert tried.distance == 0 and not tried.missed and tried.measured == MET
    for key, low, high in (("P-KNN", 3.3, 6.3), ("P-NB", 1.8, 3.6), ("mean", 12.1, 16.5)):
        for value in (low, high):
            tried = hdas_keep.judge((), {**MET, key: value}.get)
            assert tried.distance > 0 and tried.missed == (key,)
    assert hdas_keep.judge((), {**MET, "C": 2.9}.get).missed == ("C",)
    assert hdas_keep.judge((), {**MET, "I": 20.9}.get).missed == ("I",)


def test_what_misses_is_not_looked_at_further():
    asked = []

    def measure(key):
        asked.append(key)
        return {**MET, "P-KNN": 9.6, "P-NB": None}[key]

    tried = hdas_keep.judge((), measure)
    assert asked == ["P-KNN", "P-NB"] and tried.missed == ("P-KNN", "P-NB")
    off = math.log(9.6 / 6.24)
    assert tried.distance == pytest.approx(3 + 1 + off / (1 + off))
    nearer = hdas_keep.judge((), {**MET, "C": 28}.get)
    assert 2 < nearer.distance < 3  # it came further


def test_one_condition_is_loosened_alone():
    loose = hdas_keep.loosened(hdas_keep.CONDITIONS, "C", 1.5)
    assert hdas_keep.judge((), {**MET, "C": 4.1}.get, loose).distance == 0
    assert hdas_keep.judge((), {**MET, "I": 20.9}.get, loose).missed == ("I",)


def narrow(points, walked):
    """Sets of which one in some thousand is kept."""
    def measure(point):
        return {**MET, "P-KNN": 4.8 * 8 ** (point[0] - .1), "C": 2.8 * 20 ** (point[1] - .1),
                "mean": 14.3 * 4 ** (point[2] - .9)}

    return [hdas_keep.judge(point, measure(point).get, walked=walked) for point in points]


def search_of(seed):
    search = hdas_keep.Search(random.Random(seed), narrow)
    search.plain(200)
    drawn = list(search.kept)
    search.walk(30, 3000)
    return search, drawn


def test_where_a_plain_draw_keeps_too_few_it_walks_from_the_nearest():
    search, drawn = search_of(1)
    assert len(drawn) < 30 <= len(search.kept) and search.n_tried < 3000
    assert all(one.walked for one in search.kept[len(drawn):])
    for one in search.kept:
        assert not narrow([one.point], False)[0].distance
        assert all(0 <= place <= 1 for place in one.point)
    again, _ = search_of(1)
    assert [one.point for one in again.kept] == [one.point for one in search.kept]
    assert search_of(2)[0].kept[0].point != search.kept[0].point


def test_a_search_in_vain_ends_and_says_at_what():
    def never(points, walked):
        return [hdas_keep.judge(point, {**MET, "I": 10}.get, walked=walked) for point in points]

    search = hdas_keep.Search(random.Random(1), never)
    search.plain(40)
    search.walk(30, 100)
    assert search.n_tried == 100 and not search.kept and search.stuck_at() == "I"
    assert search.came["C"] == search.met["C"] == 100
    assert search.came["I"] == 100 and not search.met["I"] and not search.came["mean"]


def test_the_typical_set_is_the_nearest_to_the_printed_baselines():
    near, far = (hdas_keep.judge((), {**MET, "P-NB": value}.get) for value in (2.6, 2.0))
    assert hdas_keep.typical([far, near]) is near


# ---- what is made of the answers ----


def test_bands_and_percentiles():
    assert hdas_bars.percentile([4, 1, 2, 3, 5], .05) == pytest.approx(1.2)
    assert hdas_bars.band([None, 2, 1, 3]) == pytest.approx((1.1, 2, 2.9))
    assert hdas_bars.band([None]) is None


def answer_of(**more):
    def way(gpu, tasks, delay):
        return {"gpu": gpu, "tasks": tasks, "took_s": 10 * delay, "delay": delay,
                "predicted": tasks, "off": tasks / 4}

    return {"ways": [[way(True, 6, 6)], [way(True, 2, 6), way(False, 6, 6)], [way(True, 0, 0)],
                     [way(True, 2, 2)]], **more}


def test_delays_and_parts_of_an_answer():
    answer = answer_of(gpus=[[.1, 1, .5, 0]], disks=[[1, .1, 1, 0]],
                       together_s=[[0] * 4, [0, 9, 0, 0], [0, 0, 4, 3], [0, 0, 3, 8]])
    assert hdas_runs.mean_delay(answer) == pytest.approx(1.4)
    assert hdas_runs.gpu_delay(answer, "P", "KNN") == 3
    assert hdas_runs.gpu_delay(answer, "P", "NB") is None
    assert hdas_runs.cpu_part(answer, "P", "KNN") == .75
    assert hdas_runs.lopsided(answer) == .5
    assert hdas_runs.together(answer, "P", "NB", "BP") == .75


class Told:
    """A trial whose run times follow from the policy alone."""

    values = SET
    S = {"cpu": 143.0, "fifo": 10.0, "drf": 11.0, "model": 8.0, "affinity": 6.0}

    def run(self, mix, policy, options=(), bins=0):
        slow = 2 if options else 1
        return {"run_s": self.S[policy] * slow, **answer_of(), "gpus": [[.5]], "disks": [[.5]],
                "together_s": [[1] * 4] * 4, "ways": [answer_of()["ways"][1]] * 5}


def test_bars_are_met_or_missed_by_what_was_found():
    bars = hdas_bars.of_source([hdas_bars.Outcome(Told())])
    of = {row.what: row for row in bars.rows}
    assert of["fig 8: affinity against FIFO, mean, %"].value.startswith("40.0 ")
    assert of["fig 8: affinity against FIFO, mean, %"].met is False  # 33.6 is not in [40, 40]
    assert of["fig 8: affinity's mean run time ÷ model's, median"].met
    assert of["affinity's predictions, mean |took ÷ predicted − 1|, %"].value == "25 [25, 25]"
    assert of["figs 6, 8: of the other 18 mixes affinity is faster in"].met
    unlike = of["figs 6, 8: mixes A, B, C, D, F, I, L where they differ"]
    assert unlike.met is False and "C -25.0 %" in unlike.value
    page = hdas_page.page(["kept: 1"], bars, bars.outcomes[0], [("Ours", bars.rows)])
    assert page.count("<svg") == page.count("</svg>") == 7
    assert page.count('<span class="missed">') == 2 * sum(row.met is False for row in bars.rows)


def test_other_readings_are_asked_for_and_stand_in_rows():
    found = hdas_ours.of_readings(Told())
    assert found["(3) parts, (6) rate"][:2] == pytest.approx((-20, -50))
    wrong = found["profiles wrong by σ = .3"]  # the model is told the same wrong profiles
    assert wrong[:2] == pytest.approx((-20, 25))
    rows = hdas_ours.rows_of_readings([found])
    assert [row.met for row in rows] == [True, True, None] + 3 * [False, False, None] + [
        False, True, None]


def test_each_unknown_has_a_row_and_is_missed_where_a_gain_is_lost():
    asked = []

    class Closed(Told):
        def __init__(self, values):
            asked.append(values["KNN times"])

        def close(self):
            asked.append("closed")

    found = {"KNN times": hdas_ours.of_unknown(Closed, SET, "KNN times"),
             "loss": {.5: (1, -2, 1), 2: (3, 4, 1)}}
    assert asked == [5, "closed", 20, "closed"]
    assert [(row.value, row.met) for row in hdas_ours.rows_of_unknowns(found)] == [
        ("× ½: 40.0, 25.0; × 2: 40.0, 25.0", True), ("× ½: 1.0, -2.0; × 2: 3.0, 4.0", False)]


# ---- shuffles ----


def test_what_is_shuffled_is_drawn_in_its_ranges_and_apart_from_the_sets():
    drawn = [hdas_shuffles.draw(1, place) for place in range(50)]
    for of_set in drawn:
        for one in of_set.values():
            for what, known in hdas_shuffles.DRAWN.items():
                assert known.least <= one[what] <= known.most
    assert drawn[0] == hdas_shuffles.draw(1, 0) != hdas_shuffles.draw(2, 0) != drawn[1]
    parts = sorted(of_set["NB"]["part"] for of_set in drawn)
    assert parts[10] < .32 < parts[40]


def test_the_stage_that_reads_what_an_application_made():
    shuffles = {"RS": {"part": .5, "reduces": 7.6, "rate": 2}}
    line = json.loads(hdas_shuffles.job(SET, "RS", shuffles))
    assert line["stages"][:1] == json.loads(hdas_sets.job(SET, "RS"))["stages"]
    assert line["stages"][1:] == [{  # half of 2 · 10 MB
        "tasks": 8, "demand": {"slots": 1}, "profile": {}, "compute_ms": 625,
        "parents": [{"stage": 0, "edge": "barrier", "sums": [1_250_000] * 8}]}]


class Shuffled:
    """A trial whose mean times follow from the options alone."""

    def __init__(self, jct_s):
        self.jct_s, self.closed = jct_s, False

    def run(self, mix, policy, options=(), bins=0):
        said = [value for word, value in options if word == "parameter"]
        network = "none" if not options else dict(options)["network"]
        name = said[0].partition("=")[2] if said else policy
        name = "free" if hdas_shuffles.FREE in options else name
        return {"jct_s": [0] + [self.jct_s[network, name]] * len(hdas_sets.MIXES[mix])}

    def close(self):
        self.closed = True


def test_bars_of_shuffles_are_met_or_missed_against_each_other():
    of = Shuffled({("cans", "affinity"): 100, ("cans", "added"): 94, ("cans", "behind"): 96,
                   ("none", "duopoly"): 95, ("rank", "affinity"): 80, ("rank", "added"): 100,
                   ("rank", "behind"): 60, ("none", "joint"): 50,
                   ("rank", "free"): 72})
    fast = Shuffled({("rank", "affinity"): 50, ("rank", "behind"): 49, ("rank", "free"): 40})
    bare = Shuffled({("rank", "affinity"): 64})
    trials, disks = [of, bare, fast], []

    def make_trial(values, job):
        disks.append(hdas_sets.cluster(values).partition("disk: ")[2].partition("\n")[0])
        return trials.pop(0)

    found = hdas_shuffles.of_set(make_trial, SET, None)
    assert disks == ["128 MB", "128 MB", "12800 MB"]
    assert of.closed and bare.closed and fast.closed and found["without"] == 64
    rows = hdas_shuffles.rows([found])
    assert [(row.value.partition(" ")[0], row.met) for row in rows] == [
        ("25.0", None), ("10.0", None), ("20.0", None), ("2.0", None),
        ("-5.3", None), ("6.0", True), ("1.1", True), ("4.0", False), ("-1.1", False),
        ("-60.0", None), ("-25.0", False), ("-100.0", False), ("25.0", True), ("-20.0", False)]
    assert hdas_page.page(["kept: 1"], None, None, [("Ours", rows)]).count("missed\">") == 5


# ---- the runs themselves ----


def ask(folder, *words):
    (folder / "c.yaml").write_text(
        "classes:\n  - hosts: 1\n    units: [{slots: 1, devices: [gpu0]}]\n    disk: 100 MB\n")
    profile = {"read_bytes": 100_000_000, "read_bytes_s": 100_000_000, "reads": "before"}
    cpu = {"demand": {"slots": 1}, "compute_ms": 4000, "profile": {}}
    stage = {"tasks": 2, "demand": {"gpu_milli": 1000}, "compute_ms": 1000, "profile": profile,
             "variants": [cpu]}
    (folder / "w.jsonl").write_text('{"duopoly_workload": 1, "hosts": 1}\n' + json.dumps(
        {"id": 4, "stages": [stage]}) + "\n")
    line = ["cluster=%s/c.yaml" % folder, "workload=%s/w.jsonl" % folder, *words]
    done = subprocess.run([RUNNER], input="\t".join(line) + "\n", capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def test_a_run_tells_what_tasks_took_and_who_was_busy_when(tmp_path):
    """One task reads for a second on the GPU and computes for another, one is in the slot."""
    assert ask(tmp_path, "policy=fifo", "bins=4") == {
        "run_s": 4, "jct_s": [4],
        "gpus": [[0, 1, 0, 0]], "disks": [[1, 0, 0, 0]], "together_s": [[2]], "ways": [[
            {"gpu": True, "tasks": 1, "took_s": 2, "delay": 1, "predicted": 0, "off": 0},
            {"gpu": False, "tasks": 1, "took_s": 4, "delay": 1, "predicted": 0, "off": 0}]]}


def test_what_affinity_predicts_is_compared(tmp_path):
    """With profiles that are wrong, that is off."""
    right = ask(tmp_path, "policy=affinity")
    assert "gpus" not in right and [(w["predicted"], w["off"]) for w in right["ways"][0]] == [
        (1, 0), (1, 0)]
    wrong = ask(tmp_path, "policy=affinity", "profile-error=.3")
    assert all(way["off"] > 0 for way in wrong["ways"][0])
    assert [way["took_s"] for way in wrong["ways"][0]] == [2, 4]


def test_a_shuffle_counts_in_the_times_of_jobs(tmp_path):
    values = {**SET, "KNN tasks": 12, "RS tasks": 12}
    shuffles = {name: {"part": 1, "reduces": 12, "rate": 1} for name in hdas_sets.NAMES}
    (tmp_path / "c.yaml").write_text(hdas_sets.cluster(values))
    (tmp_path / "w.jsonl").write_text(hdas_sets.workload(
        "B", lambda name: hdas_shuffles.job(values, name, shuffles)))
    head = ["cluster=%s/c.yaml" % tmp_path, "workload=%s/w.jsonl" % tmp_path]
    lines = ["\t".join([*head, "policy=" + policy, *("=".join(pair) for pair in options)])
             for network in hdas_shuffles.NETWORKS
             for policy, options in hdas_shuffles.runs_of(network).values()]
    done = subprocess.run([RUNNER], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 8
    for answer in answers:
        ways = [sum(way["tasks"] for way in ways) for ways in answer["ways"]]
        assert ways == [6, 12, 12]  # of the first stages
        assert 1000 < answer["jct_s"][1] <= answer["run_s"]  # a gigabyte is computed in 1 000 s


@pytest.mark.parametrize("word, said", [
    ("policy=best", "there is no policy 'best'"), ("bins=9999", "bins takes a number from 0 to"),
    ("parameter=stretch=long", "stretch"), ("fast", "'fast' is not OPTION=VALUE")])
def test_a_run_that_cannot_be_is_one_sentence(tmp_path, word, said):
    assert said in ask(tmp_path, word)["error"]
