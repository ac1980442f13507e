/* Reports guests: a row for each application. */
#include "hostagent/guests/guests_parts.h"
#include "hostagent/guests/tcp_received_nl.h"
#include "lib/wire.h"

#include <stddef.h>

#define SOCKETS_EVERY 4 /* tellings: two seconds */

static bool is_uncounted(const struct guest *guest)
{
    return guest->counter < 0 && !guest->process.elsewhere;
}

static void sockets_take(struct guest *guest, const struct tcp_received *received)
{
    struct guest_socket_bytes *sockets;
    uint32_t n;
    if (tcp_received_of(received, guest->process.pid, &sockets, &n) >= 0)
        guest->bytes = guest_sockets_take(&guest->sockets, sockets, n);
}

/* Of guests without a cgroup that is counted. */
static void sockets_read(struct guests *guests)
{
    struct tcp_received received = {0};
    bool read = false;
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next) {
        if (!is_uncounted(guest))
            continue;
        if (!read && tcp_received_read(&received, NULL) < 0)
            return;
        read = true;
        sockets_take(guest, &received);
    }
    tcp_received_done(&received);
}

static void guest_tell(struct guest *guest, duopoly_GuestApplication *row)
{
    row->guests++;
    row->marked += guest->marked;
    row->received_bytes += guest_bytes(guest);
    row->tasks += guest->tasks.begun;
    row->tasks_unknown += guest->tasks.unknown;
    row->shared_bytes += guest->tasks.shared_bytes;
    if (guest->line.cores > row->cores)
        row->cores = guest->line.cores;
    if (!guest->marked) {
        row->rung = duopoly_Rung_RUNG_OBSERVE;
        wire_copy(row->text, sizeof(row->text), guest->why);
    }
}

static void application_tell(const struct guest_application *application,
                             duopoly_GuestApplication *row)
{
    *row = (duopoly_GuestApplication){.user = application->user,
                                      .received_bytes = application->gone_bytes,
                                      .tasks = application->tasks,
                                      .tasks_unknown = application->tasks_unknown,
                                      .shared_bytes = application->shared_bytes,
                                      .vouched = application->vouched,
                                      .rung = duopoly_Rung_RUNG_MARK,
                                      .level = application->level < MARK_LEVELS ? application->level
                                                                                : -1};
    wire_copy(row->name, sizeof(row->name), application->name);
}

bool guests_tell(struct guests *guests, duopoly_GuestsPart *ret_part)
{
    int place[GUESTS_APPLICATIONS];
    *ret_part = (duopoly_GuestsPart){.left_out = guests->left_out + guests->malformed};
    if (guests->tellings++ % SOCKETS_EVERY == 0)
        sockets_read(guests);
    for (int i = 0; i < GUESTS_APPLICATIONS; i++)
        if (guests->applications[i].guests_n) {
            place[i] = ret_part->applications_count++;
            application_tell(&guests->applications[i], &ret_part->applications[place[i]]);
        }
    for (struct guest *guest = guests->table; guest; guest = guest->hh.next) {
        ret_part->refused += guests->config.rung == GUESTS_MARK &&
                             !guest->application->configured && !guest->application->vouched;
        guest_tell(guest,
                   &ret_part->applications[place[guest->application - guests->applications]]);
    }
    bool before = guests->told;
    guests->told = ret_part->applications_count > 0;
    return before || guests->told;
}

void guests_each_cgroup(const struct guests *guests,
                        void (*each)(void *user, uint64_t cgroup, const char *application),
                        void *user)
{
    for (const struct guest *guest = guests ? guests->table : NULL; guest; guest = guest->hh.next)
        if (guest->cgroup_id)
            each(user, guest->cgroup_id, guest->application->name);
}
