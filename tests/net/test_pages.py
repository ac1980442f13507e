"""Lists in pages: in order, and no row twice or missing while rows come, go and move."""

import socket
import subprocess
import threading

import pytest

from controller import BUILD, Client, pb, wait_until, workload
from test_controller import one_job
from testbed.net import answers


def submit(daemon, n):
    """So many jobs of different sizes, in another order than that of their numbers."""
    jobs = [one_job(f"j{i}") for i in range(n)]
    for i, job in enumerate(jobs):
        job["id"] = i + 1
        job["stages"][1]["parents"][0]["sums"] = [10_000_000 * (1 + i * 7 % n)]
    daemon.ctl("submit", workload(daemon.folder, jobs))


def test_jobs_stand_in_turn_with_their_places(cluster):
    daemon = cluster.daemon()
    submit(daemon, 60)
    rows = daemon.ctl("jobs")["jobs"]
    assert [r["place"] for r in rows] == list(range(1, 61)) and len({r["job"] for r in rows}) == 60
    assert [r["shuffle_bytes"] for r in rows] == sorted(r["shuffle_bytes"] for r in rows)
    assert daemon.ctl("job", rows[41]["job"])["place"] == 42
    daemon.ctl("cancel", rows[0]["job"])
    assert [r["job"] for r in daemon.ctl("jobs", "-a")["jobs"]] == [r["job"] for r in rows[1:] + rows[:1]]
    assert daemon.ctl("job", rows[0]["job"])["place"] is None


@pytest.mark.parametrize("finished", [True, False])
def test_pages_of_jobs_repeat_and_omit_none_while_jobs_move(cluster, finished):
    """Between two pages turns change, and jobs of the next page, of this one and of one before
    end."""
    daemon = cluster.daemon()
    submit(daemon, 120)
    client, listed, ended, cursor, version, round_ = Client(daemon), [], set(), 0, 0, 0
    while True:
        page = client.ask(list=pb.List(of=pb.LIST_JOBS, finished=finished, cursor=cursor, version=version)).page
        listed += [row.job for row in page.jobs]
        cursor, version = page.cursor, page.version
        if not cursor:
            break
        left = [n for n in range(1, 121) if n not in ended]
        for n in {left[0], left[-1], listed[-1], *[n for n in left if n not in listed][:2]} - ended:
            assert client.ask(cancel_job=pb.CancelJob(job=n)).HasField("accepted")
            ended.add(n)
        round_ += 1
        assert client.ask(set_policy=pb.SetPolicy(question="turn", name=("fifo", "sjf")[round_ % 2])).HasField("accepted")
    client.close()
    assert round_ > 2 and len(listed) == len(set(listed))
    assert set(range(1, 121)) - set(listed) <= (set() if finished else ended)


@pytest.mark.parametrize("of, rows, name", [("HOSTS", "hosts", "name"), ("COUNTERS", "counters", "source")])
def test_pages_in_the_order_of_names_repeat_and_omit_none(cluster, of, rows, name):
    """Hosts join and are forgotten before and behind where the next page begins."""
    daemon = cluster.daemon(config="timers: {heartbeat: 100 ms, silent: 300 ms, host_lost: 500 ms}\n")
    there = [f"m{n:02}" for n in range(30)]
    for n, host in enumerate(there):
        cluster.agent(daemon, host, host=n + 1).join()
    gone = [cluster.agent(daemon, host, host=n) for n, host in ((101, "a1"), (102, "a2"), (103, "z1"))]
    for agent in gone:
        agent.join()
    client, listed, cursor, version, round_ = Client(daemon), [], 0, 0, 0
    while True:
        page = client.ask(list=pb.List(of=getattr(pb, "LIST_" + of), cursor=cursor, version=version)).page
        listed += [(getattr(row, name), of == "COUNTERS" and row.name) for row in getattr(page, rows)]
        cursor, version = page.cursor, page.version
        if not cursor:
            break
        round_ += 1
        for n in range(2):
            cluster.agent(daemon, f"b{round_}{n}", host=110 + 2 * round_ + n).join()
        if gone:
            gone[0].close()
            forget = pb.ForgetHost(name=gone.pop(0).name)
            wait_until(lambda: client.ask(forget_host=forget).HasField("accepted"), "a host that is forgotten", every=0.05)
    client.close()
    assert round_ and len(listed) == len(set(listed))
    assert set(there) <= {who for who, _ in listed}


class Between:
    """Passes messages on between one client and the controller; calls `before` with each
    request."""

    def __init__(self, daemon, before):
        self.path = daemon.folder / "between"
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(str(self.path))
        self.listening.listen()
        self.thread = threading.Thread(target=self.pass_on, args=(daemon, before), daemon=True)
        self.thread.start()

    def pass_on(self, daemon, before):
        (client, _), controller = self.listening.accept(), Client(daemon)
        while request := client.recv(65536):
            before(pb.Envelope.FromString(request))
            controller.socket.send(request)
            client.send(controller.socket.recv(65536))
        client.close()
        controller.close()

    def close(self):
        self.listening.close()
        self.thread.join(10)


def test_a_jobs_tasks_stand_there_once_while_they_move(cluster):
    """Between those that run and those that wait, the one that ran is done, and the one that waited
    runs."""
    daemon = cluster.daemon()
    agent = cluster.agent(daemon, "a", slots=1)
    agent.join()
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    while not agent.running:
        agent.receive_start()
    asked = []

    def before(request):
        if not request.HasField("list") or request.list.of != pb.LIST_TASKS:
            return
        asked.append(request.list.part)
        if len(asked) != 2:
            return
        attempt = list(agent.running)[0]
        agent.state(attempt, "STARTED")
        agent.state(attempt, "DONE")
        wait_until(lambda: [t["state"] for t in daemon.ctl("tasks", "1", "-a")["tasks"] if t["stage"] == 0] == ["done"], "it is done")

    between = Between(daemon, before)
    try:
        said = subprocess.run([BUILD / "duopolyctl", "-j", "-s", between.path, "job", "1"], capture_output=True, text=True, timeout=60, check=True).stdout
    finally:
        between.close()
    assert asked[:2] == [pb.TASKS_LIVE, pb.TASKS_WAITING]
    assert sorted((t["stage"], t["task"]) for t in answers.read(said)["tasks"]) == [(0, 0), (1, 0)], said
