"""A short form of make test-hostile: every role draws its moves by seed beside a normal load, and no promise breaks.

Times are printed and not judged: this machine may be busy. TEST_SEED= may be given; the seed is printed."""
import os
import random

import pytest

from controller import pb
from nets import needs_root
from tests.hostile import edges, role, role_agent, role_driver, role_reader, role_stranger, role_submitter, role_task, run, task_program

SEED = int(os.environ.get("TEST_SEED", 20261126))
SECONDS = 9


@needs_root
@pytest.mark.parametrize("keys", [True, False], ids=["keys", "no-keys"])
def test_every_role_draws_its_moves_and_no_promise_breaks(keys):
    # Without keys an agent is whoever says its name: no promise holds against that one.
    roles = [name for name in role.ROLES if keys or name != "agent"]
    made = run.Run(roles, SECONDS if keys else SECONDS / 2, SEED, keys=keys, long=False, rights=run.Packaged if keys else run.AsRoot)
    print("\nTEST_SEED=%d" % SEED)
    faults = made.all()
    assert not faults, faults


def test_a_move_is_one_entry():
    """Every table has names of its own and weights, and those that speak on the wire know each kind that their role may send."""
    kinds = role.kinds()
    for module, sender in ((role_agent, "AGENT"), (role_driver, "FRAMEWORK"), (role_reader, "READER"), (role_submitter, "SCHEDULER"), (role_stranger, None),
                           (role_task, None)):
        moves = module.moves({})
        assert len({move.name for move in moves}) == len(moves) and all(move.weight > 0 for move in moves)
        assert sender is None or len(kinds[sender]) >= 6, kinds
    assert len({name for name, _, _ in task_program.MOVES}) == len(task_program.MOVES)


def test_each_kind_is_filled_to_its_edges():
    """Of every kind of the wire: it can be written, fits into an envelope, and its fields come to their bounds."""
    rng = random.Random(SEED)
    known = edges.Known(jobs=[7], attempts=[9], hosts=["h1"], addresses=[bytes(16)])
    seen = set()
    for field in pb.Envelope.DESCRIPTOR.oneofs_by_name["body"].fields:
        for _ in range(40):
            body = edges.body(rng, pb, field.name, known)
            envelope = pb.Envelope(version=1, **{field.name: body})
            assert len(edges.written(envelope)) <= edges.ENVELOPE_BYTES
            seen.update(value for _, value in body.ListFields() if isinstance(value, int))
    assert {2**32 - 1, 2**64 - 1, 7, 9} <= seen and min(seen) < -2**31


def test_what_is_no_utf8_reaches_the_wire():
    assert b"\xff\xfe" in edges.written(pb.Envelope(version=1, drain_host=pb.DrainHost(name=edges.NOT_UTF8)))
