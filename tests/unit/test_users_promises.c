/* What shares and debts promise, over a million operations of an engine that divides by `sequence`
 * above greedy, which holds nothing: users join, leave, get new shares, are idle and busy, lend,
 * take back by force; attempts end in every way, hosts are lost, the engine is dumped and loaded.
 *
 * After each step: nothing is free that a ready task fits; nobody both owes and is owed; and each
 * user has used exactly its entries of the sequence, less what it is owed more than before. From
 * time to time all users get work, and nothing changes any more: then debts are paid in as many
 * offers as debts.h says, of which a borrower keeps its part; and turns are exact. */
#include "tests/unit/draws.h"
#include "tests/unit/users_script.h"

#include "controller/engine/share/sequence.h"

#include <errno.h>

enum { OPERATIONS = DRAWS(1000000, 60000) };
enum { USERS = 5, HOSTS = 3, SLOTS = 4, ROOM = HOSTS * SLOTS, STEPS = 300, TURNS = 3 };
enum { JOB_MAPS = 200, OFFERS_MAX = 20000 };

struct running {
    uint64_t attempt;
    uint32_t user, host;
    int64_t size;
    bool stopped; /* its host is to end it: what it was charged is settled */
    bool over;    /* by an event of this step, and whether its user got back what it was charged */
    bool returned;
};

struct world {
    struct script s;
    uint64_t stream, jobs;
    int64_t permille;
    bool even, timed; /* by amount × time */
    struct running running[ROOM];
    uint32_t n_running;
    /* The turn, and what each user had when the users last changed; what it used since. */
    struct sequence *sequence;
    struct user_view known[USERS];
    uint32_t n;
    uint64_t position;
    int64_t used[USERS], used_in_all;
    bool changed;
};

enum kind {
    STARTS,
    ENDS,
    RETURNS,
    FAILURES,
    FORCED,
    CANCELS,
    JOINS,
    LEAVES,
    SHARES,
    HOSTS_LOST,
    LOADS,
    OPERATION_KINDS,
    IN_DEBT = OPERATION_KINDS,
    PAID,
    FULL_TURNS,
    KINDS
};
static const char *const kinds[KINDS] = {"starts",
                                         "ends",
                                         "of these returned",
                                         "failed",
                                         "were stopped by force",
                                         "cancels",
                                         "joins",
                                         "leaves",
                                         "new shares",
                                         "hosts lost",
                                         "dump, load",
                                         "steps with debts",
                                         "units paid back",
                                         "full turns"};
static uint64_t counts[KINDS];

static uint64_t operations(void)
{
    uint64_t n = 0;
    for (int i = 0; i < OPERATION_KINDS; i++)
        n += counts[i];
    return n;
}

static uint64_t draw(struct world *w, uint64_t below)
{
    return test_random(&w->stream) % below;
}

/* ---- what is running ---- */

static struct running *find(struct world *w, uint64_t attempt)
{
    for (uint32_t i = 0; i < w->n_running; i++)
        if (w->running[i].attempt == attempt)
            return &w->running[i];
    return NULL;
}

static void use(struct world *w, uint32_t user, int64_t size)
{
    w->used[user] += size;
    w->used_in_all += size;
}

/* A start, or one that comes back. */
static void charge(struct world *w, const struct running *running, int64_t size)
{
    if (!w->timed)
        use(w, running->user, size);
}

static void give_back(struct world *w, struct running *running)
{
    if (running->stopped || running->returned)
        return;
    running->returned = true;
    charge(w, running, -running->size);
    counts[RETURNS]++;
}

/* Before the step that ends it. */
static void ends(struct world *w, struct running *running, bool returned)
{
    running->over = true;
    counts[ENDS]++;
    if (returned)
        give_back(w, running);
}

/* What a job's failure stops is not charged back, nor what is over meanwhile. */
static void stop(struct world *w, struct running *running, bool taken_back)
{
    if (taken_back) {
        give_back(w, running);
        counts[FORCED]++;
    } else if (running->returned && running->over) {
        charge(w, running, running->size);
    }
    running->stopped = true;
}

static void start(struct world *w, const struct decision *start)
{
    assert_true(w->n_running < ROOM);
    struct running *running = &w->running[w->n_running++];
    *running = (struct running){.attempt = start->start.attempt,
                                .user = user_of(&w->s, start->start.job),
                                .host = start->start.host,
                                .size = start->start.resources.amount[RES_SLOTS]};
    charge(w, running, running->size);
    counts[STARTS]++;
}

