#include "controller/cli/top.h"

#include "controller/cli/away.h"
#include "controller/cli/top_curses.h"
#include "controller/cli/top_fetch.h"
#include "lib/now.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS  1000 /* from one question to the next */
#define DRAW_MS 100  /* from one drawing to the next, at least */
/* Other rows are drawn when they come, or at last so long after the key that asked for them. */
#define ROWS_MS 250
/* An answer that is not there is looked for so often: client_take. */
#define LOOK_MS 100
/* Without an answer for so long that is said; then another connection is tried. */
#define SILENT_MS 3000
#define HANG_MS   10000
/* WHY so short: keys wait while a connection is made. */
#define REACH_MS 2000

struct top {
    struct client *client;
    struct top_fetch *fetch;
    struct top_state state;
    struct top_screen screen;
    struct top_shown shown;
    bool connected, gone;      /* gone: the terminal */
    unsigned pause_ms;         /* before the next try to connect */
    int64_t asked_ms, ask_ms;  /* when it asked, and when it is to ask or to connect */
    int64_t drawn_ms, draw_ms; /* likewise; −1: nothing is to be drawn */
    int64_t silent_ms;         /* since when no answer comes */
};

/* ---- signals ---- */

static volatile sig_atomic_t told_to_end, told_to_stop, was_stopped, resized;

static void on_signal(int number)
{
    told_to_end |= number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    told_to_stop |= number == SIGTSTP;
    was_stopped |= number == SIGCONT;
    resized |= number == SIGWINCH;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

/* Those come only while it waits, so that none is overlooked; `ret_open` is the mask of then. */
static void signals_catch(sigset_t *ret_open)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], NULL, &before);
        if (before.sa_handler == SIG_IGN) /* stays so: nohup */
            continue;
        sigaction(signals[i], &action, NULL);
        sigaddset(&held, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &held, ret_open);
}

static bool end_is_pending(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1 ||
           sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGQUIT) == 1;
}

/* As a program does that knows nothing of SIGTSTP, with the terminal given back. */
static void stop(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    struct sigaction own;
    sigset_t only;
    told_to_stop = 0;
    terminal_suspend();
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    sigaction(SIGTSTP, &plain, &own);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &only, NULL); /* here it stops */
    sigprocmask(SIG_BLOCK, &only, NULL);
    sigaction(SIGTSTP, &own, NULL);
    if (end_is_pending())
        told_to_end = 1; /* and the terminal is somebody else's by now */
    else
        terminal_resume();
    resized = 1;
}

/* ---- time ---- */

static int64_t now_ms(void)
{
    return (int64_t)(now_ns(CLOCK_MONOTONIC) / 1000000);
}

static void draw_by(struct top *top, int64_t at_ms)
{
    if (top->draw_ms < 0 || at_ms < top->draw_ms)
        top->draw_ms = at_ms;
}

/* When the next drawing may be. */
static int64_t draw_due_ms(const struct top *top)
{
    return top->draw_ms > top->drawn_ms + DRAW_MS ? top->draw_ms : top->drawn_ms + DRAW_MS;
}

/* ---- the controller ---- */

static void trouble_age(struct top *top, int64_t at_ms)
{
    const uint64_t seconds = (uint64_t)(at_ms - top->silent_ms) / 1000;
    if (seconds != top->shown.trouble_s)
        draw_by(top, at_ms);
    top->shown.trouble_s = seconds;
}

static void trouble_say(struct top *top, const char *text, int64_t at_ms)
{
    snprintf(top->shown.trouble, sizeof(top->shown.trouble), "%s", text);
    draw_by(top, at_ms);
    trouble_age(top, at_ms);
}

static void lose(struct top *top, const struct err *err, int64_t at_ms)
{
    top_fetch_forget(top->fetch);
    top->connected = false;
    top->pause_ms = AWAY_FIRST_MS;
    top->ask_ms = at_ms + top->pause_ms;
    trouble_say(top, err->text, at_ms);
}

