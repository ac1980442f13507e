/* How the entries of a turn are ordered: the two rules of sequence.h. Private to
 * controller/engine/share.
 *
 * One object in several files: sequence. */
#pragma once

#include "controller/engine/share/sequence.h"

/* Fills a turn: entries = sum of the shares (each ≥ 1, without a common divisor or with one), at
 * most SEQUENCE_ENTRIES_MAX. −ENOMEM. O(entries · log n). */
int sequence_order_fill(const uint32_t *shares, uint32_t n, enum sequence_order order,
                        uint32_t *ret_entry, uint32_t entries);
