/* Links that are not as fast as the others, by name, as a command line says them:
 * `h3=100Mbps,h4.up=40Gbps,r0.s1=1Gbps`.
 *
 * hN is host N's uplink and downlink, rN.sM what leads from rack N's leaf to spine M and back (one
 * spine, s0, where spreading is ideal); `.up` (into the core) and `.down` (towards hosts) name one
 * of the two. Later words overrule earlier ones. */
#pragma once

#include "testbed/sim/network/topology.h"

/* Returns 0; −EINVAL with a sentence that names the word, with the topology as far as it got;
 * −ENOMEM. O(words + links). */
int own_links_read(struct topology *topology, const char *text, struct err *err);