/* `r` of a question. Returns it where another one would fail likewise. WHY not after a refusal: a
 * controller that starts refuses what it does not know yet. */
static int failure_take(struct top *top, int r, const struct err *err, int64_t at_ms)
{
    if (away_is(r)) {
        lose(top, err, at_ms);
        return 0;
    }
    if (r != -EREMOTEIO || client_refusal(top->client) == duopoly_Reason_REASON_PERMISSION)
        return r;
    trouble_say(top, err->text, at_ms);
    return 0;
}

static int reconnect(struct top *top, struct err *err)
{
    int r = client_reopen(top->client, err);
    const int64_t at_ms = now_ms();
    if (r < 0 && !away_may_end(r))
        return r;
    top->connected = r == 0;
    top->ask_ms = r == 0 ? at_ms : at_ms + top->pause_ms;
    top->pause_ms = away_pause_ms(top->pause_ms);
    if (r < 0)
        trouble_say(top, err->text, at_ms);
    return 0;
}

static int ask(struct top *top, int64_t at_ms, struct err *err)
{
    const bool others = top->state.changes != top->shown.changes;
    const unsigned rows = top->state.paused && !others ? 0 : top_screen_rows(&top->screen);
    top->asked_ms = at_ms;
    top->ask_ms = at_ms + ASK_MS;
    int r = top_fetch_begin(top->fetch, &top->state, rows, err);
    return r < 0 ? failure_take(top, r, err, at_ms) : 0;
}

/* Rows that a key asks for. WHY not at once: what comes sooner than it is drawn is not seen. */
static void ask_soon(struct top *top, int64_t at_ms)
{
    if (top->connected)
        top->ask_ms = at_ms > top->asked_ms + DRAW_MS ? at_ms : top->asked_ms + DRAW_MS;
}

/* What was asked has not been answered. */
static void silence_look(struct top *top, int64_t at_ms)
{
    struct err err;
    const int64_t silent_ms = at_ms - top->asked_ms;
    err_set(&err, ETIMEDOUT, "the controller takes questions and does not answer");
    if (silent_ms >= HANG_MS)
        lose(top, &err, at_ms);
    else if (*top->shown.trouble)
        trouble_age(top, at_ms);
    else if (silent_ms >= SILENT_MS)
        trouble_say(top, err.text, at_ms);
}

static int answers_take(struct top *top, struct err *err)
{
    int r = top_fetch_go_on(top->fetch, &top->state, &top->shown, err);
    const int64_t at_ms = now_ms();
    if (r < 0)
        return failure_take(top, r, err, at_ms);
    if (r == 0) {
        silence_look(top, at_ms);
        return 0;
    }
    top->silent_ms = at_ms;
    *top->shown.trouble = '\0';
    if (top_fetch_is_of(top->fetch, &top->state))
        draw_by(top, at_ms);
    else
        ask_soon(top, at_ms); /* a key came meanwhile */
    return 0;
}

/* −errno: it is for good. */
static int controller_attend(struct top *top, struct err *err)
{
    int64_t at_ms = now_ms();
    int r = 0;
    if (!top->connected && at_ms >= top->ask_ms)
        r = reconnect(top, err);
    at_ms = now_ms();
    if (r == 0 && top->connected && !top_fetch_busy(top->fetch) && at_ms >= top->ask_ms)
        r = ask(top, at_ms, err);
    if (r == 0 && top_fetch_busy(top->fetch))
        r = answers_take(top, err);
    return r;
}

/* ---- the terminal ---- */

static void size_take(struct top *top)
{
    resized = was_stopped = 0;
    terminal_size(&top->screen.lines, &top->screen.columns);
    top->ask_ms = 0; /* more rows, or fewer */
    draw_by(top, now_ms() + ROWS_MS);
}

