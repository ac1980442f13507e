#include "hostagent/marks/probe_judge.h"

bool probe_judge(struct probe_judge *judge, enum probe_round round)
{
    const enum probe_verdict before = judge->verdict;
    if (round == PROBE_NOTHING)
        return false;
    judge->misses = round == PROBE_COUNTED ? 0 : judge->misses + 1;
    if (round == PROBE_COUNTED)
        judge->verdict = PROBE_RUNS;
    else if (judge->misses >= PROBE_MISSES)
        judge->verdict = PROBE_PASSED_BY;
    return judge->verdict != before;
}
