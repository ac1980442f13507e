/* Pages of lists beside others that the loop serves, scripted here. */
#include "tests/unit/test.h"

#include "controller/clients/control_shared.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PORTIONS = 10, ASKERS = 3 };

static struct {
    struct control *control;
    uint32_t portions;    /* of pages, in all */
    uint64_t answered[8]; /* clients, in order */
    uint32_t answers;
    uint32_t held;     /* clients that are */
    uint32_t small_at; /* how many portions were done when the small request was answered */
    bool endless;      /* who asks for small things asks on and on */
    int small;         /* readable: a small request waits */
} world;

void __wrap_listing_page(const struct listing_sources *sources, const duopoly_List *asked,
                         const struct sieve_bounds *bounds, duopoly_Envelope *answer);
void __wrap_control_sources(const struct control *control, struct listing_sources *ret_sources);
void __wrap_control_answer(struct control *control, uint64_t client, uint64_t sequence,
                           pb_size_t request);
void __wrap_control_hold(struct control *control, uint64_t client, enum hold cause);
struct charged_work __wrap_conductor_watch(const struct conductor *conductor);
int64_t __wrap_conductor_watched(struct conductor *conductor, const struct charged_work *work);
void __wrap_control_release(struct control *control, uint64_t client, enum hold cause);

void __wrap_listing_page(const struct listing_sources *sources, const duopoly_List *asked,
                         const struct sieve_bounds *bounds, duopoly_Envelope *answer)
{
    (void)sources, (void)bounds;
    world.portions++;
    duopoly_Page *page = &wire_begin(answer, duopoly_Envelope_page_tag)->body.page;
    page->cursor = (asked->cursor + 1) % PORTIONS;
    page->version = asked->job;
}

void __wrap_control_sources(const struct control *control, struct listing_sources *ret_sources)
{
    (void)control;
    *ret_sources = (struct listing_sources){.parts = NULL};
}

void __wrap_control_answer(struct control *control, uint64_t client, uint64_t sequence,
                           pb_size_t request)
{
    assert_int_equal(request, duopoly_Envelope_list_tag);
    assert_int_equal(sequence, 100 + client);
    assert_int_equal(control->answer.body.page.version, client); /* it is its own page */
    assert_int_equal(control->answer.body.page.cursor, 0);
    world.answered[world.answers++] = client;
}

void __wrap_control_hold(struct control *control, uint64_t client, enum hold cause)
{
    (void)control, (void)client;
    assert_int_equal(cause, HOLD_ANSWER);
    world.held++;
}

void __wrap_control_release(struct control *control, uint64_t client, enum hold cause)
{
    (void)control, (void)client;
    assert_int_equal(cause, HOLD_ANSWER);
    world.held--;
}

struct charged_work __wrap_conductor_watch(const struct conductor *conductor)
{
    (void)conductor;
    return (struct charged_work){0, 0};
}

int64_t __wrap_conductor_watched(struct conductor *conductor, const struct charged_work *work)
{
    (void)conductor, (void)work;
    return 0;
}

static int on_small(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    uint64_t n;
    (void)source, (void)revents, (void)user;
    world.small_at = world.portions;
    if (!world.endless)
        assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
    return 0;
}

static void small_ask(void)
{
    const uint64_t one = 1;
    assert_int_equal(write(world.small, &one, sizeof(one)), sizeof(one));
}

static struct requester *list_ask(uint64_t client)
{
    struct requester *requester = &world.control->requesters[client];
    duopoly_Envelope *request = calloc(1, sizeof(*request));
    assert_non_null(request);
    wire_begin(request, duopoly_Envelope_list_tag)->sequence = 100 + client;
    request->body.list = (duopoly_List){.of = duopoly_ListOf_LIST_TASKS, .job = client};
    requester->client = client;
    list_wait_begin(world.control, requester, request);
    free(request);
    return requester;
}

static int set_up(void **state)
{
    struct err err;
    memset(&world, 0, sizeof(world));
    world.control = calloc(1, sizeof(*world.control));
    assert_non_null(world.control);
    *state = world.control;
    assert_true(sd_event_new(&world.control->loop) >= 0);
    assert_int_equal(list_waits_open(world.control, &err), 0);
    world.small = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(world.small >= 0);
    return sd_event_add_io(world.control->loop, NULL, world.small, EPOLLIN, on_small, NULL) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    list_waits_close(world.control);
    sd_event_unref(world.control->loop);
    close(world.small);
    free(world.control);
    return 0;
}

static void turns(uint32_t n)
{
    while (n-- > 0)
        assert_true(sd_event_run(world.control->loop, 0) >= 0);
}

static void a_page_is_answered_at_once_where_nobody_waits(void **state)
{
    (void)state;
    assert_false(list_ask(1)->answer.held);
    assert_int_equal(world.control->answer.which_body, duopoly_Envelope_page_tag);
    assert_int_equal(world.portions, PORTIONS);
}

static void a_small_request_is_answered_before_a_page_that_came_earlier(void **state)
{
    (void)state;
    small_ask();
    struct requester *requester = list_ask(1);
    assert_true(requester->answer.held);
    assert_int_equal(world.portions, 1);
    turns(1);
    assert_in_range(world.small_at, 1, 2);
    turns(2);
    assert_int_equal(world.answers, 1);
    assert_false(requester->answer.held);
    assert_int_equal(world.held, 0);
    assert_int_equal(world.portions, PORTIONS);
}

/* Each turn of the loop serves one source: every other one is a portion's. */
static void a_list_does_not_starve_beside_a_stream_of_small_requests(void **state)
{
    (void)state;
    world.endless = true;
    small_ask();
    list_ask(1);
    turns(2 * PORTIONS);
    assert_int_equal(world.answers, 1);
}

static void pages_are_answered_in_the_order_of_asking(void **state)
{
    (void)state;
    world.endless = true;
    small_ask();
    for (uint64_t client = 1; client <= ASKERS; client++)
        list_ask(client);
    assert_int_equal(world.held, ASKERS);
    turns(2 * PORTIONS * ASKERS);
    assert_int_equal(world.answers, ASKERS);
    for (uint64_t i = 0; i < ASKERS; i++)
        assert_int_equal(world.answered[i], i + 1);
}

/* The first in line, whose page is in work, and another one. */
static void who_goes_leaves_the_line(void **state)
{
    (void)state;
    world.endless = true;
    small_ask();
    for (uint64_t client = 1; client <= 4; client++)
        list_ask(client);
    turns(5);
    list_wait_end(world.control, &world.control->requesters[1]);
    list_wait_end(world.control, &world.control->requesters[3]);
    turns(2 * PORTIONS * 4);
    assert_int_equal(world.answers, 2);
    assert_int_equal(world.answered[0], 2);
    assert_int_equal(world.answered[1], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_is_answered_at_once_where_nobody_waits, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_small_request_is_answered_before_a_page_that_came_earlier,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_does_not_starve_beside_a_stream_of_small_requests,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_are_answered_in_the_order_of_asking, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_goes_leaves_the_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
