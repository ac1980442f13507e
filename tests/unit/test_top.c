/* duopolyctl top without a terminal and a controller: screens from rows, and what keys ask for. */
#include "tests/unit/test.h"

#include "controller/cli/top_screen.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct fixture {
    struct top_state state;
    struct top_shown shown;
    struct top_screen screen;
    duopoly_HostRow hosts[600];
    duopoly_LinkRow links[2];
    duopoly_JobRow jobs[8];
};

static int fixture_make(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    return f ? 0 : -1;
}

static int fixture_drop(void **state)
{
    free(*state);
    return 0;
}

static void host_fill(duopoly_HostRow *row, const char *name, const char *host_state)
{
    *row = (duopoly_HostRow){.role = duopoly_Role_ROLE_HOST,
                             .total.slots = 4,
                             .free.slots = 1,
                             .running = 3,
                             .receiving = 2,
                             .uplink_permille = 912,
                             .downlink_permille = 50};
    strcpy(row->name, name);
    strcpy(row->rack, "r1");
    strcpy(row->state, host_state);
}

static void job_fill(duopoly_JobRow *row, uint64_t job, const char *name, uint32_t place)
{
    *row = (duopoly_JobRow){
        .job = job, .place = place, .tasks = 100, .done = 40, .age_ns = 1500000000, .left_ns = -1};
    strcpy(row->name, name);
}

/* What came is what is wanted. */
static void came(struct fixture *f, unsigned view, const void *rows, size_t n, uint64_t next)
{
    f->state.view = view;
    f->shown.known = true;
    f->shown.view = view;
    f->shown.rows = rows;
    f->shown.n = n;
    f->shown.changes = f->state.changes;
    assert_true(top_answer(&f->state, f->state.changes, next));
}

static void status_fill(duopoly_Status *status)
{
    *status = (duopoly_Status){.slots_free = 12,
                               .slots = 40,
                               .hosts_up = 9,
                               .hosts = 10,
                               .jobs_active = 5,
                               .attempts = 28,
                               .tasks_ready = 100};
}

/* Each line behind the sign of its style, blanks at its end cut. */
static const char *frame(struct fixture *f, unsigned lines, unsigned columns)
{
    static char text[1 << 20];
    size_t used = 0;
    f->screen.lines = lines;
    f->screen.columns = columns;
    top_screen_draw(&f->screen, &f->state, &f->shown);
    assert_int_equal(f->screen.n, lines);
    for (unsigned i = 0; i < f->screen.n; i++) {
        const struct top_line *line = &f->screen.line[i];
        size_t length = strlen(line->text);
        while (length && line->text[length - 1] == ' ')
            length--;
        used += (size_t)sprintf(text + used, "%c%.*s\n", " #=!_"[line->style], (int)length,
                                line -> text);
    }
    return text;
}

static void hosts_are_drawn(void **state)
{
    struct fixture *f = *state;
    host_fill(&f->hosts[0], "w1", "up");
    host_fill(&f->hosts[1], "w10", "lost");
    f->hosts[1].gone = true;
    strcpy(f->hosts[1].text, "lost for 40 s, heard last 43 s ago");
    status_fill(&f->shown.status);
    f->shown.status.wrong_count = 1;
    strcpy(f->shown.status.wrong[0], "1 host is lost: w10");
    came(f, TOP_HOSTS, f->hosts, 2, 0);
    assert_string_equal(
        frame(f, 9, 100),
        "#[hosts]  links   jobs   page 1\n"
        "!unhealthy: 1 host is lost: w10; slot-rich\n"
        " slots 12 of 40 free  hosts 9 of 10 up  jobs 5  tasks 28 running, 100 ready\n"
        "=HOST STATE RACK FREE SLOTS RUNNING RECEIVING UPLINK DOWNLINK DISK NOTE\n"
        " w1   up    r1      1     4       3         2 91.2 %    5.0 %    - -\n"
        "!w10  lost  r1      -     4       3         -      -        -    - lost for 40 s, heard "
        "last 43 s ago\n"
        " \n"
        " \n"
        "_q end  hlj lists  Space b pages  / filter  p pause  ? help\n");
    assert_non_null(strstr(frame(f, 9, 99), " lost for 40 s, heard last 43 s a~\n"));
    assert_string_equal(frame(f, 6, 60),
                        "#[hosts]  links   jobs   page 1\n"
                        "!unhealthy: 1 host is lost: w10; slot-rich\n"
                        " slots 12 of 40 free  hosts 9 of 10 up  jobs 5  tasks 28 run~\n"
                        "=HOST STATE FREE SLOTS RUNNING RECEIVING UPLINK DOWNLINK NOTE\n"
                        " w1   up       1     4       3         2 91.2 %    5.0 % -\n"
                        "_q end  hlj lists  Space b pages  / filter  p pause  ? help\n");
    assert_non_null(
        strstr(frame(f, 9, 60), "\n=HOST STATE FREE SLOTS RUNNING UPLINK DOWNLINK NOTE"));
    assert_non_null(strstr(frame(f, 9, 40), "\n=HOST STATE FREE SLOTS UPLINK DOWNLINK\n"));
}

