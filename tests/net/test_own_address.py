"""The address at which others fetch from a host: found by the route to the controller, refused
where others cannot use it, one host's alone."""

import os
import subprocess

import pytest

from nets import BUILD, TOP, needs_root, wait_for
from test_addresses import CTL, CTL6, PORT, session, site  # noqa: F401: a fixture

pytestmark = needs_root
FROM = "its address on the way to the controller"


def found(said):
    return wait_for("the address that it found", lambda: [line.split(" at ")[1].split(",")[0] for line in said().splitlines() if FROM in line])[-1]


@pytest.mark.parametrize("line", ["", "address: \"\"", "address: 0.0.0.0", "address: \"::\""])
@pytest.mark.parametrize("controller, own", [(CTL, "10.99.0.2"), (f"[{CTL6}]", "fd99::2"), ("10.98.0.1", "10.98.0.2")])
def test_it_is_that_of_the_route_to_the_controller(site, line, controller, own):  # noqa: F811
    site.controller(f"tcp://*:{PORT}")
    said = site.agent(f"tcp://{controller}:{PORT}", address=line or "# none")
    session(said)
    assert found(said) == own


@pytest.mark.parametrize("controller", ["127.0.0.1", "[::1]", "[fe80::%up0]"])
def test_beside_the_controller_it_is_the_uplinks(site, controller):  # noqa: F811
    """And where the controller is reached by an address of one link."""
    host = site.controller_host
    if "fe80" in controller:
        local = host.ip("-o", "-6", "addr", "show", "dev", "up0", "scope", "link").split()[3].split("/")[0]
        controller = f"[{local}%up0]"
    site.controller(f"tcp://*:{PORT}")
    said = site.agent(f"tcp://{controller}:{PORT}", host=host, address="# none", uplink="up0")
    session(said)
    assert found(said) == CTL


def test_without_one_both_sides_say_so(site):  # noqa: F811
    log = site.controller(f"tcp://127.0.0.1:{PORT}")
    said = site.agent(f"tcp://127.0.0.1:{PORT}", host=site.controller_host, address="# none")
    line = wait_for("it says so", lambda: [line for line in said().splitlines() if "no session with the controller" in line])[0]
    assert "its address, ::, is none" in line and "`address`" in line
    assert "agent w1 is refused: its address, ::, is none" in open(log).read()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "224.0.0.1", "ff02::1", "255.255.255.255", "fe80::1", "10.0.0.0/8"])
def test_what_others_cannot_use_is_no_configuration(tmp_path, address):
    config = tmp_path / "agent.yaml"
    config.write_text(f"name: w1\naddress: \"{address}\"\nunits: [{{slots: 1}}]\nlink: {{uplink: lo, rate: 100 Mbps}}\nmarks: {{driver: recorder}}\n")
    done = subprocess.run([f"{BUILD}/duopoly-agent", "--config", config, "--check"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and f"{config}:2:10: address: " in done.stderr and address in done.stderr, done.stderr


def test_two_hosts_with_one_address_are_named(site):  # noqa: F811
    """The second is refused, rarely said on both sides, and has it when the first is gone (its
    machine was replaced)."""
    log = site.controller(f"tcp://*:{PORT}")
    first, second = (site.agent(f"tcp://{CTL}:{PORT}", name=name, address="address: 10.77.0.9") for name in ("old", "new"))

    def refusals():
        return [line for line in open(log) if "is refused" in line]
    wait_for("one of them is refused", refusals)
    line, = refusals()
    loser, holder = ("old", "new") if "agent old is refused" in line else ("new", "old")
    assert f"agent {loser} is refused: 10.77.0.9 is also the address of {holder}, which is alive" in line
    losing, holding = (first, second) if loser == "old" else (second, first)
    session(holding)
    wait_for("it says so, too", lambda: f"10.77.0.9 is also the address of {holder}" in losing())
    assert losing().count("session with controller tcp") == 0
    site.end(site.children[1 if holder == "old" else 2])
    session(losing)
    assert len(refusals()) == 1 and losing().count("is also the address of") == 1


@pytest.mark.parametrize("listen", [f"tcp://*:{PORT}", f"tcp://{CTL}:{PORT}"])
def test_who_connects_from_an_address_has_it(site, listen):  # noqa: F811
    """A host that says it is at another's, while that is away, does not keep it out."""
    log = site.controller(listen)
    own = "address: 10.99.0.2"
    usurper = site.agent(f"tcp://{CTL}:{PORT}", name="usurper", host=site.controller_host, address=own, uplink="up0")
    session(usurper)
    said = site.agent(f"tcp://{CTL}:{PORT}", name="owner", address=own)
    session(said)
    wait_for("it is refused then", lambda: "agent usurper is refused: 10.99.0.2 is also the address of owner" in open(log).read())
    assert "the session of agent usurper is ended: 10.99.0.2 is the address of owner, which connects from there" in open(log).read()
    assert said().count("session with controller tcp") == 1


def test_the_shipped_configuration_has_none():
    """So that two hosts that keep it are two."""
    with open(os.path.join(TOP, "packaging", "duopoly-agent.yaml")) as shipped:
        assert not [line for line in shipped if line.startswith("address:")]
