"""The networks that a testbed can have, by the names that NET and TOPO take."""

from testbed.net import dpdk, leafspine, mininets, star

NETWORKS = {
    ("netns", "star"): star.Star,
    ("netns", "leafspine"): leafspine.LeafSpine,
    ("dpdk", "star"): dpdk.Star,
    ("mininet", "star"): mininets.Star,
    ("mininet", "leafspine"): mininets.LeafSpine,
}
