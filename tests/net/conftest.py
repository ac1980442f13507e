"""What holds for all tests here."""

import signal

import pytest

# nohup, and a shell without job control for what it runs in the background, leave SIGINT ignored, which the programs under
# test must obey. A child inherits "ignored", but no handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


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
