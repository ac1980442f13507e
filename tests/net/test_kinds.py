"""Each kind of message of the schema, at each door, from each role that may not send it: refused,
and in which words.

A new kind has to be written here, beside those who may send it."""
import os
import socket

import pytest

from controller import DEADLINE, pb

KINDS = [field.name for field in pb.Envelope.DESCRIPTOR.oneofs_by_name["body"].fields]

AGENTS = {"hello", "inventory_part", "inventory_end", "agent_heartbeat", "load", "progress", "attempt_state", "output_lost", "agent_counters",
          "source_state", "host_room", "host_state", "switch_part", "links_part", "guests_part", "asked_part"}
FRAMEWORKS = {"framework_hello", "framework_job", "framework_stage", "framework_tasks", "framework_bytes", "framework_task", "framework_end",
              "framework_replayed", "framework_executor"}
READERS = {"list", "explain", "explain_thing", "get_status", "watch", "get_controller_keys", "get_audit",
           "get_events", "get_state", "await_idle"}
SCHEDULERS = {"submit_begin", "submit_stage", "submit_tasks", "submit_bytes", "submit_end", "submit_prepare", "submit_commit", "cancel_job"}
OPERATORS = {"order_job", "set_log_level", "drain_host", "set_policy", "forget_host", "set_stance", "set_user",
             "reload_config"}
ADMINS = {"key_set", "key_revoke", "rotate_controller", "store_care"}
MAY = {"read-only": READERS, "scheduler": READERS | SCHEDULERS, "operator": READERS | SCHEDULERS | OPERATORS,
       "admin": READERS | SCHEDULERS | OPERATORS | ADMINS}
LATER = b"\x08\x01\x9a\x3f\x02\x08\x05"  # version 1, and a field 1011 with a message in it

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="other users are needed: only root can be one")


def encoded(kind):
    envelope = pb.Envelope(version=1)
    getattr(envelope, kind).SetInParent()
    return envelope.SerializeToString()


def words_for_client(role, kind):
    """Why a client with this role is refused; None: it is not, for that."""
    if kind in MAY[role]:
        return None
    if kind in FRAMEWORKS | set().union(*MAY.values()):
        return f"'{kind}' takes another role than {role}"
    return f"clients cannot ask with a message of kind '{kind}'"


def ask_all(ask, role, left_out=()):
    """Each kind, also those that it may send, and one that nobody knows."""
    asked = {kind: words_for_client(role, kind) for kind in KINDS if kind not in left_out}
    for kind, words in asked.items():
        said = ask(encoded(kind))
        assert said == words if words else not any(word in said for word in ("takes another role", "clients cannot")), (kind, said)
    assert ask(LATER) == "clients cannot ask with a message of kind 'unknown'"
    return sum(words is not None for words in asked.values())


def on_the_socket(path, role, group=None):
    """Asks with all of them as another user of the group, or as root; an exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        if group:
            os.setgroups([])
            os.setgid(group)
            os.setuid(60001)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(DEADLINE)
            client.connect(str(path))

            def ask(message):
                client.send(message)
                return pb.Envelope.FromString(client.recv(65536)).refused.text
            assert ask_all(ask, role) > len(KINDS) / 2
            status = 0
    except AssertionError as error:
        print(error, flush=True)
    finally:
        os._exit(status)


@needs_root
def test_what_users_of_this_machine_may_not_ask(cluster):
    daemon = cluster.daemon(log=None, config="group: daemon\nreaders: nogroup\n")
    daemon.folder.chmod(0o711)
    assert on_the_socket(daemon.socket, "admin") == 0
    assert on_the_socket(daemon.socket, "operator", group=1) == 0
    assert on_the_socket(daemon.socket, "read-only", group=65534) == 0


def asker(peer):
    def ask(message):
        peer.socket.send(message)
        while True:
            envelope = peer.receive()
            if not envelope.HasField("lease"):
                return envelope.refused.text
    return ask


@pytest.mark.parametrize("role", MAY)
def test_what_keys_of_clients_may_not_ask(cluster, role):
    daemon = cluster.daemon(log=None, keys=True)
    peer = cluster.agent(daemon, "c", key=daemon.key("c", role))
    # Whoever has a place as a client may say that it is there.
    assert ask_all(asker(peer), role, left_out=["acknowledge"])


@pytest.mark.parametrize("role, may, who", [("agent", AGENTS, "an agent"), ("framework", FRAMEWORKS, "a framework")])
def test_what_keys_of_hosts_and_frameworks_may_not_send(cluster, role, may, who):
    daemon = cluster.daemon(log=None, keys=True)
    ask = asker(cluster.agent(daemon, "w1", key=daemon.key("w1", role)))
    for kind in KINDS:
        words = ask(encoded(kind)) if kind not in ("hello", "framework_hello") or kind not in may else None
        assert (words == f"{who} may not send '{kind}'") == (kind not in may | {"acknowledge"}), (kind, words)


def test_what_an_agents_session_does_not_take(cluster):
    """Without keys whoever connects may be an agent."""
    daemon = cluster.daemon(log=None)
    agent = cluster.agent(daemon, "w1")
    agent.join()
    for kind in KINDS:
        if kind in AGENTS | {"acknowledge", "framework_hello"}:
            continue
        envelope = pb.Envelope(version=1, epoch=agent.epoch, acknowledged=agent.effected)
        getattr(envelope, kind).SetInParent()
        agent.socket.send(envelope.SerializeToString())
        assert agent.expect("refused").refused.text == "agents do not send messages of this kind"
    assert daemon.ctl("hosts")["hosts"][0]["state"] == "up"
