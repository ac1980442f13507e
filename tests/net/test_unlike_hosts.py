"""Hosts that differ: the commands of their page as they stand there, what bad cluster files are told, and
units and constraints on a real daemon, whose agents are played by the test."""

import json
import os
import re
import subprocess

import pytest
from controller import pb, workload
from test_controller import next_start, one_job
from testbed.demo import uses
from testbed.net import star, system, unlike
from testbed.workloads import mixed

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PAGE, EXAMPLE = "docs/operate/unlike-hosts.md", "testbed/clusters/mixed.yaml"


def run(*words, cwd=None):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


def test_the_commands_of_the_page_run(tmp_path):
    (tmp_path / "build").symlink_to(BUILD)
    (tmp_path / "testbed").symlink_to(os.path.abspath("testbed"))
    with open(PAGE, encoding="utf-8") as page:
        commands = re.findall(r"^build/.*$", page.read(), re.M)
    said = [run(*command.split(), cwd=tmp_path) for command in commands]
    assert [done.returncode for done in said] == [0] * 5, said
    hosts = [line.split() for line in said[0].stdout.splitlines()[1:]]
    assert [host[0] for host in hosts] == ["g1", "g2", "g3", "p1", "p2", "p3", "s1", "s2", "s3"]
    assert "gpu1: 2 slots 1000 gpu_milli 8000000000 gpu_mem_bytes (gpu1)" in said[0].stdout
    assert hosts[6][1:4] == ["r3", "spot", "50"]
    assert re.search(r"9 hosts of \S+mixed.yaml with 42 slots", said[2].stdout)
    for policy in "drf", "joint":
        shares = re.search(r"^policy .* devices .*\n(?:.*\n)*?%s +(.*)" % policy, said[4].stdout, re.M)[1].split()
        assert 0 < float(shares[-2]) < 1, said[4].stdout


def replays(daemon):
    """Ends the daemon; its log decides the same again."""
    log = daemon.folder / "log" / "duopoly.log"
    return daemon.stop() == 0 and run(BUILD + "/duopoly-sim", "replay", "--quiet", log).returncode == 0


@pytest.mark.parametrize("change,words", [
    (("hosts: 3", "hosts: -1"), ":5:12: "), (("names: [s1, s2, s3]", "names: [s1, g1]"), ":16:5: two hosts are called g1: one of this class and one of class 1"),
    (("rack: r1", "rakc: r1"), ":6:5: "), (("name: gpu1", "name: gpu0"), ": two units are called gpu0"), (("slots: 2}]", "slots: two}]"), ":19:21: "),
    (("devices: [gpu1]", "devices: [gpu0]"), ":11:9: the device gpu0 is in two units"),
    (("devices: [gpu1]", "devices: [gpu1, gpu1]"), ":11:48: the device gpu1 is in this unit twice"),
    (("devices: [gpu1]", "gpu_milli: 1001, devices: [gpu1]"), ":11:9: gpu_milli is 1001: it is per mille of one device, 1000 at most"),
    (("devices: [gpu1]", "devices: [gpu1, gpu2]"), ":11:9: a unit of 2 devices hands each out whole")])
def test_bad_cluster_files_are_refused(tmp_path, change, words):
    """One sentence with the place, exit status 2, and nothing is simulated."""
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    assert change[0] in text
    bad, jobs = tmp_path / "bad.yaml", tmp_path / "jobs.jsonl"
    bad.write_text(text.replace(*change, 1))
    jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1}]}\n')
    for command in (["cluster", bad], ["run", "--workload", jobs, "--cluster", bad]):
        done = run(BUILD + "/duopoly-sim", *command)
        assert done.returncode == 2 and not done.stdout and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
        assert str(bad) in done.stderr