static void forget_what_is_over(struct world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_running; i++)
        if (!w->running[i].over)
            w->running[n++] = w->running[i];
    w->n_running = n;
}

static void follow(struct world *w)
{
    const struct decision *decision;
    for (size_t i = 0; (decision = script_decision(&w->s, DECISION_STOP, i)); i++) {
        struct running *running = find(w, decision->stop.attempt);
        assert_non_null(running);
        stop(w, running, strcmp(reason_name(decision->reason), "taken-back") == 0);
    }
    forget_what_is_over(w);
    for (size_t i = 0; (decision = script_decision(&w->s, DECISION_START, i)); i++)
        start(w, decision);
}

/* ---- what must be true ---- */

static uint32_t list_users(const struct world *w, struct user_view *users)
{
    uint32_t n = 0;
    for (uint64_t from = 0; n < USERS && engine_user_from(w->s.engine, from, &users[n]) == 0; n++)
        from = (uint64_t)users[n].user + 1;
    return n;
}

static bool are_others(const struct world *w, const struct user_view *users, uint32_t n)
{
    bool others = w->changed || n != w->n;
    for (uint32_t i = 0; !others && i < n; i++)
        others = users[i].user != w->known[i].user || users[i].share != w->known[i].share;
    return others;
}

/* What is counted begins here. */
static void count_anew(struct world *w, const struct user_view *users, uint32_t n)
{
    struct sequence_user shares[USERS];
    struct err err = {0};
    sequence_destroy(w->sequence);
    for (uint32_t i = 0; i < n; i++) {
        w->known[i] = users[i];
        shares[i] = (struct sequence_user){users[i].user, users[i].share};
    }
    w->n = n;
    enum sequence_order order = w->even ? SEQUENCE_EVEN : SEQUENCE_LITERAL;
    if (sequence_create(shares, n, order, &w->sequence, &err) < 0)
        fail_msg("%s", err.text);
    w->position = engine_division(w->s.engine).position;
    memset(w->used, 0, sizeof(w->used));
    w->used_in_all = 0;
    w->changed = false;
}

/* Entries of each user since then, by a walk over the turn. */
static void count_entries(const struct world *w, int64_t *entries)
{
    memset(entries, 0, USERS * sizeof(*entries));
    sequence_seek(w->sequence, w->position);
    if (w->used_in_all >= 0)
        sequence_take(w->sequence, (uint64_t)w->used_in_all, entries);
    else
        sequence_back(w->sequence, (uint64_t)-w->used_in_all, entries);
}

/* WHY not as the engine has it: until the next offer that is of a turn that was not divided by what
 * shares have in common. */
static uint32_t position_in_turn(const struct world *w)
{
    return (uint32_t)(engine_division(w->s.engine).position % sequence_entries(w->sequence));
}

static void check_uses(const struct world *w, const struct user_view *users)
{
    int64_t entries[USERS];
    count_entries(w, entries);
    assert_int_equal(position_in_turn(w), sequence_position(w->sequence));
    for (uint32_t i = 0; i < w->n; i++)
        assert_int_equal(w->used[users[i].user], entries[i] - (users[i].owed - w->known[i].owed));
}

static uint64_t check_debts(const struct world *w, const struct user_view *users, uint32_t n)
{
    struct debt_view debt;
    int64_t sum = 0;
    uint64_t debts = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += users[i].owed;
    assert_int_equal(sum, 0);
    for (uint32_t b = 0, l = 0; engine_debt_from(w->s.engine, b, l, &debt) == 0; debts++) {
        /* WHY that is all: who both owed and was owed would owe less in all than some debt. */
        assert_true(debt.amount > 0 && debt.borrower != debt.lender);
        assert_true(view(&w->s, debt.borrower).owed <= -(int64_t)debt.amount);
        assert_true(view(&w->s, debt.lender).owed >= (int64_t)debt.amount);
        b = debt.borrower;
        l = debt.lender + 1;
    }
    return debts;
}

static void check_room(const struct world *w)
{
    const struct engine *engine = w->s.engine;
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        assert_true(!engine->shapes[i]->n_ready || !engine->shapes[i]->fitting);
}

