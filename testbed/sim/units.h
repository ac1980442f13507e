/* Rates as people write them on a command line: `1Gbps`, `100Mbps`, `40G`, `1024Mibps`. */
#pragma once

#include "lib/err.h"

/* A number and k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024), then optionally `bps` or
 * `bit/s`: bits a second either way. *ret_bytes_s is between 1 and 10¹⁵. Returns 0 or −EINVAL with
 * a sentence that names the text. */
int units_parse_rate(const char *text, double *ret_bytes_s, struct err *err);
