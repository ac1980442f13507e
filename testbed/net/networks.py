"""The networks that a testbed can have, by the names that TOPO takes."""

from testbed.net import leafspine, star

NETWORKS = {
    "star": star.Star,
    "leafspine": leafspine.LeafSpine,
}
