"""Long lists are written as their pages come, in bounded memory; short ones whole or not at all.
The controller is played by the test, so that it may stop half-way."""
import json
import os
import re
import select
import socket
import subprocess
import threading

import pytest

from controller import BUILD, answers, pb

PAGE = 32


class Asked:
    """A controller that is asked for running tasks, by a duopolyctl whose output is read."""

    def __init__(self, folder, *form):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(folder / "s"))
        self.listener.listen()
        self.ctl = subprocess.Popen([BUILD / "duopolyctl", "-s", folder / "s", *form, "tasks"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.client = self.listener.accept()[0]
        self.client.settimeout(20)
        self.rows = 0

    def read(self):
        while more := os.read(self.ctl.stdout.fileno(), 1 << 20):
            self.out += more

    def page(self, last=False):
        """Answers one request, with as many rows as a page has; `last`: there are no more."""
        request = pb.Envelope.FromString(self.client.recv(65536))
        assert request.list.of == pb.LIST_TASKS and request.list.cursor == self.rows
        rows = [pb.TaskRow(job=1, stage=0, task=self.rows + i, state="computing", host="h1")
                for i in range(PAGE)]
        self.rows += PAGE
        page = pb.Page(tasks=rows, cursor=0 if last else self.rows)
        self.client.send(pb.Envelope(version=1, page=page).SerializeToString())

    def asks(self):
        """It waits for one more page."""
        return select.select([self.client], [], [], 20)[0]

    def memory(self):
        """The most that it took, in kB."""
        with open(f"/proc/{self.ctl.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])

    def end(self):
        """(exit code, standard output, standard error)"""
        self.client.close()
        self.listener.close()
        self.reader.join(20)
        err = self.ctl.stderr.read().decode()
        return self.ctl.wait(20), self.out, err


FORMS = pytest.mark.parametrize("form", [[], ["-j"]])


@FORMS
def test_rows_are_written_before_the_last_page_is_asked_for(tmp_path, form):
    asked = Asked(tmp_path, *form)
    while not asked.out:
        assert asked.rows < 5000, "nothing is written"
        asked.page()
        assert asked.asks()
    asked.page(last=True)
    code, out, err = asked.end()
    assert (code, err) == (0, "")
    if form:
        tasks = [row["task"] for row in answers.read(out)["tasks"]]
    else:
        lines = out.decode().splitlines()
        assert lines[0].split()[:4] == ["JOB", "STAGE", "TASK", "STATE"]
        tasks = [int(line.split()[2]) for line in lines[1:]]
        assert len({line.index("computing") for line in lines[1:1024]}) == 1, "columns"
    assert tasks == list(range(asked.rows))


@FORMS
def test_a_list_that_breaks_off_is_partial(tmp_path, form):
    asked = Asked(tmp_path, *form)
    for _ in range(200):
        asked.page()
    code, out, err = asked.end()
    assert code == 7
    if form:
        document = json.loads(out)
        rows, said = len(document["items"]), document["error"]["text"]
        assert document["partial"] is True and document["error"]["code"] == 7 and not err
    else:
        rows, said = len(out.splitlines()) - 1, err
    assert "closed the connection" in said and len(said.splitlines()) == 1
    assert 0 < rows <= asked.rows


@FORMS
def test_a_short_list_that_breaks_off_is_nothing(tmp_path, form):
    asked = Asked(tmp_path, *form)
    asked.page()
    code, out, err = asked.end()
    if form:
        document = json.loads(out)
        assert document["error"]["code"] == 3 and "items" not in document and not err
        err = document["error"]["text"]
    else:
        assert out == b""
    assert code == 3 and "closed the connection" in err


@FORMS
def test_a_long_list_takes_no_more_memory_than_a_short_one(tmp_path, form):
    asked, sizes = Asked(tmp_path, *form), []
    for pages in (300, 1500):
        for _ in range(pages):
            asked.page()
        assert asked.asks()
        sizes.append(asked.memory())
    asked.page(last=True)
    code, out, _ = asked.end()
    assert code == 0 and out.count(b"computing") == asked.rows
    assert sizes[1] <= sizes[0] + 1024 and sizes[1] < 32 * 1024, sizes
