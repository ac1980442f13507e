/* Checks at run time what headers promise.
 *
 * assert() is for what costs nearly nothing: it stays in every build. A process that breaks a
 * promise aborts with file and line instead of continuing with wrong state; the service manager
 * restarts it, and what was acknowledged is on the disk. checked() is for hot paths and for checks
 * that are not O(1): it works in builds with sanitizers and in builds without optimization. Neither
 * is for input: what a peer, a file or an operator says wrongly is refused with a sentence. */
#pragma once

#include <assert.h>

#ifdef CHECK_INVARIANTS
#define checked(promise) assert(promise)
#else
#define checked(promise) ((void)sizeof(promise))
#endif
