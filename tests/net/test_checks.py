"""`--check` of each daemon: what its configuration names and cannot work is one sentence, and nothing is changed."""

import os
import subprocess

import pytest
import zmq

from nets import BUILD, needs_root

OWNER = 64011  # a user that is nobody else's


def check(program, config):
    return subprocess.run([os.path.join(BUILD, program), "--config", str(config), "--check"], capture_output=True, text=True, timeout=20)


def refuses(done, *words):
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done
    assert all(word in done.stderr for word in words), done.stderr


@pytest.fixture
def folder(tmp_path):
    """That everybody comes to."""
    path = str(tmp_path)
    while path.startswith("/tmp/"):
        os.chmod(path, 0o755)
        path = os.path.dirname(path)
    return tmp_path


def key(folder, name, role):
    public, secret = (word.decode() for word in zmq.curve_keypair())
    path = folder / (name + ".key")
    path.write_text(f"name {name}\nrole {role}\npublic {public}\nsecret {secret}\n" + (f"controller {public}\n" if role != "controller" else ""))
    path.chmod(0o600)
    return path


def agent(folder, more="", commands="", link="{uplink: lo, rate: 100 Mbps}", name="h1"):
    config = folder / "agent.yaml"
    config.write_text(f"name: {name}\nstate: {folder}/state\nunits: [{{slots: 1}}]\nlink: {link}\nqueues: {{driver: none}}\n"
                      f"marks: {{driver: recorder}}\n{more}\ntasks:\n  commands:\n    - {{name: first, argv: [\"true\"]}}\n{commands}\n")
    return config


def test_a_right_agent(folder):
    config = agent(folder, f"key: {key(folder, 'h1', 'agent')}", "    - {name: second, argv: [/bin/sh, x]}")
    done = check("duopoly-agent", config)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{config}: right\n", "")
    assert not (folder / "state").exists()


def test_keys_of_an_agent(folder):
    own, other, framework = key(folder, "h1", "agent"), key(folder, "h2", "agent"), key(folder, "spark", "framework")
    for path, *words in ((folder / "none.key", "none.key cannot be read"), (other, "is the key of h2 (agent), not of h1 (agent)"),
                         (framework, "is the key of spark (framework), not of h1 (agent)"), (folder, "is a folder"), ("/dev/null", "is no file")):
        refuses(check("duopoly-agent", agent(folder, f"key: {path}")), *words)
    for path, *words in ((folder / "none.key", "none.key cannot be read"), (own, "is the key of h1 (agent), not of anybody (framework)")):
        refuses(check("duopoly-agent", agent(folder, f"frameworks: {{key: {path}}}")), *words)
    text = own.read_text()
    own.write_text(text.replace("controller ", "# controller "))
    refuses(check("duopoly-agent", agent(folder, f"key: {own}")), "names no controller to trust")
    own.write_text(text)
    own.chmod(0o640)
    refuses(check("duopoly-agent", agent(folder, f"key: {own}")), "can be read by others")


@needs_root
def test_root_asks_about_a_key_as_who_owns_it(folder):
    """As packaged: the key is the agent's user's, and root runs the check."""
    path = key(folder, "h1", "agent")
    os.chown(path, OWNER, OWNER)
    assert check("duopoly-agent", agent(folder, f"key: {path}")).returncode == 0
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    refuses(check("duopoly-agent", agent(folder, f"key: {path.rename(hidden / 'h1.key')}")), "h1.key cannot be read: Permission denied")


def script(folder, name, text, mode=0o755):
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_commands(folder):
    for word, *words in (("/no/such/program", "second: /no/such/program cannot be run: No such file"),
                         ("no-such-program", "no-such-program cannot be run: No such file"),
                         (folder, "cannot be run: Permission denied"), (script(folder, "plain", "", 0o644), "plain cannot be run: Permission denied"),
                         (script(folder, "script", "#! /no/such/shell -x\n"), "script cannot be run by /no/such/shell, which it names: No such file")):
        refuses(check("duopoly-agent", agent(folder, commands=f"    - {{name: second, argv: [\"{word}\"]}}")), "tasks.commands: second: ", *words)
    good = script(folder, "good", "#!/bin/sh\n")
    for word in (good, str(good)[1:]):
        assert check("duopoly-agent", agent(folder, commands=f"    - {{name: second, argv: [\"{word}\"]}}")).returncode == 0


