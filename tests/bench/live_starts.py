"""What an attempt costs in CPU time, from START to its last acknowledgement: one agent under a
scripted controller is given a burst of attempts without input, and the time of the agent, of what
starts and watches its attempts, and of the commands themselves is divided by their number. Not
counted: the controller, and what the kernel does for nobody in particular. The agent's state is on
a tmpfs, as its manual asks for."""

import os

from nets import BUILD, Net, run, wait_for
from scripted import DONE, FIRST, Site

ATTEMPTS = 200
REPEATS = 6  # the best one counts: what else the machine does only ever adds
BARS_MS = {"true": 1.2, "replay": 1.6}


def threads_ns(pid):
    """CPU time of a process that lives: the scheduler's own count of each thread."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as stat:
            total += int(stat.read().split()[0])
    return total


def children(pid):
    found = []
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, thread)) as said:
            found += [int(word) for word in said.read().split()]
    return found


def spent_ns(agent):
    """CPU time so far of the agent, of processes of its own, and of all attempts there ever were in
    its subtree."""
    with open(agent.cgroup + "/cpu.stat") as stat:
        attempts = next(int(line.split()[1]) for line in stat if line.startswith("usage_usec")) * 1000
    pid = agent.process.pid
    return attempts + threads_ns(pid) + sum(threads_ns(child) for child in children(pid))


def burst(controller, agent, command, first):
    """ms of CPU for each of ATTEMPTS attempts."""
    ids = range(first, first + ATTEMPTS)
    before = spent_ns(agent)
    for attempt in ids:
        controller.do("start %d 1 0 %d %s 1 0 0 1" % (attempt, attempt - first, command))
    for attempt in ids:
        controller.wait_phase(attempt, DONE, 60)
    wait_for("the acknowledged attempts to leave the disk", lambda: not agent.attempts_on_disk(), 20)
    wait_for("their cgroups to go", lambda: not agent.cgroups(), 20)
    return (spent_ns(agent) - before) / 1e6 / ATTEMPTS


def measure_starts(table):
    table.head("CPU time of an attempt, from START to its last acknowledgement")
    net = Net(2)
    site = Site(net)
    state = os.path.join(net.dir, "h1")
    os.mkdir(state)
    run("mount", "-t", "tmpfs", "-o", "mode=755", "duopoly-bench", state)
    try:
        replay = [os.path.join(BUILD, "replay-map"), "--port", "7070"]
        controller, agent = site.begin(commands={"replay": replay})
        for command, what in (("true", "the command /bin/true"), ("replay", "a task of the replay that reads and computes nothing")):
            best = min(burst(controller, agent, command, FIRST + 1 + i * ATTEMPTS) for i in range(REPEATS))
            table.row(what, "%.2f ms" % best, "<= %.1f ms" % BARS_MS[command], best <= BARS_MS[command])
            controller.do("forget 1")
    finally:
        try:
            site.end()
        finally:
            run("umount", "-l", state)
            net.remove()
