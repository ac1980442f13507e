"""A terminal that a program draws on: a pseudo-terminal, and a reader of what an xterm obeys (as
much as ncurses says to one; anything else is an error)."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

CONTROL = re.compile(rb"\x1b\[([?>]?)([0-9;]*)([A-Za-z@`])|\x1b[()][A-Z0-9]|\x1b[=>78MD]|"
                     rb"[\x07\x08\r\n\x0e\x0f]")


class Screen:
    """What is seen, and the modes that are set."""

    def __init__(self, lines, columns):
        self.resize(lines, columns)
        self.modes, self.colours, self.rest = {}, set(), b""

    def resize(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.y = self.x = 0
        self.top, self.bottom, self.last = 0, lines - 1, " "

    def text(self):
        return ["".join(line).rstrip() for line in self.cells]

    def feed(self, data):
        data = self.rest + data
        self.rest = b""
        while data:
            match = CONTROL.match(data)
            if match:
                self.obey(match)
                data = data[match.end():]
                continue
            if data[0] == 0x1b:  # the rest of it is to come
                assert len(data) < 40, data
                self.rest = data
                return
            size = 1 if data[0] < 0x80 else 2 if data[0] < 0xe0 else 3 if data[0] < 0xf0 else 4
            if len(data) < size:
                self.rest = data
                return
            self.put(data[:size].decode())
            data = data[size:]

    def put(self, character):
        assert character.isprintable(), repr(character)
        if self.x == self.columns:  # an xterm's line break waits for the next character
            self.x = 0
            self.down()
        self.cells[self.y][self.x] = self.last = character
        self.x += 1

    def down(self):
        if self.y == self.bottom:
            self.scroll(self.top, 1)
        else:
            self.y = min(self.y + 1, self.lines - 1)

    def scroll(self, top, n):
        """Lines from there on up by n, or down."""
        for _ in range(abs(n)):
            line = self.cells.pop(top if n > 0 else self.bottom)
            line[:] = [" "] * self.columns
            self.cells.insert(self.bottom if n > 0 else top, line)

    def obey(self, match):
        word, (private, numbers, letter) = match[0], match.groups()
        if letter is None:
            if word == b"\r":
                self.x = 0
            elif word == b"\n":
                self.down()
            elif word == b"\x08":
                self.x = max(0, min(self.x, self.columns - 1) - 1)
            elif word == b"\x1bM":
                self.y = max(0, self.y - 1)
            elif word in (b"\x1b=", b"\x1b>"):
                self.modes["keypad"] = word == b"\x1b="
            return
        self.sequence(private, [int(n or 0) for n in numbers.split(b";")], letter.decode())

    def sequence(self, private, numbers, letter):
        n = numbers[0] or 1
        line = self.cells[self.y]
        x = min(self.x, self.columns - 1)
        if letter in "hl":
            for number in numbers:
                self.modes[number] = letter == "h"
        elif letter == "m":
            self.colours |= {number for number in numbers if 30 <= number < 50 and number % 10 != 9}
        elif letter == "H":
            self.y = min(n, self.lines) - 1
            self.x = min(numbers[1] if len(numbers) > 1 and numbers[1] else 1, self.columns) - 1
        elif letter in "ABCD":
            self.y = max(0, min(self.lines - 1, self.y + {"A": -n, "B": n}.get(letter, 0)))
            self.x = max(0, min(self.columns - 1, x + {"C": n, "D": -n}.get(letter, 0)))
        elif letter in "G`":
            self.x = min(n, self.columns) - 1
        elif letter == "d":
            self.y = min(n, self.lines) - 1
        elif letter == "K":
            parts = {0: (x, self.columns), 1: (0, x + 1), 2: (0, self.columns)}
            for i in range(*parts[numbers[0]]):
                line[i] = " "
        elif letter == "J":
            if numbers[0] == 0:
                line[x:] = [" "] * (self.columns - x)
            for y in range(self.y + 1 if numbers[0] == 0 else 0, self.lines):
                self.cells[y][:] = [" "] * self.columns
        elif letter == "X":
            line[x:x + n] = [" "] * len(line[x:x + n])
        elif letter == "P":
            line[x:] = (line[x + n:] + [" "] * n)[:self.columns - x]
        elif letter == "@":
            line[x:] = ([" "] * n + line[x:])[:self.columns - x]
        elif letter in "LM":
            self.scroll(self.y, n if letter == "M" else -n)
        elif letter in "ST":
            self.scroll(self.top, n if letter == "S" else -n)
        elif letter == "b":
            for _ in range(n):
                self.put(self.last)
        elif letter == "r" and not private:
            self.top, self.bottom = n - 1, (numbers[1] if len(numbers) > 1 else self.lines) - 1
            self.y = self.x = 0
        else:
            assert letter == "t", (private, numbers, letter)


class Terminal:
    """A program on a terminal of its own, of whose session it is the leader."""

    def __init__(self, command, lines=24, columns=100, **environment):
        self.master, self.slave = pty.openpty()
        self.screen = Screen(lines, columns)
        self.size(lines, columns)
        self.before = termios.tcgetattr(self.slave)
        self.draws, self.drawn = 0, 0.0  # bursts of what it writes, and when the last one ended
        words = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}

        def lead():
            os.setsid()
            for number in (signal.SIGINT, signal.SIGQUIT):  # a shell's background ignores them
                signal.signal(number, signal.SIG_DFL)
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([str(word) for word in command], env=words,
                                        stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        preexec_fn=lead)

    def size(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        """As a terminal's window does."""
        self.read(0)
        self.screen.resize(lines, columns)
        self.size(lines, columns)  # which tells the foreground, too

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        """What is written within that time, or until the first of it."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        data = os.read(self.master, 1 << 16)
        now = time.monotonic()
        self.draws += now - self.drawn > 0.03
        self.drawn = now
        self.screen.feed(data)
        return data

    def watch(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def text(self):
        return "\n".join(self.screen.text())

    def is_whole(self):
        """Whether all that it draws now is on the screen: it waits, and nothing is left to read."""
        if self.process.poll() is None:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] not in "STZ":
                    return False
        return not select.select([self.master], [], [], 0)[0]

    def wait_for(self, text, seconds=20.0):
        """Until that is seen, or a function says so, and no drawing is half done; the lines."""
        seen = text if callable(text) else lambda: text in self.text()
        until = time.monotonic() + seconds
        while not ((found := seen()) and self.is_whole()):
            left = until - time.monotonic()
            assert left > 0, f"not seen: {text!r}\n{self.text()}"
            self.read(min(left, 0.01 if found else 0.5))
        return self.screen.text()

    def line_of(self, word):
        """The line that has it."""
        return next(line for line in self.wait_for(word) if word in line)

    def wait_end(self, seconds=20.0):
        """Its exit status, once all it wrote is read."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it does not end\n{self.text()}"
            self.read(0.05)
        while self.read(0):
            pass
        return self.process.returncode

    def is_given_back(self):
        """Its modes are those of before, and nothing of ncurses' is left."""
        modes = self.screen.modes
        return (termios.tcgetattr(self.slave) == self.before and not modes.get(1049) and
                modes.get(25, True) and not modes.get(1) and not modes.get("keypad"))

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            os.killpg(self.process.pid, signal.SIGCONT)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