static void check(struct world *w)
{
    struct user_view users[USERS];
    uint32_t n = list_users(w, users);
    counts[IN_DEBT] += check_debts(w, users, n) > 0;
    check_room(w);
    if (are_others(w, users, n))
        count_anew(w, users, n);
    else
        check_uses(w, users);
}

/* ---- operations ---- */

/* Tenths of a second, in which all that runs is charged, or less. */
static void pass(struct world *w)
{
    int64_t tenths = w->timed ? (int64_t)draw(w, 8) : 0;
    w->s.now_ns += w->timed ? tenths * SECOND / 10 : SECOND / 1000;
    for (uint32_t i = 0; i < w->n_running; i++)
        if (!w->running[i].stopped)
            use(w, w->running[i].user, tenths * w->running[i].size);
}

static void tell(struct world *w, const struct event *events, size_t n)
{
    pass(w);
    w->s.reload = !draw(w, 100);
    counts[LOADS] += w->s.reload;
    script_events(&w->s, events, n);
    follow(w);
    check(w);
}

static struct event end_of(const struct running *running, enum event_kind kind)
{
    struct event event = {.kind = kind};
    event.attempt.attempt = running->attempt;
    return event;
}

/* Some of what runs is done, is lost or was killed. */
static void end_some(struct world *w)
{
    struct event events[ROOM];
    size_t n = 0;
    for (uint32_t i = 0; i < w->n_running; i++) {
        struct running *running = &w->running[i];
        uint64_t how = draw(w, 40);
        if (draw(w, 3))
            continue;
        enum event_kind kind = running->stopped || !how ? EVENT_ATTEMPT_KILLED
                               : how == 1               ? EVENT_ATTEMPT_LOST
                                                        : EVENT_ATTEMPT_DONE;
        events[n++] = end_of(running, kind);
        ends(w, running, kind != EVENT_ATTEMPT_DONE);
    }
    tell(w, events, n);
}

static void fail_one(struct world *w)
{
    struct running *running = w->n_running ? &w->running[draw(w, w->n_running)] : NULL;
    bool refused = draw(w, 2);
    if (!running || running->stopped)
        return;
    struct event event = end_of(running, refused ? EVENT_ATTEMPT_REFUSED : EVENT_ATTEMPT_FAILED);
    ends(w, running, refused);
    counts[FAILURES]++;
    tell(w, &event, 1);
}

static void submit_maps(struct world *w, uint32_t user, uint32_t maps, int64_t slots,
                        int64_t priority)
{
    struct script_job of = {.number = ++w->jobs, .maps = maps, .map_ns = SECOND};
    uint64_t room[2 * JOB_MAPS];
    struct event events[8];
    char name[32];
    size_t n = script_job_events(&of, events, room, name, sizeof(name));
    events[0].job_begin.user = user;
    events[0].job_begin.priority = priority;
    events[1].job_stage.demand.amount[RES_SLOTS] = slots;
    tell(w, events, n);
}

static void set_share(struct world *w, uint32_t user, uint32_t share)
{
    struct event event = {.kind = EVENT_USER_SET, .request = ++w->s.requests};
    char name[16];
    snprintf(name, sizeof(name), "u%u", user);
    event.user_set.user = user;
    event.user_set.name = name;
    event.user_set.share = share;
    counts[is_there(&w->s, user) ? SHARES : JOINS]++;
    w->changed = true;
    tell(w, &event, 1);
}

static void leave(struct world *w, uint32_t user)
{
    struct event event = {.kind = EVENT_USER_LEAVE, .request = ++w->s.requests};
    event.user_leave.user = user;
    counts[LEAVES] += is_there(&w->s, user);
    w->changed = true;
    tell(w, &event, 1);
}

static void cancel(struct world *w, uint64_t job)
{
    struct event event = {.kind = EVENT_JOB_CANCEL, .request = ++w->s.requests};
    event.job_cancel.job = job;
    counts[CANCELS]++;
    tell(w, &event, 1);
}

static void lose_host(struct world *w, uint32_t host)
{
    struct event event = {.kind = EVENT_HOST_LOST};
    event.host.host = host;
    for (uint32_t i = 0; i < w->n_running; i++)
        if (w->running[i].host == host)
            ends(w, &w->running[i], true);
    counts[HOSTS_LOST]++;
    tell(w, &event, 1);
}

static void bring_back(struct world *w, uint32_t host)
{
    struct event event = {.kind = EVENT_HOST_BACK};
    event.host.host = host;
    tell(w, &event, 1);
}