static void keys_take(struct top *top)
{
    int key;
    while (!told_to_end && (key = terminal_key()) >= 0) {
        const enum top_want want = top_key(&top->state, key);
        const int64_t at_ms = now_ms();
        if (want == TOP_END)
            told_to_end = 1;
        if (want == TOP_DRAW)
            draw_by(top, at_ms);
        if (want == TOP_ASK) {
            draw_by(top, at_ms + ROWS_MS);
            ask_soon(top, at_ms);
        }
    }
}

static void draw(struct top *top, int64_t at_ms)
{
    top_screen_draw(&top->screen, &top->state, &top->shown);
    terminal_draw(&top->screen);
    top->drawn_ms = at_ms;
    top->draw_ms = -1;
}

/* Until something is to be done. */
static void wait_for(struct top *top, const sigset_t *open)
{
    const int64_t at_ms = now_ms();
    const bool busy = top_fetch_busy(top->fetch);
    int64_t until_ms = busy ? at_ms + LOOK_MS : top->ask_ms;
    if (top->draw_ms >= 0 && draw_due_ms(top) < until_ms)
        until_ms = draw_due_ms(top);
    const int64_t ms = until_ms > at_ms ? until_ms - at_ms : 0;
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0},
                           {busy ? client_fd(top->client) : -1, POLLIN, 0}};
    if (ppoll(fds, 2, &time, open) > 0 && fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        top->gone = true;
}

static int attend(struct top *top, const sigset_t *open, struct err *err)
{
    int r = 0;
    while (r == 0 && !told_to_end && !top->gone) {
        if (told_to_stop)
            stop();
        if (told_to_end)
            break;
        if (was_stopped)
            terminal_resume();
        if (resized || was_stopped)
            size_take(top);
        keys_take(top);
        r = controller_attend(top, err);
        if (r == 0 && top->draw_ms >= 0 && now_ms() >= draw_due_ms(top))
            draw(top, now_ms());
        if (r == 0 && !told_to_end)
            wait_for(top, open);
    }
    return r;
}

/* ---- the command ---- */

static unsigned view_wanted(const struct request *request)
{
    unsigned view = TOP_JOBS;
    if (request->n_words)
        top_view_find(request->words[0], &view, NULL);
    return view;
}

const struct list *top_list(const struct request *request)
{
    return top_views[view_wanted(request)].list;
}

int top_check(const struct request *request, struct err *err)
{
    unsigned view;
    int r = request->n_words ? top_view_find(request->words[0], &view, err) : 0;
    if (r == 0 && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return err_set(err, EINVAL,
                       "top is for a terminal, and standard %s is none: `duopolyctl %s` lists the "
                       "same once",
                       isatty(STDOUT_FILENO) ? "input" : "output",
                       top_views[view_wanted(request)].name);
    return r;
}

static int top_run(struct top *top, struct err *err)
{
    sigset_t open;
    int r = terminal_open(err);
    if (r < 0)
        return r;
    signals_catch(&open);
    top->screen.ascii = terminal_is_ascii();
    size_take(top);
    r = attend(top, &open, err);
    terminal_close();
    return r;
}

int run_top(struct client *client, const struct request *request, struct writer *writer,
            struct err *err)
{
    (void)writer;
    int r = client_may_limit(client, err);
    if (r < 0)
        return r;
    struct top *top = calloc(1, sizeof(*top));
    if (!top || !(top->fetch = top_fetch_create(client))) {
        free(top);
        return err_sys(err, ENOMEM, "the screen");
    }
    top->client = client;
    top->connected = true;
    top->draw_ms = -1;
    top->drawn_ms = -DRAW_MS;
    top->silent_ms = now_ms();
    top->state.view = view_wanted(request);
    top->state.changes = 1;
    if (request->filter)
        strcpy(top->state.filters[top->state.view], request->filter); /* it was read: it fits */
    client_patience(client, REACH_MS);
    r = top_run(top, err);
    top_fetch_destroy(top->fetch);
    free(top);
    return r;
}
