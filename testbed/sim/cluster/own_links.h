/* Links with rates of their own, by name, as on a command line:
 * `h3=100Mbps,h4.up=40Gbps,r0.s1=1Gbps`.
 *
 * hN is host N's uplink and downlink, rN.sM the links between rack N's leaf and spine M (one spine,
 * s0, with ideal spreading); `.up` (into the core) and `.down` (towards hosts) name one of the two.
 * Later words overrule earlier ones. */
#pragma once

#include "testbed/sim/network/topology.h"

/* 0; −EINVAL with a sentence that names the word, with the topology as far as it was read; −ENOMEM.
 * O(words + links). */
int own_links_read(struct topology *topology, const char *text, struct err *err);
