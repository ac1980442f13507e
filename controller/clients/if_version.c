#include "controller/clients/if_version.h"

#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"
#include "lib/join.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHANGES_SAID = 3 };

/* "root: drain h1; key of ann (operator): policy turn fair; and more" */
static void changes_say(const struct store *store, uint64_t version, char *text, size_t size)
{
    struct store_audit_row row = {.n = version - 1};
    char change[96];
    unsigned said = 0;
    *text = '\0';
    while (said <= CHANGES_SAID && store_change_after(store, row.n, &row) == 0) {
        snprintf(change, sizeof(change), "%.40s: %.50s", row.who, row.what);
        join_word(text, size, "; ", said < CHANGES_SAID ? change : "and more");
        said++;
    }
}

bool if_version_refuses(struct control *control, uint64_t client, const duopoly_Envelope *request)
{
    const struct store *store = control->parts->store;
    const uint64_t version = request->if_version;
    char changes[200];
    if (!version || version == store_version(store))
        return false;
    changes_say(store, version, changes, sizeof(changes));
    refused_answer(&control->answer, duopoly_Reason_REASON_CONFLICT,
                   "since version %" PRIu64 ": %s: look again", version,
                   *changes ? changes : "there is no such version");
    control_log(control, client, "%s --if-version %" PRIu64, wire_kind_name(request->which_body),
                version);
    return true;
}