@pytest.mark.parametrize("gpu_milli,taken", [(500, False), (1500, False), (1000, True), (2000, True), (3000, False)])
def test_whole_devices_are_not_split(tmp_path, gpu_milli, taken):
    jobs, hosts = tmp_path / "jobs.jsonl", tmp_path / "hosts.yaml"
    hosts.write_text("classes: [{hosts: 1, units: [{slots: 4, devices: [d0, d1]}]}]\n")
    jobs.write_text('{"duopoly_workload": 1, "hosts": 1}\n{"id": 1, "stages": [{"tasks": 2, "demand": {"slots": 1, "gpu_milli": %d}}]}\n' % gpu_milli)
    done = run(BUILD + "/duopoly-sim", "run", "--workload", jobs, "--cluster", hosts)
    assert done.returncode == (0 if taken else 2), done.stderr
    if not taken:
        assert f"{jobs}:2: stage 0 of job 1 can never run: no host has so much in one unit" in done.stderr
        assert ("for 1000 gpu_milli each" in done.stderr) == (gpu_milli % 1000 > 0)


def test_what_no_host_of_the_file_meets_is_refused(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    for constraint, words in (("gpu & rack=r9", "no host that meets 'gpu' meets 'rack=r9'"), ("gpu & (spot", "column 7: this bracket is not closed")):
        jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1, "constraint": "%s"}]}\n' % constraint)
        done = run(BUILD + "/duopoly-sim", "run", "--workload", jobs, "--cluster", EXAMPLE)
        assert done.returncode == 2 and f"{jobs}:2: " in done.stderr and words in done.stderr, done.stderr


GPU = '"command": "map-gpu", "demand": {"slots": 1, "gpu_milli": %d}'


@pytest.mark.parametrize("variants,words", [
    ([GPU % 1000, GPU % 900, GPU % 800, GPU % 700], ":3: stages[0].variants must be an array of at most 3 objects"),
    ([GPU % 2000], ":3: stage 0 of job 2 can never run as variant 1: no host has so much in one unit"),
    ([GPU % 500 + ', "constraint": "spot"'], ":3: stage 0 of job 2 can never run as variant 1: no host that meets its constraint has so much in one unit"),
    ([GPU % 500 + ', "constraint": "fast"'], ":3: stage 0 of job 2 can never run as variant 1: no host meets 'fast'"),
    (['"command": "map2"'], ":3: stages[0].variants[0] has the demand and the constraint of the stage, so it would never be chosen")])
def test_bad_variants_are_refused(tmp_path, variants, words):
    """One sentence with file and line, exit status 2, and nothing is simulated."""
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1}]}\n{"id": 2, "stages": [{"tasks": 1, "variants": [%s]}]}\n'
                    % ", ".join("{%s}" % variant for variant in variants))
    for command in ("run", "compare"):
        done = run(BUILD + "/duopoly-sim", command, "--workload", jobs, "--cluster", EXAMPLE)
        assert done.returncode == 2 and not done.stdout and f"{jobs}{words}" in done.stderr, done.stderr


def test_variants_run_where_they_fit(tmp_path):
    """Of six tasks that take 4 s, or 1 s on a GPU, the file's six GPUs take all; a recording of it decides the same again."""
    jobs, log = tmp_path / "jobs.jsonl", tmp_path / "run.log"
    jobs.write_text('{"duopoly_workload": 1, "hosts": 9}\n{"id": 1, "stages": [{"tasks": 6, "demand": {"slots": 1, "gpu_milli": 1000}, "compute_ms": 1000,'
                    ' "variants": [{"demand": {"slots": 1}, "compute_ms": 4000}]}]}\n')
    for policy in ("greedy", "joint", "duopoly"):
        done = run(BUILD + "/duopoly-sim", "run", "--workload", jobs, "--cluster", EXAMPLE, "--place" if policy == "greedy" else "--policy", policy,
                   "--json", "--log", log)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["jobs"] == [{"id": 1, "jct_s": 1}], done.stdout
        assert run(BUILD + "/duopoly-sim", "replay", "--quiet", log).returncode == 0


