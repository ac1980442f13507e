/* How much a property test draws. */
#pragma once

/* `all` in a build that optimizes, `few` with sanitizers or without optimization. WHY: there a
 * round takes 5 to 20 times as long, and what those builds are for (a wrong access, a leak, a
 * checked() promise, what another compiler makes of it) shows in most rounds. What only a rare
 * round shows, the build that draws all shows. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define DRAWS(all, few) (few)
#else
#define DRAWS(all, few) (all)
#endif
