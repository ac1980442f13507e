r"""For mn: adds the test "duopoly" to any topology.

    mn --custom testbed/mininet/custom.py --topo tree,2 --switch lxbr --link tc,bw=50 \
        --controller none --test duopoly

The variable DUOPOLY has its options: DUOPOLY="jobs=FILE policy=NAME rate=100M logs=FOLDER"."""

import inspect
import os
import sys


def duopoly(net, *_words, **_named):
    from testbed.mininet import test
    test(net)


# mn runs this file's text without its __file__.
HERE = os.path.dirname(os.path.abspath(inspect.currentframe().f_code.co_filename))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir))
tests = {"duopoly": duopoly}
