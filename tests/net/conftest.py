"""What holds for all tests here."""

import os
import signal
import subprocess

import pytest

# nohup leaves SIGHUP ignored, and a shell without job control SIGINT and SIGQUIT for what it runs in
# the background; the programs under test must obey them. A child inherits "ignored", but no handler.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda _number, _frame: None)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


def pytest_configure(config):
    config.addinivalue_line("markers", "faults: takes minutes; make test-faults runs it, make test does not")
    config.addinivalue_line("markers", "frameworks: runs a real Spark; make test-frameworks runs it, make test does not")
    config.addinivalue_line("markers", "guest(kernel, ...): where it runs: uml, qemu, virtual (tests/guest/README.md), host; without this only host")


def pytest_collection_modifyitems(config, items):
    """Leaves out what names other kernels than this one; of several marks (of a test, of its
    parameters) each must name it."""
    kernel = os.environ.get("GUEST", "host")
    elsewhere = [item for item in items if any(kernel not in mark.args for mark in item.iter_markers("guest"))]
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]


@pytest.fixture
def cluster():
    """Makes daemons and agents that are gone when the test is over."""
    from controller import Agent, Daemon
    made = []

    class Cluster:
        def daemon(self, **arguments):
            made.append(Daemon(**arguments))
            return made[-1]

        def agent(self, *words, **arguments):
            made.append(Agent(*words, **arguments))
            return made[-1]

    yield Cluster()
    for thing in reversed(made):
        thing.remove() if isinstance(thing, Daemon) else thing.close()


@pytest.fixture
def net():
    """Three hosts and a switch between them."""
    from nets import Net
    made = Net(3)
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture
def begin(tmp_path):
    """Makes a kills.Site, which is gone when the test is over."""
    import kills
    made = []

    def make(scale=kills.SHORT, kind=kills.Site):
        made.append(kind(scale, str(tmp_path)))
        return made[-1]
    yield make
    for site in made:
        site.down()


@pytest.fixture
def site():
    """Two hosts and a switch, and what begins an agent on the switch, or on h1 in role host; what
    agents leave is taken back."""
    from nets import BUILD, Net
    from scripted import Agent
    net = Net(2)
    made = []

    def begin(role="switch", host=None, **options):
        host = host or (net.sw if role == "switch" else net.hosts[0])
        made.append(Agent(net, host, f"tcp://{net.hosts[1].address}:7000", role=role, **options))
        return made[-1]
    try:
        yield net, begin
    finally:
        for agent in made:
            if agent.process.poll() is None:
                agent.kill()
            subprocess.run(["nsenter", "--net=/run/netns/" + agent.host.name, os.path.join(BUILD, "duopoly-agent"), "--config", agent.config, "--restore"],
                           capture_output=True)
        net.remove()