static void submit_something(struct world *w)
{
    uint32_t user = (uint32_t)draw(w, USERS), share = 1 + (uint32_t)draw(w, 6);
    bool urgent = !draw(w, 4);
    /* WHY also where it leaves: it may be gone before its job begins. */
    if (!is_there(&w->s, user) || view(&w->s, user).leaves)
        set_share(w, user, draw(w, 8) ? share : 40);
    submit_maps(w, user, 1 + (uint32_t)draw(w, urgent ? 4 : 50), 1 + (int64_t)draw(w, 3),
                urgent ? 7 : 0);
}

static void do_something(struct world *w)
{
    uint64_t what = draw(w, 1000);
    if (what < 800)
        end_some(w);
    else if (what < 850)
        fail_one(w);
    else if (what < 950)
        submit_something(w);
    else if (what < 970)
        set_share(w, (uint32_t)draw(w, USERS), 1 + (uint32_t)draw(w, 6));
    else if (what < 980)
        leave(w, 1 + (uint32_t)draw(w, USERS - 1));
    else if (what < 985)
        lose_host(w, (uint32_t)draw(w, HOSTS));
    else if (what < 995)
        bring_back(w, (uint32_t)draw(w, HOSTS));
    else
        cancel(w, 1 + draw(w, w->jobs + 1));
}

/* ---- all have work, and nothing changes ---- */

static void end_stopped(struct world *w)
{
    struct event events[ROOM];
    size_t n = 0;
    for (uint32_t i = 0; i < w->n_running; i++) {
        if (!w->running[i].stopped)
            continue;
        events[n++] = end_of(&w->running[i], EVENT_ATTEMPT_KILLED);
        ends(w, &w->running[i], true);
    }
    tell(w, events, n);
}

/* Tasks of one slot, of each user as many as it needs for a while. */
static void give_work(struct world *w)
{
    for (uint32_t user = 0; user < USERS; user++) {
        struct user_view of;
        struct job_view job;
        uint64_t ready = 0;
        bool there = engine_user_from(w->s.engine, user, &of) == 0 && of.user == user && !of.leaves;
        for (uint64_t after = 0; there && engine_job_after(w->s.engine, after, &job) == 0;
             after = job.job)
            ready += job.user == user ? job.ready : 0;
        if (there && ready < ROOM)
            submit_maps(w, user, JOB_MAPS, 1, 0);
    }
}

/* Who leaves has nothing to run any more. */
static bool somebody_leaves(const struct world *w)
{
    struct user_view users[USERS];
    bool leaves = false;
    for (uint32_t i = 0, n = list_users(w, users); i < n; i++)
        leaves |= users[i].leaves;
    return leaves;
}

static void end_first(struct world *w, uint32_t most)
{
    struct event events[ROOM];
    size_t n = 0;
    for (uint32_t i = 0; i < w->n_running && n < most; i++) {
        events[n++] = end_of(&w->running[i], EVENT_ATTEMPT_DONE);
        ends(w, &w->running[i], false);
    }
    tell(w, events, n);
}

static void begin_calm(struct world *w)
{
    struct job_view job;
    for (uint32_t host = 0; host < HOSTS; host++)
        bring_back(w, host);
    for (uint64_t after = 0; engine_job_after(w->s.engine, after, &job) == 0; after = job.job)
        cancel(w, job.job);
    give_work(w);
    end_stopped(w);
    for (int i = 0; somebody_leaves(w); i++) {
        assert_true(i < OFFERS_MAX);
        give_work(w);
        end_first(w, 1 + (uint32_t)draw(w, ROOM));
    }
    assert_int_equal(w->n_running, ROOM);
}

/* A borrower's offers since nothing changes. */
struct borrower {
    int64_t owed;         /* then */
    uint64_t offers;      /* in which it has entries, */
    int64_t places, kept; /* how many, and how many of them it used */
};

static void follow_borrower(const struct world *w, struct borrower *b, int64_t places, int64_t kept)
{
    if (!places)
        return;
    b->offers++;
    b->places += places;
    b->kept += kept;
    assert_true(b->offers <= (uint64_t)b->owed * (uint64_t)((999 + w->permille) / w->permille));
    assert_true(1000 * b->kept > (1000 - w->permille) * b->places - 1000);
}

