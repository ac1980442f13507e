"""TCP of the network's workers, by their kernels' counters (RFC 4022, /proc/net/netstat)."""

from testbed.net import system

FILES = ("/proc/net/snmp", "/proc/net/netstat")


def parse(text):
    """{"Tcp.OutSegs": value, …}: each protocol has a line of names, then one of values."""
    lines = [line.split() for line in text.splitlines()]
    return {"%s%s" % (names[0].replace(":", "."), name): int(value)
            for names, values in zip(lines[::2], lines[1::2])
            for name, value in zip(names[1:], values[1:])}


def read(net):
    """All workers' together."""
    total = {}
    for host in net.hosts:
        for name, value in parse(system.run(*net.enter(host, "cat", *FILES))).items():
            total[name] = total.get(name, 0) + value
    return total


def line(before, after):
    """One line about what happened in between."""
    counted = {name: value - before.get(name, 0) for name, value in after.items()}
    return ("TCP: %d segments, %d of them sent again, after %d time-outs and %d probes for lost "
            "tails; of %d acknowledged %d with CE" % (
                counted["Tcp.OutSegs"], counted["Tcp.RetransSegs"],
                counted["TcpExt.TCPTimeouts"], counted["TcpExt.TCPLossProbes"],
                counted["TcpExt.TCPDelivered"], counted["TcpExt.TCPDeliveredCE"]))
