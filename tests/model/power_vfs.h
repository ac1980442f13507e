/* Files that live in memory and lose power: an SQLite VFS for tests.
 *
 * A write is on the medium only once its file was synced. When the power goes (at the n-th write,
 * of any file) each write since the last sync of its file is, by chance, there, not there, or torn
 * at a sector's edge; nothing works until it is back. Creating a file, and deleting one with its
 * folder synced, last at once. One connection, one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define POWER_VFS "power"

/* Registers it, with no file; the power goes at write number `at` (from 1; 0: never). */
void power_begin(uint64_t seed, uint64_t at);
/* Whether it has gone, and how many writes there were. */
bool power_gone(void);
uint64_t power_writes(void);
/* It is back: files are what reached the medium, and it goes no more. */
void power_back(void);
/* Unregisters it and forgets all files. */
void power_end(void);