static void pay_debts(struct world *w)
{
    struct borrower borrowers[USERS];
    struct debt_view debt;
    give_work(w);
    for (uint32_t i = 0; i < w->n; i++)
        borrowers[i] = (struct borrower){.owed = -view(&w->s, w->known[i].user).owed};
    for (int k = 0; engine_debt_from(w->s.engine, 0, 0, &debt) == 0; k++) {
        struct user_view before[USERS];
        int64_t used[USERS], had[USERS], has[USERS];
        assert_true(k < OFFERS_MAX);
        give_work(w);
        list_users(w, before);
        memcpy(used, w->used, sizeof(used));
        count_entries(w, had);
        end_first(w, 1 + (uint32_t)draw(w, ROOM));
        count_entries(w, has);
        for (uint32_t i = 0; i < w->n; i++)
            if (before[i].owed < 0) {
                uint32_t user = before[i].user;
                counts[PAID] += (uint64_t)(view(&w->s, user).owed - before[i].owed);
                follow_borrower(w, &borrowers[i], has[i] - had[i], w->used[user] - used[user]);
            }
    }
}

/* From the first entry on: each user within its order's bound, and exact at each end of a turn. */
static void check_turn(const struct world *w, const int64_t *used, uint32_t t)
{
    int64_t entries = sequence_entries(w->sequence);
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t user = w->known[i].user;
        int64_t share = sequence_share(w->sequence, i),
                off = (w->used[user] - used[user]) * entries - (int64_t)t * share;
        assert_true(off > -entries);
        assert_true(w->even ? off < entries : off <= (int64_t)(w->n - 1) * share);
        assert_true(t % entries || !off);
    }
}

static void run_turns(struct world *w)
{
    uint32_t entries = sequence_entries(w->sequence);
    int64_t used[USERS];
    give_work(w);
    for (uint32_t left; (left = entries - position_in_turn(w)) != entries;) {
        give_work(w);
        end_first(w, left < ROOM ? left : ROOM);
    }
    memcpy(used, w->used, sizeof(used));
    for (uint32_t t = 0; t < TURNS * entries;) {
        uint32_t left = entries - t % entries, most = 1 + (uint32_t)draw(w, ROOM),
                 n = left < most ? left : most;
        give_work(w);
        end_first(w, n);
        t += n;
        check_turn(w, used, t);
    }
    counts[FULL_TURNS] += TURNS;
}

static void begin_world(struct world *w, bool timed)
{
    static const int64_t permilles[] = {1000, 500, 300};
    struct engine_config config = script_config();
    w->permille = permilles[draw(w, 3)];
    w->even = draw(w, 2);
    strcpy(config.place, "greedy");
    strcpy(config.turn, "fifo");
    strcpy(config.users, timed ? "sequence-time" : "sequence");
    config.probe_ns = 0; /* what failed is tried again by whose turn it is */
    engine_config_say(&config, "even", w->even, NULL);
    if (!timed) {
        engine_config_say(&config, "repay_permille", w->permille, NULL);
        engine_config_say(&config, "force_priority", 5, NULL);
    }
    w->timed = timed;
    script_begin(&w->s, &config);
    w->jobs = w->n_running = w->n = 0;
    w->changed = true;
    for (uint32_t host = 0; host < HOSTS; host++)
        script_host(&w->s, host, SLOTS);
    for (uint32_t user = 1; user < USERS; user++)
        set_share(w, user, 1 + (uint32_t)draw(w, 6));
}

static void test_shares_and_debts_keep_what_they_promise(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 11};
    while (operations() < OPERATIONS) {
        begin_world(&w, false);
        for (int k = 0; k < STEPS; k++)
            do_something(&w);
        begin_calm(&w);
        pay_debts(&w);
        run_turns(&w);
        script_end(&w.s);
    }
    sequence_destroy(w.sequence);
    for (int i = 0; i < KINDS; i++) {
        print_message("%llu %s\n", (unsigned long long)counts[i], kinds[i]);
        assert_true(counts[i] > 10);
    }
}

static void test_what_users_hold_is_charged_as_time_passes(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 12};
    for (int round = 0; round < 20; round++) {
        begin_world(&w, true);
        for (int k = 0; k < STEPS; k++)
            do_something(&w);
        script_end(&w.s);
    }
    sequence_destroy(w.sequence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_and_debts_keep_what_they_promise),
        cmocka_unit_test(test_what_users_hold_is_charged_as_time_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
