"""The graph that docs/explain/flow.md shows: a real controller, three hosts and three jobs, drawn
by `duopolyctl graph --svg`.

usage: tests/net/flow_picture.py FILE      (make flow-picture)"""

import sys

from controller import Agent, Daemon, wait_until, workload

# WHY delay first: it holds the jobs while slots are free, so that the first optimum is of all.
CONFIG = "policy: {preset: flow, turn: fair, place: delay, objective: quincy}\n"
HOSTS = [("w1", "r1", 1), ("w2", "r1", 1), ("w3", "r2", 2)]  # name, rack, slots
# All blocks are on w1, whose slot job 1 has. Jobs 2, 3 and 4 have one, two and one task: one too
# many.
JOBS = [1, 2, 1]


def agent_of(daemon, name, rack, slots):
    agent = Agent(daemon, name, slots=slots)
    agent.rack = rack
    agent.join()
    return agent


def job(number, tasks):
    """Its blocks are on the first host."""
    stage = {"tasks": tasks, "compute_ms": 10, "input_bytes": 64_000_000, "replicas": [[0]] * tasks}
    return {"id": number, "name": f"job-{number}", "arrival_ms": 0, "stages": [stage]}


def begin(daemon, hosts, tasks):
    """The slots of the first host are taken, jobs of so many tasks wait for them, and then `flow`
    places them all at once; what starts runs for ever. Returns the agents."""
    agents = [agent_of(daemon, *host) for host in hosts]
    wait_until(lambda: daemon.ctl("status")["hosts_up"] == len(hosts), "hosts")
    first, _, slots = hosts[0]
    before = {"tasks": slots, "compute_ms": 10, "constraint": f"host={first}"}
    daemon.ctl("submit", workload(daemon.folder, [{"id": 1, "name": "before", "arrival_ms": 0,
                                                   "stages": [before]}]))
    waiting = [job(number, n) for number, n in enumerate(tasks, 2)]
    daemon.ctl("submit", workload(daemon.folder, waiting, hosts=len(hosts)))
    assert daemon.ctl("status")["tasks_ready"] == sum(tasks), "they wait for their blocks"
    daemon.ctl("policy", "place", "flow")
    wait_until(lambda: daemon.ctl("status")["slots_free"] == 0, "slots in use")
    return agents


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    agents, daemon = [], Daemon(config=CONFIG)
    try:
        agents = begin(daemon, HOSTS, JOBS)
        daemon.ctl("graph", "--svg", sys.argv[1])
    finally:
        for agent in agents:
            agent.close()
        daemon.remove()


if __name__ == "__main__":
    main()
