"""Lists in pages: in order, and no row twice or missing while rows come, go and move."""

import pytest

from controller import Client, pb, wait_until, workload
from test_controller import one_job


def test_jobs_stand_in_turn_with_their_places(cluster):
    daemon = cluster.daemon()
    jobs = [one_job(f"j{i}") for i in range(60)]
    for i, job in enumerate(jobs):
        job["id"] = i + 1
        job["stages"][1]["parents"][0]["sums"] = [10_000_000 * (1 + i * 7 % 60)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
    rows = daemon.ctl("jobs")["jobs"]
    assert [r["place"] for r in rows] == list(range(1, 61)) and len({r["job"] for r in rows}) == 60
    assert [r["shuffle_bytes"] for r in rows] == sorted(r["shuffle_bytes"] for r in rows)
    assert daemon.ctl("job", rows[41]["job"])["place"] == 42
    daemon.ctl("cancel", rows[0]["job"])
    assert [r["job"] for r in daemon.ctl("jobs", "-a")["jobs"]] == [r["job"] for r in rows[1:] + rows[:1]]
    assert daemon.ctl("job", rows[0]["job"])["place"] is None


@pytest.mark.parametrize("finished", [True, False])
def test_pages_of_jobs_repeat_and_omit_none_while_jobs_move(cluster, finished):
    """Between two pages turns change, and jobs of the next page, of this one and of one before end."""
    daemon = cluster.daemon()
    jobs = [one_job(f"j{i}") for i in range(120)]
    for i, job in enumerate(jobs):
        job["id"] = i + 1
        job["stages"][1]["parents"][0]["sums"] = [10_000_000 * (1 + i * 7 % 120)]
    daemon.ctl("submit", workload(daemon.folder, jobs))
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