def test_the_load_of_the_example_is_made_of_the_demo_s():
    with open("testbed/workloads/demo.jsonl") as before, open("testbed/workloads/mixed.jsonl") as after:
        made = after.read()
        assert mixed.make(before.read()) == made
    maps = [json.loads(line)["stages"][0] for line in made.splitlines()[1:]]
    several = [stage for stage in maps if "variants" in stage]
    assert len(maps) == 40 and len(several) == 20
    for stage in several:
        slot, = stage["variants"]
        assert (stage["command"], slot["command"], slot["demand"]) == ("map-gpu", "map", {"slots": 1}) and stage["demand"]["gpu_milli"]
        times = zip(*(one["compute_ms"] if isinstance(one["compute_ms"], list) else [one["compute_ms"]] for one in (stage, slot)))
        assert all(alone == pytest.approx(4 * faster) for faster, alone in times)


def test_the_testbed_takes_what_the_simulator_reads():
    """Each host's agent has its rack, labels, units and devices, the switch's the rates of links."""
    hosts = unlike.read(BUILD, EXAMPLE)
    assert hosts[0].agent_lines(9) == [
        "rack: r1", "labels: [gpu]", "devices:", "  - {name: gpu0, memory: 8000000000 B}", "  - {name: gpu1, memory: 8000000000 B}", "units:",
        "  - {slots: 4}", "  - {name: gpu0, slots: 2, gpu_milli: 1000, gpu_memory: 8000000000 B, devices: [gpu0]}",
        "  - {name: gpu1, slots: 2, gpu_milli: 1000, gpu_memory: 8000000000 B, devices: [gpu1]}"]
    assert hosts[8].agent_lines(9) == ["rack: r3", "labels: [spot]", "units:", "  - {slots: 2}"] and not hosts[8].devices()
    assert hosts[8]._replace(disk_bytes_s=5).agent_lines(9)[2:] == ["disk: 5 B", "units:", "  - {slots: 2}"]
    net = star.Star(None, 9, 10**8, hosts)
    assert net.hosts[:2] == ["g1", "g2"] and [net.rate(name) for name in ("g1", "s3")] == [10**8, 5 * 10**7]
    assert net.switches["s"].agent_link[2] == "rates: [%s]" % ", ".join("{ports: s%d, rate: 50000000 bps}" % n for n in (1, 2, 3))


@pytest.mark.parametrize("name,words", [("c", "no host can be called c"), ("a-very-long-name-of-a-host", "15 letters and digits at most")])
def test_names_that_the_testbed_cannot_have(tmp_path, name, words):
    path = tmp_path / "cluster.yaml"
    path.write_text("classes: [{names: [%s]}]\n" % name)
    with pytest.raises(system.Failure, match=words):
        star.Star(None, 1, 10**8, unlike.read(BUILD, str(path)))


def test_uses_of_devices_are_added_up(tmp_path):
    """Also when one ends as the next begins; a task that was killed says no end and is left out."""
    (tmp_path / "g1").mkdir()
    lines = {1: "took d 8 5 600 100\ngave d 8 5 600 200\n", 2: "took d 8 3 400 150\ngave d 8 3 400 250\n", 3: "took d 8 5 600 200\ngave d 8 5 600 300\n",
             4: "took d 8 8 900 120\n", 5: "took d 8 1 0 290\ngave d 8 1 0 292\ngave d 8"}
    for attempt, text in lines.items():
        (tmp_path / "g1" / ("1-0-%d-%d" % (attempt, attempt))).write_text(text)
    found = uses.read(tmp_path)
    assert len(found["g1", "d"]) == 4 and uses.most(found["g1", "d"]) == (8, 1000, 200) and not uses.over(found)
    assert "1 used by 4 tasks; in use 100 % of the time" in uses.lines(found)[0] and "none was ever over" in uses.lines(found)[0]
    (tmp_path / "g1" / "1-0-6-6").write_text("took d 8 1 1 240\ngave d 8 1 1 245\n")
    assert uses.over(uses.read(tmp_path)) == ["d of g1 had 9 B in use at once, of 8 B", "d of g1 was used by 1001 per mille at once"]
    assert uses.read(tmp_path / "none") == {} and uses.lines({}) == []


