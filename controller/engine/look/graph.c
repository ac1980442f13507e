/* The graph by which the placement decides, for readers outside. */
#include "controller/engine/policy/questions.h"
#include "lib/join.h"

#include <errno.h>

int engine_graph(const struct engine *engine, uint64_t *ret_round, struct err *err)
{
    const struct place_policy *place = engine->place;
    char names[128] = "";
    struct arc_view arc;
    *ret_round = 0;
    if (place->arc_after) {
        place->arc_after(engine, 0, ret_round, &arc);
        return 0;
    }
    for (size_t i = 0; place_policies[i]; i++)
        if (place_policies[i]->arc_after)
            join_word(names, sizeof(names), ", ", place_policies[i]->policy.name);
    return err_set(err, EINVAL,
                   "the placement %s decides by no graph; those that do: %s (duopolyctl policy "
                   "place NAME)",
                   place->policy.name, names);
}

int engine_arc_after(const struct engine *engine, uint64_t after, struct arc_view *ret_arc)
{
    uint64_t round;
    return engine->place->arc_after && engine->place->arc_after(engine, after, &round, ret_arc)
               ? 0
               : -ENOENT;
}