static void links_are_drawn(void **state)
{
    struct fixture *f = *state;
    status_fill(&f->shown.status);
    f->links[0] = (duopoly_LinkRow){.has_link = true,
                                    .link = {.rate_bps = 1000000000,
                                             .sent_bps = 500000000,
                                             .sent_peak_bps = 900000000,
                                             .received_bps = 1000000,
                                             .received_peak_bps = 2000000,
                                             .dropped = 7}};
    strcpy(f->links[0].host, "w1");
    strcpy(f->links[0].link.port, "eth0");
    came(f, TOP_LINKS, f->links, 1, 0);
    assert_string_equal(
        frame(f, 6, 100),
        "# hosts  [links]  jobs   page 1\n"
        " healthy; slot-rich\n"
        " slots 12 of 40 free  hosts 9 of 10 up  jobs 5  tasks 28 running, 100 ready\n"
        "=HOST PORT       RATE SENT USE RECEIVED USE    SENT PEAK RECEIVED PEAK DROPPED NOTE\n"
        " w1   eth0 1.0 Gbit/s   50.0 %        0.1 % 900.0 Mbit/s    2.0 Mbit/s       7 -\n"
        "_q end  hlj lists  Space b pages  / filter  p pause  ? help\n");
}

static void jobs_say_what_they_wait_for(void **state)
{
    struct fixture *f = *state;
    status_fill(&f->shown.status);
    for (uint32_t i = 0; i < 7; i++)
        job_fill(&f->jobs[i], 10 + i, "sort", i + 1);
    f->jobs[0].ready = f->jobs[1].ready = f->jobs[2].ready = f->jobs[3].ready = 3;
    f->jobs[2].held = 1;
    f->jobs[4].running = 28;
    strcpy(f->jobs[5].held_by, "root (admin)");
    f->jobs[5].ready = 2;
    came(f, TOP_JOBS, f->jobs, 7, 99);
    assert_string_equal(
        frame(f, 13, 100),
        "# hosts   links  [jobs]  page 1, more follow\n"
        " healthy; slot-rich\n"
        " slots 12 of 40 free  hosts 9 of 10 up  jobs 5  tasks 28 running, 100 ready\n"
        "=PLACE JOB NAME USER TASKS READY RUNNING DONE LASTED WORK LEFT WAITS FOR\n"
        "     1 10  sort 0      100     3       0   40  1.5 s         - slots that fit: it is "
        "first\n"
        "     2 11  sort 0      100     3       0   40  1.5 s         - slots that fit, behind 1 "
        "job\n"
        "     3 12  sort 0      100     3       0   40  1.5 s         - a better place: 1 stage "
        "held\n"
        "     4 13  sort 0      100     3       0   40  1.5 s         - slots that fit, behind 3 "
        "jobs\n"
        "     5 14  sort 0      100     0      28   40  1.5 s         - 28 running tasks\n"
        "!    6 15  sort 0      100     2       0   40  1.5 s         - release: held by root "
        "(admin)\n"
        "     7 16  sort 0      100     0       0   40  1.5 s         - its framework\n"
        " \n"
        "_q end  hlj lists  Space b pages  / filter  p pause  ? help\n");
}

/* However long their names are. */
static void what_jobs_wait_for_is_not_cut(void **state)
{
    struct fixture *f = *state;
    status_fill(&f->shown.status);
    for (uint32_t i = 0; i < 2; i++) {
        job_fill(&f->jobs[i], 10 + i, "pagerank-iteration-with-a-long-name", 4);
        f->jobs[i].ready = 3;
    }
    f->jobs[1].held = 1;
    came(f, TOP_JOBS, f->jobs, 2, 0);
    for (unsigned columns = 60; columns < 140; columns += 10) {
        const char *text = frame(f, 8, columns);
        assert_non_null(strstr(text, " slots that fit, behind 3 jobs\n"));
        assert_non_null(strstr(text, " a better place: 1 stage held\n"));
    }
    assert_non_null(strstr(frame(f, 8, 100), " READY RUNNING DONE "));
}

static unsigned columns_of(const char *text)
{
    unsigned sum = 0;
    wchar_t wide;
    for (int length; *text; text += length) {
        length = mbtowc(&wide, text, 8);
        assert_true(length > 0 && wcwidth(wide) >= 0);
        sum += (unsigned)wcwidth(wide);
    }
    return sum;
}

