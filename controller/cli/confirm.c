#include "controller/cli/confirm.h"

#include "lib/conf.h"

#include <errno.h>

#define SECOND INT64_C(1000000000)
#define MOST_S 3600

int confirm_seconds(const struct request *request, uint32_t *ret_s, struct err *err)
{
    int64_t ns = 0;
    *ret_s = 0;
    if (!request->confirm)
        return 0;
    int r = conf_number(CONF_DURATION, request->confirm, &ns, err);
    if (r < 0)
        return r;
    if (ns < SECOND || ns > MOST_S * SECOND)
        return err_set(err, EINVAL, "--confirm is 1 s to %d s, not '%s'", MOST_S, request->confirm);
    *ret_s = (uint32_t)((ns + SECOND - 1) / SECOND);
    return 0;
}

duopoly_Envelope *confirm_request(struct client *client, pb_size_t kind,
                                  const struct request *request)
{
    duopoly_Envelope *envelope = client_request(client, kind);
    struct err err;
    confirm_seconds(request, &envelope->confirm_s, &err);
    return envelope;
}