@needs_root
def test_commands_are_looked_for_as_the_user_that_runs_them(folder):
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    refuses(check("duopoly-agent", agent(folder, commands=f"    - {{name: second, argv: [{script(hidden, 'good', '')}]}}")), "Permission denied")
    private = script(folder, "private", "", 0o700)
    refuses(check("duopoly-agent", agent(folder, commands=f"    - {{name: second, argv: [{private}]}}")), "Permission denied")


def test_interfaces_and_certificates_of_an_agent(folder):
    refuses(check("duopoly-agent", agent(folder, link="{uplink: nowhere0, rate: 100 Mbps}")), "nowhere0")
    config = folder / "switch.yaml"
    said = "name: s1\nrole: switch\nstate: %s/state\nlink: {rate: 100 Mbps}\nswitch: {driver: ovs, at: \"ssl:127.0.0.1:6640\", bridge: br0, " \
           "openflow: \"ssl:127.0.0.1:6653\", ca: %s, certificate: %s, private_key: %s}\n"
    files = [script(folder, name, "", 0o600) for name in ("ca", "certificate", "private_key")]
    config.write_text(said % (folder, *files))
    assert check("duopoly-agent", config).returncode == 0
    for path in files:
        config.write_text(said % (folder, *(folder / "none" if one == path else one for one in files)))
        refuses(check("duopoly-agent", config), f"switch.{path.name}: {folder}/none: No such file")


def controller(folder, more=""):
    config = folder / "duopolyd.yaml"
    config.write_text(f"listen: tcp://127.0.0.1:*\nsocket: {folder}/s\nstate: {folder}\n{more}\n")
    return config


def test_keys_of_a_controller(folder):
    keys = folder / "keys"
    keys.mkdir()
    own = key(keys, "controller", "controller")
    assert check("duopolyd", controller(folder)).returncode == 0
    own.chmod(0o640)
    refuses(check("duopolyd", controller(folder)), "can be read by others")
    own.chmod(0o600)
    for name in ("controller.key", "controller.next.key"):
        right = own.read_text()
        path = keys / name
        path.write_text("nonsense\n")
        path.chmod(0o600)
        refuses(check("duopolyd", controller(folder)), name)
        path.write_text(right)
    key(keys, "h1", "agent").rename(own)
    refuses(check("duopolyd", controller(folder)), "is the key of h1 (agent), not of anybody (controller)")


@needs_root
def test_root_asks_about_the_controllers_key_as_who_owns_it(folder):
    keys = folder / "keys"
    keys.mkdir()
    own = key(keys, "controller", "controller")
    for path in (keys, own):
        os.chown(path, OWNER, OWNER)
    keys.chmod(0o700)
    assert check("duopolyd", controller(folder)).returncode == 0


@pytest.mark.parametrize("line, words", [("group: no-such-group", "no-such-group"), ("readers: no-such-group", "no-such-group"),
                                         ("listen: tcp://no-such0:7600", "no-such0"), ("log: {folder: /no/such/folder}", "/no/such/folder")])
def test_what_else_a_controller_names(folder, line, words):
    config = controller(folder)
    said = config.read_text()
    config.write_text((said if not line.startswith("listen") else said.replace("listen: tcp://127.0.0.1:*\n", "")) + line + "\n")
    refuses(check("duopolyd", config), words)


@pytest.mark.skipif(not os.path.exists(BUILD + "/duopoly-fastpath"), reason="duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")
@pytest.mark.parametrize("change, words", [
    (("", ""), None), (("iface=lo", "iface=nowhere0"), ["net_af_packet1,iface=nowhere0", "nowhere0"]), (("remote=lo", "remote=nowhere0"), ["nowhere0"]),
    (("cpus: [0]", "cpus: [1023]"), ["cpus", "1023"]), (("cpus: [0]", "group: no-such-group"), ["no-such-group"]),
    (("cpus: [0]", "readers: no-such-group"), ["no-such-group"])])
def test_what_a_data_plane_names(folder, change, words):
    config = folder / "fastpath.yaml"
    said = f"socket: {folder}/s\ncpus: [0]\nhost: {{device: \"net_tap0,remote=lo\"}}\nnetwork: {{device: \"net_af_packet1,iface=lo\", rate: 1 Gbps}}\n"
    config.write_text(said.replace(*change))
    done = check("duopoly-fastpath", config)
    if words:
        refuses(done, *words)
    else:
        assert (done.returncode, done.stderr) == (0, "")