def test_units_are_listed_by_their_names(cluster):
    """What each unit has, what is free and what runs there; a host that names none is listed too."""
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2")
    h1.units, h1.unit_names = [pb.Resources(slots=3), pb.Resources(slots=1, gpu_milli=1000)], ["cpu", "gpu0"]
    h1.join()
    h2.join()

    def rows(*words):
        return [(r["host"], r["unit"], r["name"], r["has"], r["free"], r["running"], r["tasks"]) for r in daemon.ctl("units", *words)["units"]]

    assert rows()[:2] == [("h1", 0, "cpu", "slots 3", "slots 3", 0, None), ("h1", 1, "gpu0", "slots 1, gpu_milli 1000", "slots 1, gpu_milli 1000", 0, None)]
    assert rows()[2][:3] == ("h2", 0, None) and len(rows()) == 3
    job = one_job()
    job["stages"][0]["demand"] = {"slots": 1, "gpu_milli": 600}
    daemon.ctl("submit", workload(daemon.folder, [job]))
    assert h1.expect("start").start.unit == 1
    assert rows("h1")[1] == ("h1", 1, "gpu0", "slots 1, gpu_milli 1000", "slots 0, gpu_milli 400", 1, "1/0/0")
    assert len(rows("h2")) == 1 and "there is no host or switch h9" in daemon.ctl("units", "h9", expect=5)
    assert replays(daemon)


def test_what_is_lost_with_a_device_is_no_failure_of_its_task(cluster):
    """The agent says why, and in a new session that the unit has nothing: the task runs elsewhere. What a unit hands out is shown."""
    daemon = cluster.daemon()
    hosts = [cluster.agent(daemon, name) for name in ("h1", "h2")]
    for host in hosts:
        host.units, host.unit_names = [pb.Resources(slots=1), pb.Resources(slots=1, gpu_milli=1000)], ["", "gpu0"]
        host.join()
        host.acknowledged(host.send(numbered=True, host_state=pb.HostState(devices=["", "shared g0"])))
    assert [row["devices"] for row in daemon.ctl("units", "h2")["units"]] == [None, "shared g0"]
    job = one_job()
    job["stages"][0]["demand"] = {"slots": 1, "gpu_milli": 600}
    daemon.ctl("submit", workload(daemon.folder, [job]))
    first, start = next_start(*hosts)
    first.state(start.attempt, "STARTED")
    first.acknowledged(first.state(start.attempt, "LOST", text="device g0 is gone: it left"))
    second, again = next_start(*hosts)
    assert (again.task, again.unit) == (start.task, 1)
    task = next(row for row in daemon.ctl("tasks")["tasks"] if row["stage"] == 0)
    assert not task["failures"] and "device g0 is gone: it left" in task["text"], task
    second.state(again.attempt, "STARTED")
    first.units[1] = pb.Resources()
    first.hello_sequence += 1
    first.sent = first.effected = 0
    running = [pb.AttemptState(attempt=again.attempt, phase=pb.PHASE_STARTED, unit=1, job=again.job, stage=again.stage, task=again.task,
                               resources=again.resources)] if first is second else []
    first.join(running)
    has = {row["host"]: row["has"] for row in daemon.ctl("units")["units"] if row["unit"] == 1}
    assert has[first.name] == "" and len(has) == 2, has


def test_constraints_are_expressions(cluster):
    """What no host meets is refused with the term that fails, what is no constraint with its column; a host's rack and name are met."""
    daemon = cluster.daemon()
    hosts = [cluster.agent(daemon, name) for name in ("h1", "h2")]
    for host in hosts:
        host.join()

    def asked(constraint, expect=1):
        job = one_job()
        job["stages"][0]["constraint"] = constraint
        return daemon.ctl("submit", workload(daemon.folder, [job]), expect=expect)

    assert "none that meets 'host=h2' meets 'gpu'" in asked("host=h2 & gpu")
    assert "none has label 'gpu'" in asked("gpu")
    assert "column 10: this bracket is not closed" in asked("host=h2 |(gpu")
    asked("host=h2 & !gpu", expect=0)
    assert hosts[1].expect("start").start.attempt and not hosts[0].running