/* Whatever names and sizes are. */
static void no_line_is_too_long(void **state)
{
    static const char *const pieces[] = {"w",        "\x1b[2J",      "\r",       "\n",
                                         "\xc3\xa4", "\xe4\xb8\xad", " ",        "\xff",
                                         "",         "\xcc\x88",     "\xc2\x9b", "host-"};
    struct fixture *f = *state;
    uint64_t stream = test_seed();
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (int round = 0; round < 300; round++) {
        const size_t n = test_random(&stream) % 600;
        for (size_t i = 0; i < n; i++) {
            char name[64] = "", note[160] = "";
            for (int k = 0; k < 8; k++)
                strcat(name, pieces[test_random(&stream) % 12]);
            for (uint64_t k = test_random(&stream) % 16; k; k--)
                strcat(note, pieces[test_random(&stream) % 12]);
            host_fill(&f->hosts[i], name, "up");
            strcpy(f->hosts[i].text, note);
        }
        f->screen.ascii = test_random(&stream) % 2;
        f->state.helps = test_random(&stream) % 8 == 0;
        came(f, TOP_HOSTS, f->hosts, n, 0);
        f->screen.lines = 1 + (unsigned)(test_random(&stream) % 700);
        f->screen.columns = 1 + (unsigned)(test_random(&stream) % 520);
        const unsigned lines = f->screen.lines, columns = f->screen.columns;
        top_screen_draw(&f->screen, &f->state, &f->shown);
        assert_int_equal(f->screen.n, lines < TOP_LINES ? lines : TOP_LINES);
        for (unsigned i = 0; i < f->screen.n; i++) {
            const char *text = f->screen.line[i].text;
            assert_true(columns_of(text) <= columns);
            for (; *text; text++)
                assert_true((unsigned char)*text >= ' ' && *text != 127 &&
                            (!f->screen.ascii || (unsigned char)*text < 127));
        }
    }
    setlocale(LC_CTYPE, "C");
}

static void columns_do_not_get_narrower(void **state)
{
    struct fixture *f = *state;
    status_fill(&f->shown.status);
    host_fill(&f->hosts[0], "a-long-name", "up");
    came(f, TOP_HOSTS, f->hosts, 1, 0);
    assert_non_null(strstr(frame(f, 8, 100), "\n a-long-name up "));
    host_fill(&f->hosts[0], "w1", "up");
    assert_non_null(strstr(frame(f, 8, 100), "\n w1          up "));
    assert_non_null(strstr(frame(f, 8, 90), "\n w1   up ")); /* on another screen they do */
}

static void what_is_not_there_yet_is_said(void **state)
{
    struct fixture *f = *state;
    f->state.changes = 1;
    assert_non_null(strstr(frame(f, 8, 80), "\n asking the controller\n"));
    status_fill(&f->shown.status);
    came(f, TOP_HOSTS, f->hosts, 0, 0);
    assert_non_null(strstr(frame(f, 8, 80), "\n none\n"));
    strcpy(f->state.filters[TOP_HOSTS], "state=up");
    assert_non_null(strstr(frame(f, 8, 80), "filter state=up\n"));
    assert_non_null(strstr(frame(f, 8, 80), "\n none that the filter keeps\n"));
    f->shown.cut = true;
    assert_non_null(strstr(frame(f, 8, 80), "\n none here: the next page looks on\n"));
    strcpy(f->shown.trouble, "the controller at /s closed the connection");
    f->shown.trouble_s = 3;
    assert_non_null(strstr(frame(f, 8, 80), "\n!no answer for 3 s: the controller at /s closed"));
}

/* ---- keys ---- */

static enum top_want type(struct top_state *top, const char *keys)
{
    enum top_want want = TOP_NOTHING;
    for (; *keys; keys++)
        want = top_key(top, (unsigned char)*keys);
    return want;
}

