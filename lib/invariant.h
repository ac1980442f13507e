/* What a header promises, held where it is given.
 *
 * assert() is for what costs nothing to be measured: it stays in every build, and a process that breaks a
 * promise ends there, with file and line, instead of going on with wrong books (the service manager starts
 * it again, and what was acknowledged is on the disk). checked() is for what is on a way that is passed
 * often, or is not O(1): builds with sanitizers and those without an optimizer look at it. Neither is for
 * input: what a peer, a file or an operator can say is refused with a sentence. */
#pragma once

#include <assert.h>

#ifdef CHECK_INVARIANTS
#define checked(promise) assert(promise)
#else
#define checked(promise) ((void)sizeof(promise))
#endif