def test_a_task_runs_in_one_of_its_ways(cluster):
    """START, the lists, explain and an inventory name it; a failed attempt comes back as another."""
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1", slots=1), cluster.agent(daemon, "h2")
    h2.units = [pb.Resources(slots=1, gpu_milli=1000)]
    h1.join()
    h2.join()
    job = {"id": 1, "name": "ways", "stages": [{
        "tasks": 2, "command": "map-gpu", "demand": {"slots": 1, "gpu_milli": 1000}, "compute_ms": 2,
        "variants": [{"command": "map", "demand": {"slots": 1}, "compute_ms": 8}]}]}
    number = daemon.ctl("submit", workload(daemon.folder, [job]))["jobs"][0]["job"]
    gpu, plain = h2.expect("start").start, h1.expect("start").start
    assert [(s.variant, s.command, s.compute_ns) for s in (gpu, plain)] == [(0, "map-gpu", 2_000_000), (1, "map", 8_000_000)]
    assert (gpu.resources.gpu_milli, plain.resources.gpu_milli) == (1000, 0)
    rows = {row["task"]: (row["host"], row["variant"]) for row in daemon.ctl("tasks", number)["tasks"]}
    assert rows == {gpu.task: ("h2", 0), plain.task: ("h1", 1)}
    assert "It runs as variant 1 of 2 (map)." in daemon.ctl("explain", f"{number}/0/{plain.task}")["text"]
    assert daemon.ctl("job", number)["text"] == "stage 0 runs 1 as map-gpu, 1 as map"
    for phase in ("STARTED", "COMPUTING", "DONE"):
        h1.state(plain.attempt, phase)
    h1.acknowledged(h1.sent)
    h2.state(gpu.attempt, "FAILED", exit_status=1, text="no GPU answers")
    again = h1.expect("start").start
    assert (again.task, again.variant, again.command) == (gpu.task, 1, "map"), "where it failed it is not tried again"
    failed = next(row for row in daemon.ctl("tasks", number)["tasks"] if row["task"] == gpu.task)
    assert "('map-gpu') on h2" in failed["text"] and (failed["host"], failed["variant"]) == ("h1", 1)
    daemon.kill()
    daemon.start()
    h1.hello_sequence = h2.hello_sequence = 2
    h2.connect()
    h2.hello()
    h2.epoch = h2.expect("welcome").epoch
    h2.send(numbered=True, inventory_end=pb.InventoryEnd(parts=0))
    h1.connect()
    h1.join([pb.AttemptState(attempt=again.attempt, phase=pb.PHASE_COMPUTING, job=number, task=again.task, resources=again.resources, variant=1,
                             proof=again.proof)])
    assert [row["variant"] for row in daemon.ctl("tasks", number)["tasks"] if row["task"] == again.task] == [1]
    assert replays(daemon)


def test_the_load_of_disks_is_listed(cluster):
    """Only of hosts that say their disk's rate; an absurd report is cut and counted; a replay decides the same."""
    daemon = cluster.daemon()
    h1, h2 = cluster.agent(daemon, "h1"), cluster.agent(daemon, "h2")
    h1.disk_bytes_s = 128_000_000
    h1.join()
    h2.join()
    for agent in (h1, h2):
        agent.acknowledged(agent.send(numbered=True, load=pb.Load(disk_permille=3100, disk_readers=4_000_000_000)))
    rows = {row["name"]: (row.get("disk_permille"), row.get("disk_readers")) for row in daemon.ctl("hosts")["hosts"]}
    assert rows == {"h1": (3100, 65535), "h2": (None, None)}
    counters = {row["name"]: row["value"] for row in daemon.ctl("counters")["counters"]}
    assert (counters["loads.cut"], counters["engine.cut_facts"]) == (1, 0), "cut before the engine has it"
    h1.acknowledged(h1.send(numbered=True, load=pb.Load(uplink_permille=5)))
    assert daemon.ctl("hosts")["hosts"][0]["disk_permille"] == 3100, "a report without disks says nothing of them"
    h1.acknowledged(h1.send(numbered=True, load=pb.Load(disk_permille=900, disk_readers=2, disk_hangs=True, disk_read_bytes_s=7_000_000)))
    row = daemon.ctl("hosts")["hosts"][0]
    assert (row["disk_hangs"], row["disk_read_bytes_s"]) == (True, 7_000_000) and "its disk answers nothing" in row["text"], row
    assert daemon.stop() == 0
    replay = [BUILD + "/duopoly-sim", "replay", "--quiet", daemon.folder / "log" / "duopoly.log"]
    assert subprocess.run(replay, timeout=20, check=False).returncode == 0


