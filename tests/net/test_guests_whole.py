"""A framework's tasks from its driver to the wire, with all real parts: duopolyd, an agent that
relays the driver and serves executors, executors that announce their tasks, and a capture of what
they fetch."""
import os
import shutil
import subprocess
import tempfile
import types

import pytest
from controller import BUILD, pb
from nets import Capture, Net, needs_root, wait_for
from scripted import Agent
from test_frameworks import Framework
from test_guests import Executor, Server, answer, dscps
from testbed.net import answers

pytestmark = needs_root


class Controller:
    def __init__(self, host, folder):
        self.socket = folder + "/controller"
        self.address = f"tcp://{host.address}:7000"
        config = folder + "/duopolyd.yaml"
        with open(config, "w") as f:
            f.write(f"listen: {self.address}\nsocket: {self.socket}\nstate: {folder}/state\ntrust: everybody-who-connects\n"
                    f"log: {{folder: {folder}/log}}\n")
        self.words = folder + "/stderr"
        with open(self.words, "w") as words:
            self.process = host.popen(BUILD / "duopolyd", "--config", config, stderr=words)
        wait_for("the controller", lambda: "agents on" in self.said())

    def said(self):
        with open(self.words) as f:
            return f.read()

    def ctl(self, *words):
        return answers.read(subprocess.run([BUILD / "duopolyctl", "-s", self.socket, "-j", *words], capture_output=True, text=True,
                                         check=True, timeout=20).stdout)

    def guests(self):
        return self.ctl("hosts").get("guests", [])

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def whole():
    """Two hosts, an agent on the first; only for whom the controller vouches is marked."""
    net = Net(2)
    folder = tempfile.mkdtemp(prefix="duopoly-guests-", dir="/tmp")
    made = types.SimpleNamespace(net=net, folder=folder, closing=[], sockets=(folder + "/drivers", folder + "/guests"))
    os.chmod(folder, 0o755)
    try:
        made.controller = Controller(net.hosts[1], folder)
        made.closing.append(made.controller.close)
        made.agent = Agent(net, net.hosts[0], made.controller.address, lines=[
            f"frameworks: {{socket: {made.sockets[0]}}}", f"guests: {{rung: mark, socket: {made.sockets[1]}, rescan: 100 ms}}"])
        made.closing += [made.agent.restore, made.agent.kill]
        wait_for("the host", lambda: [row["state"] for row in made.controller.ctl("hosts")["hosts"]] == ["up"])
        yield made
    finally:
        for close in reversed(made.closing):
            close()
        net.remove()
        shutil.rmtree(folder)


def test_a_task_bears_its_level_from_the_drivers_word_to_the_wire(whole):
    group = whole.net.cgroup("worker")
    host = whole.net.hosts[0]
    executors = [Executor(host, group, app=app, executor=executor) for app, executor in (("app-1", "1"), ("app-1", "2"), ("app-2", "1"))]
    whole.closing += [one.end for one in executors]
    one, _two, stranger = executors
    server, out = Server(whole.net.hosts[1]), Capture(whole.net.sw, "p1")
    whole.closing += [server.close, out.close]
    wait_for("the guests", lambda: {(row["application"], row["rung"]) for row in whole.controller.guests()} == {("app-1", "observe"), ("app-2", "observe")})
    assert one.cgroup() == one.born
    driver = Framework(types.SimpleNamespace(address="tcp://127.0.0.1:1"),
                       relay=types.SimpleNamespace(socket=whole.sockets[0], follow=lambda: None))
    whole.closing.append(driver.close)
    driver.begin()
    wait_for("it to be vouched for", lambda: {(row["application"], row["rung"]) for row in whole.controller.guests()} ==
             {("app-1", "mark"), ("app-2", "observe")})
    assert one.is_moved() and stranger.cgroup() == stranger.born
    for executor in executors:
        assert "accepted" in answer(executor, "hello", whole.sockets[1], executor.app, executor.name, 1)
    driver.two_stages(7, maps=2, reduces=2, each=400_000_000)
    assert set(driver.run(7, 0, 2, first=100).values()) == {"h1"}
    driver.until(lambda: driver.of(7, 1), "a reduce task is allowed")
    allow = driver.of(7, 1)[0]
    told = answer(one, "task", 200, allow.allow, 7, 1, allow.task)["guest_mark"]
    assert told["marked"]
    expected = [{4 * level + 3} for level in (allow.coflow_level, allow.macroflow_level)]  # by the mode
    # The driver hears of an allow over another connection than the agent: here the task may be
    # faster than its level.
    wait_for("its level", lambda: dscps(out, server, lambda: one.do("fetch", *server.address, 10_000)) in expected)
    assert dscps(out, server, lambda: one.do("fetch", *server.address, 300_000)) in expected
    driver.start(allow, 200)
    assert dscps(out, server, lambda: stranger.do("fetch", *server.address, 50_000)) == {0}
    ended = answer(one, "end", 200)["guest_mark"]
    assert ended["known"] and "shared" not in ended
    assert int(ended["received_bytes"]) >= 310_000 and int(ended["received_bytes"]) % 10_000 == 0
    row, = [row for row in whole.controller.guests() if row["application"] == "app-1"]
    assert (row["executors"], row["marked"], row["text"]) == (2, 2, None)
    driver.task(pb.TASK_DONE, 200, 7, 1, allow.task, "h1")
    driver.settle()
    assert whole.agent.process.poll() is None