static void keys_choose_lists_and_pages(void **state)
{
    struct fixture *f = *state;
    struct top_state *top = &f->state;
    assert_int_equal(type(top, "j"), TOP_ASK);
    assert_int_equal(top->view, TOP_JOBS);
    assert_int_equal(type(top, "j"), TOP_NOTHING); /* these it shows */
    assert_int_equal(type(top, " "), TOP_NOTHING); /* nobody knows yet whether there is one */
    const uint64_t changes = top->changes;
    assert_true(top_answer(top, changes, 20));
    assert_int_equal(type(top, " "), TOP_ASK);
    assert_true(top->page == 1 && top->starts[1] == 20 && top->changes == changes + 1);
    assert_false(top_answer(top, changes, 7)); /* of the page before */
    assert_true(top_answer(top, top->changes, 0));
    assert_int_equal(top_key(top, TOP_KEY_NEXT), TOP_DRAW);
    assert_string_equal(top->complaint, "this is the last page");
    assert_int_equal(type(top, "b"), TOP_ASK);
    assert_true(!top->page && !*top->complaint);
    assert_int_equal(top_key(top, TOP_KEY_BACK), TOP_DRAW);
    assert_string_equal(top->complaint, "this is the first page");
    assert_int_equal(type(top, "\t"), TOP_ASK);
    assert_int_equal(top->view, TOP_HOSTS);
    assert_int_equal(type(top, "p"), TOP_DRAW);
    assert_true(top->paused);
    assert_int_equal(type(top, "p"), TOP_ASK);
    assert_int_equal(type(top, "?"), TOP_DRAW);
    assert_true(top->helps);
    assert_int_equal(type(top, "x"), TOP_DRAW);
    assert_false(top->helps);
    assert_int_equal(type(top, "x"), TOP_NOTHING);
    assert_int_equal(type(top, "q"), TOP_END);
}

static void pages_end_somewhere(void **state)
{
    struct fixture *f = *state;
    struct top_state *top = &f->state;
    for (unsigned i = 1; i < TOP_PAGES; i++) {
        assert_true(top_answer(top, top->changes, i));
        assert_int_equal(type(top, " "), TOP_ASK);
    }
    assert_true(top_answer(top, top->changes, TOP_PAGES));
    assert_int_equal(type(top, " "), TOP_DRAW);
    assert_non_null(strstr(top->complaint, "no further"));
    assert_int_equal(top->page, TOP_PAGES - 1);
}

static void a_filter_is_typed(void **state)
{
    struct fixture *f = *state;
    struct top_state *top = &f->state;
    assert_int_equal(type(top, "/statf=up"), TOP_DRAW);
    assert_non_null(strstr(frame(f, 8, 80), "\n_filter: statf=up_\n"));
    assert_int_equal(type(top, "\n"), TOP_DRAW);
    assert_non_null(strstr(top->complaint, "did you mean 'state'?"));
    assert_true(top->edits && !*top->filters[TOP_HOSTS]);
    for (int i = 0; i < 4; i++)
        top_key(top, TOP_KEY_ERASE);
    assert_string_equal(top->edit, "stat");
    assert_int_equal(type(top, "e!=up\n"), TOP_ASK);
    assert_true(!top->edits && !top->complaint[0]);
    assert_string_equal(top->filters[TOP_HOSTS], "state!=up");
    type(top, "/q"); /* a letter here */
    assert_string_equal(top->edit, "state!=upq");
    assert_int_equal(top_key(top, TOP_KEY_ESCAPE), TOP_DRAW);
    assert_string_equal(top->filters[TOP_HOSTS], "state!=up");
    type(top, "/\x15rack~\xc3\xa4");
    assert_string_equal(top->edit, "rack~\xc3\xa4");
    top_key(top, TOP_KEY_ERASE);
    assert_string_equal(top->edit, "rack~"); /* the character as a whole */
    assert_int_equal(type(top, "\x01\x7f"), TOP_NOTHING);
    for (int i = 0; i < 1000; i++)
        type(top, "x");
    assert_int_equal(strlen(top->edit), FILTER_TEXT - 1);
    top_key(top, TOP_KEY_ERASE);
    assert_non_null(strstr(frame(f, 8, 20), "\n_filter: xxxxxxxxxxx_\n")); /* its end is seen */
    type(top, "\x15\n");
    assert_string_equal(top->filters[TOP_HOSTS], ""); /* none: all rows */
}

static void views_are_found(void **state)
{
    (void)state;
    struct err err;
    unsigned view = TOP_VIEWS;
    assert_int_equal(top_view_find("links", &view, &err), 0);
    assert_int_equal(view, TOP_LINKS);
    assert_int_equal(top_view_find("tasks", &view, &err), -EINVAL);
    assert_string_equal(err.text, "top shows no 'tasks'; it shows: hosts, links, jobs");
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, fixture_make, fixture_drop)
    const struct CMUnitTest tests[] = {
        WITH(hosts_are_drawn),
        WITH(links_are_drawn),
        WITH(jobs_say_what_they_wait_for),
        WITH(what_jobs_wait_for_is_not_cut),
        WITH(no_line_is_too_long),
        WITH(columns_do_not_get_narrower),
        WITH(what_is_not_there_yet_is_said),
        WITH(keys_choose_lists_and_pages),
        WITH(pages_end_somewhere),
        WITH(a_filter_is_typed),
        cmocka_unit_test(views_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
