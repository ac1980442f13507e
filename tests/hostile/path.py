"""Finds the modules of tests/net, which these programs share the messages, namespaces and agents
with."""
import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET = os.path.join(TREE, "tests", "net")
if NET not in sys.path:
    sys.path.insert(0, NET)