PROFILE = {"read_bytes": 1_000_000_000, "read_bytes_s": 125_000_000, "reads": "before"}


def test_profiles_are_submitted_and_kept(cluster):
    """`job` shows what the submission says, also after a kill; a job without a profile says nothing; another profile is another job."""
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1", slots=1).join()
    job = {"id": 1, "name": "reads", "stages": [{
        "tasks": 2, "compute_ms": [30_000, 50_000], "profile": {"read_bytes": 64_000_000, "read_bytes_s": 128_000_000},
        "variants": [{"command": "map-fast", "constraint": "host=h1", "compute_ms": 2000, "profile": PROFILE}]}]}
    number = daemon.ctl("submit", workload(daemon.folder, [job]))["jobs"][0]["job"]
    says = ("stage 0 as map reads 64.0 MB at 128.0 MB/s while it computes 40.000 s; "
            "stage 0 as map-fast reads 1000.0 MB at 125.0 MB/s before it computes 2.000 s; ")
    assert daemon.ctl("job", number)["text"].startswith(says)
    daemon.kill()
    daemon.start()
    assert daemon.ctl("job", number)["text"].startswith(says)
    plain = {"id": 2, "name": "plain", "stages": [{"tasks": 1}]}
    assert daemon.ctl("job", daemon.ctl("submit", workload(daemon.folder, [plain]))["jobs"][0]["job"])["text"] is None
    job["stages"][0]["profile"]["read_bytes"] = 63_000_000
    assert "has that name and another content" in daemon.ctl("submit", workload(daemon.folder, [job]), expect=1)


def test_what_tasks_read_and_take_is_learnt(cluster):
    """By the name of a stage's history, also over a kill: `job` shows the estimate and its error, and the next job's tasks start with it.
    A profile that says less is corrected."""
    daemon = cluster.daemon()
    host = cluster.agent(daemon, "h1", slots=1)
    host.join()

    def submit(number, **members):
        job = {"id": number, "name": f"run-{number}", "stages": [{"tasks": 2, "compute_ms": 1, "history": "knn", **members}]}
        return daemon.ctl("submit", workload(daemon.folder, [job]))["jobs"][0]["job"]

    def run_one(read):
        start = host.expect("start").start
        host.state(start.attempt, "STARTED")
        host.state(start.attempt, "COMPUTING")
        host.send(numbered=True, attempt_state=pb.AttemptState(attempt=start.attempt, phase=pb.PHASE_DONE, job=start.job, task=start.task, read=read))
        return start
    first = submit(1)
    assert daemon.ctl("job", first)["text"] is None
    assert not run_one(pb.DiskRead(bytes=64_000_000, bytes_s=32_000_000, reading_ns=10)).HasField("profile")
    host.expect("start")
    says = daemon.ctl("job", first)["text"]
    assert "stage 0 as map was learnt from 1 task to read 64.0 MB at 32.0 MB/s while it computes 2.000 s, 0.0 % off" in says, says
    daemon.kill()
    daemon.start()
    host.hello_sequence += 1
    host.connect()
    host.join()
    assert "was learnt from 1 task to read 64.0 MB" in daemon.ctl("job", first)["text"]
    daemon.ctl("cancel", first)
    second = submit(2)
    third = submit(3, compute_ms=5000, profile={"read_bytes": 5_000_000, "read_bytes_s": 5_000_000})
    assert "reads 64.0 MB at 32.0 MB/s while it computes 2.000 s" in daemon.ctl("job", second)["text"]
    assert "reads 64.0 MB at 32.0 MB/s while it computes 5.000 s" in daemon.ctl("job", third)["text"]
    assert replays(daemon)


