"""The benchmarks' own peers: what cannot begin is one sentence and leaves nothing."""

import importlib.util
import os
import shutil
from importlib.machinery import SourceFileLoader

import pytest

import nets

DATAPLANE = os.path.join(nets.TOP, "tests/bench/dataplane")


@pytest.fixture
def dataplane(monkeypatch):
    loader = SourceFileLoader("bench_dataplane", DATAPLANE)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "OVS_TIMEOUT_S", 4)
    return module


@nets.needs_root
@pytest.mark.skipif(not shutil.which("ovsdb-server"), reason="openvswitch-switch is not installed")
def test_an_open_vswitch_that_does_not_begin_is_one_sentence_and_leaves_nothing(dataplane, tmp_path, monkeypatch):
    monkeypatch.setattr(dataplane, "OVS", "/bin/false")
    with open(dataplane.HUGEPAGES) as file:
        before = file.read()
    switch = dataplane.OpenVswitch(str(tmp_path))
    try:
        with pytest.raises(dataplane.Failure, match="^ovs-vsctl failed: no answer in 4 s; "):
            switch.begin()
    finally:
        switch.end()
    assert len(switch.children) == 2 and all(child.poll() is not None for child in switch.children)
    with open(dataplane.HUGEPAGES) as file:
        assert file.read() == before
