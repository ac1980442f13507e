"""What one submitter, host or application may make the controller hold and begin: bounds that count whatever the numbers say, over real
connections to the real controller."""
import pytest
from controller import pb, wait_until, workload
from test_store import Client

HUGE = 1 << 62


def sessions(daemon):
    return daemon.counters()["sessions.begun"]


@pytest.fixture
def site(cluster):
    """A controller and what makes hosts and clients."""
    made = []

    class Site:
        def daemon(self, **arguments):
            return cluster.daemon(**arguments)

        def host(self, *words, **arguments):
            agent = cluster.agent(*words, **arguments)
            agent.join()
            return agent

        def client(self, daemon):
            made.append(Client(daemon))
            return made[-1]

    yield Site()
    for thing in reversed(made):
        thing.close()


@pytest.mark.parametrize("demand", [{}, {"slots": 0}, {"slots": 0, "mem_bytes": 0}])
def test_a_task_that_demands_nothing_is_refused(site, demand):
    """By the client, which reads the file, and by the controller, which hears whatever is sent."""
    daemon = site.daemon()
    site.host(daemon, "a")
    said = daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 1000, "demand": demand}]}]), expect=1)
    assert "workload.jsonl:2: stages[0].demand is nothing" in said, said
    client = site.client(daemon)
    client.ask(submit_begin=pb.SubmitBegin(name="zero", content=1, estimate_bytes=-1, estimate_ns=-1))
    answer = client.ask(submit_stage=pb.SubmitStage(stage=0, tasks=1000, demand=pb.Resources(**demand)))
    assert "stage 0 demands nothing" in answer.refused.text, answer
    assert daemon.ctl("status")["jobs_active"] == 0


def run_starts(agent, until):
    """Answers each start as it comes; how many have come."""
    while len(agent.running) < until:
        if agent.receive_start():
            agent.state(list(agent.running)[-1], "STARTED")
    return len(agent.running)


def test_a_burst_ends_no_session(site):
    """A host that claims more slots than there are has them cut and said, and gets its tasks as it answers."""
    daemon = site.daemon(config="bounds: {tasks_per_host: 3000}\ntimers: {silent: 60 s, host_lost: 120 s}\n")
    agent = site.host(daemon, "a", slots=HUGE)
    row = daemon.ctl("hosts")["hosts"][0]
    assert row["text"] == f"claims slots {HUGE}: 3000 count", row
    assert f"host a claims slots {HUGE}: 3000 count" in daemon.words()
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "stages": [{"tasks": 20000}]}], hosts=1))
    wait_until(lambda: daemon.ctl("hosts")["hosts"][0]["running"] == 256, "as many are sent as may be unanswered")
    assert run_starts(agent, 3000) == 3000
    assert daemon.ctl("hosts")["hosts"][0]["running"] == 3000
    assert sessions(daemon) == 1