def test_a_task_that_asks_more_corrects_its_profile(cluster):
    """For the further tasks of its stage."""
    daemon = cluster.daemon()
    host = cluster.agent(daemon, "h1", slots=1)
    host.join()
    stage = {"tasks": 2, "compute_ms": 5000, "profile": {"read_bytes": 5_000_000, "read_bytes_s": 5_000_000}}
    number = daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "asks", "stages": [stage]}]))["jobs"][0]["job"]
    first = host.expect("start").start
    assert (first.profile.read_bytes, first.profile.compute_ns) == (5_000_000, 5 * 10**9)
    host.state(first.attempt, "STARTED")
    host.state(first.attempt, "DONE", job=number, task=first.task, read=pb.DiskRead(bytes=64_000_000, bytes_s=32_000_000, reading_ns=10))
    second = host.expect("start").start
    assert (second.profile.read_bytes, second.profile.read_bytes_s) == (64_000_000, 32_000_000)
    assert "reads 64.0 MB at 32.0 MB/s while it computes 5.000 s" in daemon.ctl("job", number)["text"]
    assert replays(daemon)


def test_a_disk_that_hangs_takes_nothing_that_reads(cluster):
    """What reads waits until it answers, and explain says for what; a start tells its profile, and with whom it was compared."""
    daemon = cluster.daemon()
    daemon.ctl("policy", "place", "affinity")
    host = cluster.agent(daemon, "h1", slots=2)
    host.disk_bytes_s = 128_000_000
    host.join()
    host.acknowledged(host.send(numbered=True, load=pb.Load(disk_permille=0, disk_hangs=True)))
    stage = {"tasks": 1, "compute_ms": 2000, "profile": PROFILE}
    reads = daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "reads", "stages": [stage]}]))["jobs"][0]["job"]
    task = f"{reads}/0/0"
    assert "a disk that answers nothing, as h1" in daemon.ctl("explain", task)["text"]
    plain = daemon.ctl("submit", workload(daemon.folder, [{"id": 2, "name": "computes", "stages": [{"tasks": 1, "compute_ms": 9000}]}]))["jobs"][0]["job"]
    assert host.expect("start").start.job == plain
    host.acknowledged(host.send(numbered=True, load=pb.Load(disk_permille=0)))
    start = next(iter(host.running.values()), None) or host.expect("start").start
    assert (start.job, start.profile.read_bytes, start.profile.read_bytes_s, start.profile.before) == (reads, 1_000_000_000, 125_000_000, True)
    assert "No other kind of stage could have run there." in daemon.ctl("explain", task)["text"]
    assert daemon.stop() == 0
    replay = [BUILD + "/duopoly-sim", "replay", "--quiet", daemon.folder / "log" / "duopoly.log"]
    assert subprocess.run(replay, timeout=20, check=False).returncode == 0


@pytest.mark.parametrize("profile,words", [
    ({"read_bytes": 5, "reads": "before"}, ":2: stages[0].profile: reads 5 bytes at rate 0, so it would never end; say its read_bytes_s"),
    ({"read_bytes": 5, "read_bytes_s": 1}, ":2: stages[0].profile: reads for 5000 ms while it computes for 10 ms"),
    ({"reads": "never"}, ":2: stages[0].profile.reads is \"never\", must be before or while")])
def test_bad_profiles_are_refused(tmp_path, profile, words):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"duopoly_workload": 1, "hosts": 2}\n{"id": 1, "stages": [{"tasks": 1, "compute_ms": 10, "profile": %s}]}\n' % json.dumps(profile))
    done = run(BUILD + "/duopoly-sim", "run", "--workload", jobs)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("variants,words", [
    ([{"demand": {"slots": 9}}], "as variant 1: it needs slots 9 in one unit"),
    ([{"constraint": "fast"}], "as variant 1: none has label 'fast'")])
def test_a_variant_that_no_host_fits_is_refused(cluster, variants, words):
    daemon = cluster.daemon()
    cluster.agent(daemon, "h1").join()
    job = one_job()
    job["stages"][0]["variants"] = variants
    assert words in daemon.ctl("submit", workload(daemon.folder, [job]), expect=1)
    assert daemon.ctl("jobs")["jobs"] == []
