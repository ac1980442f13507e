#include "controller/clients/config_requests.h"

#include "controller/clients/refusal.h"
#include "controller/reload.h"

#include <errno.h>

void config_reload_answer(struct conductor *conductor, duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    struct reload_report report;
    char words[sizeof(answer->body.accepted.text)];
    struct err err = {0};
    if (!parts->configuration) {
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this controller has no configuration to read again");
        return;
    }
    int r = reload_run(conductor, &report, &err);
    if (r < 0) {
        refused_answer(answer,
                       r == -EINVAL ? duopoly_Reason_REASON_MALFORMED : duopoly_Reason_REASON_STATE,
                       "%s", err.text);
        return;
    }
    reload_say(&report, words, sizeof(words));
    accepted_answer(answer, "%s", words);
}
