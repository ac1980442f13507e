#include "controller/cli/top_screen.h"

#include "lib/join.h"
#include "lib/plural.h"
#include "lib/printable.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
    OTHERS_MAX = 24, /* columns for each but the last, which is cut at the screen's edge */
};

/* ---- words in columns ---- */

/* Bytes of the character at `at`, which is of clean UTF-8, and its columns. */
static size_t character(const char *at, bool ascii, unsigned *ret_width)
{
    wchar_t wide;
    size_t length = 1;
    while ((at[length] & 0xc0) == 0x80)
        length++;
    int width = length == 1 || ascii || mbtowc(&wide, at, length) < 0 ? 1 : wcwidth(wide);
    *ret_width = width < 0 ? 1 : (unsigned)width;
    return length;
}

/* Whether the terminal has no such character. */
static bool is_foreign(const char *at, size_t length, bool ascii)
{
    wchar_t wide;
    return length > 1 && (ascii || mbtowc(&wide, at, length) < 0 || wcwidth(wide) < 0);
}

static unsigned width_of(const char *word, bool ascii)
{
    unsigned sum = 0, width;
    for (; *word; word += character(word, ascii, &width), sum += width)
        ;
    return sum;
}

/* A line that is being written. */
struct pen {
    struct top_line *line;
    size_t used;      /* bytes, */
    unsigned at, end; /* columns */
    bool ascii;
};

static void byte_put(struct pen *pen, char byte)
{
    if (pen->used + 1 < TOP_LINE)
        pen->line->text[pen->used++] = byte;
    pen->line->text[pen->used] = '\0';
}

static void blanks_put(struct pen *pen, unsigned n)
{
    for (; n && pen->at < pen->end; n--, pen->at++)
        byte_put(pen, ' ');
}

/* At most `room` columns of the word, which is clean. */
static void clean_put(struct pen *pen, const char *word, unsigned room)
{
    const unsigned left = pen->end - pen->at, most = room < left ? room : left;
    const bool fits = width_of(word, pen->ascii) <= most;
    unsigned width, used = 0;
    while (*word) {
        const size_t length = character(word, pen->ascii, &width);
        if (used + width > (fits   ? most
                            : most ? most - 1
                                   : 0) ||
            pen->used + length + 1 >= TOP_LINE)
            break;
        if (is_foreign(word, length, pen->ascii))
            byte_put(pen, '?');
        else
            for (size_t i = 0; i < length; i++)
                byte_put(pen, word[i]);
        used += width;
        word += length;
    }
    if (!fits && used < most) {
        byte_put(pen, '~');
        used++;
    }
    pen->at += used;
}

static void word_put(struct pen *pen, const char *word, unsigned room)
{
    char clean[TOP_LINE];
    snprintf(clean, sizeof(clean), "%s", word);
    printable_clean(clean);
    clean_put(pen, clean, room);
}

/* ---- lines ---- */

static struct pen line_begin(struct top_screen *screen, enum top_style style)
{
    struct top_line *line = &screen->line[screen->n++];
    line->style = style;
    *line->text = '\0';
    return (struct pen){.line = line, .end = screen->columns, .ascii = screen->ascii};
}

__attribute__((format(printf, 3, 4))) static void
line_say(struct top_screen *screen, enum top_style style, const char *format, ...)
{
    char text[TOP_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct pen pen = line_begin(screen, style);
    word_put(&pen, text, pen.end);
}

/* ---- what stands above the rows ---- */

static void title_put(struct top_screen *screen, const struct top_state *state)
{
    char text[TOP_LINE] = "";
    for (unsigned i = 0; i < TOP_VIEWS; i++) {
        char name[32];
        snprintf(name, sizeof(name), i == state->view ? "[%s]" : " %s ", top_views[i].name);
        join_word(text, sizeof(text), " ", name);
    }
    const size_t used = strlen(text);
    const char *filter = state->filters[state->view];
    snprintf(text + used, sizeof(text) - used, "  page %u%s%s%s%s", state->page + 1,
             state->answered && state->next ? ", more follow" : "", state->paused ? "  PAUSED" : "",
             *filter ? "  filter " : "", filter);
    line_say(screen, TOP_TITLE, "%s", text);
}

static void verdict_put(struct top_screen *screen, const duopoly_Status *status)
{
    char verdict[sizeof(status->wrong) + 32] = "healthy";
    const struct value mode = mode_value(status->mode);
    char words[64];
    for (pb_size_t i = 0; i < status->wrong_count; i++) {
        if (!i)
            strcpy(verdict, "unhealthy: ");
        join_word(verdict, sizeof(verdict), i ? "; " : "", status->wrong[i]);
    }
    line_say(screen, status->wrong_count ? TOP_ALARM : TOP_PLAIN, "%s; %s", verdict,
             value_words(&mode, words, sizeof(words)));
}

static void status_put(struct top_screen *screen, const struct top_shown *shown)
{
    const duopoly_Status *status = &shown->status;
    if (!shown->known) {
        line_say(screen, TOP_PLAIN, "asking the controller");
        line_say(screen, TOP_PLAIN, "%s", "");
        return;
    }
    verdict_put(screen, status);
    line_say(screen, TOP_PLAIN,
             "slots %" PRId64 " of %" PRId64 " free  hosts %" PRIu32 " of %" PRIu32
             " up  jobs %" PRIu32 "  tasks %" PRIu32 " running, %" PRIu32 " ready",
             status->slots_free, status->slots, status->hosts_up, status->hosts,
             status->jobs_active, status->attempts, status->tasks_ready);
}

/* ---- rows ---- */

struct grid {
    const struct top_view *view;
    const struct cell *cells[CELLS_MAX];
    uint8_t n;
    bool shown[CELLS_MAX];
};

static bool is_right(const struct cell *cell)
{
    return cell->kind != VALUE_TEXT && cell->kind != VALUE_ID && cell->kind != VALUE_BOOL;
}

static const char *cell_words(const struct cell *cell, const void *row, char words[CELL_WORDS],
                              char more[64])
{
    const struct value value = cell_value(cell, row, words);
    return value_words(&value, more, 64);
}

static const void *row_at(const struct top_shown *shown, size_t i)
{
    return (const char *)shown->rows + i * top_views[shown->view].list->row_bytes;
}

static void width_take(struct top_screen *screen, uint8_t column, unsigned most, const char *word)
{
    char clean[TOP_LINE];
    snprintf(clean, sizeof(clean), "%s", word);
    printable_clean(clean);
    const unsigned wide = width_of(clean, screen->ascii), width = wide < most ? wide : most;
    if (width > screen->widths[column])
        screen->widths[column] = (uint16_t)width;
}

static void widths_take(struct top_screen *screen, const struct grid *grid, unsigned view,
                        const struct top_shown *shown, size_t n)
{
    if (screen->view != view || screen->wide != screen->columns)
        memset(screen->widths, 0, sizeof(screen->widths));
    screen->view = view;
    screen->wide = screen->columns;
    for (uint8_t c = 0; c < grid->n; c++) {
        const unsigned most = c + 1 < grid->n ? OTHERS_MAX : TOP_COLUMNS;
        char words[CELL_WORDS], more[64];
        width_take(screen, c, most, grid->cells[c]->heading);
        for (size_t i = 0; i < n; i++)
            width_take(screen, c, most, cell_words(grid->cells[c], row_at(shown, i), words, more));
    }
}

/* Of what is shown, with a blank between two; the last one may be cut. */
static unsigned width_wanted(const struct top_screen *screen, const struct grid *grid)
{
    unsigned sum = 0;
    for (uint8_t c = 0; c < grid->n; c++) {
        const unsigned most = c + 1 < grid->n ? OTHERS_MAX : grid->view->last_least;
        const unsigned width = screen->widths[c] < most ? screen->widths[c] : most;
        sum += grid->shown[c] ? width + 1 : 0;
    }
    return sum ? sum - 1 : 0;
}

/* Columns of the highest rank go, until the others fit. */
static void columns_choose(const struct top_screen *screen, struct grid *grid)
{
    for (uint8_t c = 0; c < grid->n; c++)
        grid->shown[c] = true;
    while (width_wanted(screen, grid) > screen->columns) {
        uint8_t worst = 0;
        for (uint8_t c = 0; c < grid->n; c++)
            if (grid->shown[c] && (!grid->shown[worst] ||
                                   grid->view->columns[c].rank > grid->view->columns[worst].rank))
                worst = c;
        if (!grid->view->columns[worst].rank)
            return;
        grid->shown[worst] = false;
    }
}

/* `row` NULL: the headings. */
static void row_put(struct top_screen *screen, const struct grid *grid, const void *row)
{
    const bool alarms = row && grid->view->alarms(row);
    struct pen pen = line_begin(screen, !row ? TOP_HEADINGS : alarms ? TOP_ALARM : TOP_PLAIN);
    const char *between = "";
    for (uint8_t c = 0; c < grid->n; c++) {
        char words[CELL_WORDS], more[64];
        const struct cell *cell = grid->cells[c];
        if (!grid->shown[c])
            continue;
        const char *word = row ? cell_words(cell, row, words, more) : cell->heading;
        const unsigned width = screen->widths[c], from = pen.at + (*between != '\0');
        word_put(&pen, between, 1);
        between = " ";
        if (is_right(cell))
            blanks_put(&pen, width - width_of(word, true));
        word_put(&pen, word, c + 1 == grid->n ? TOP_COLUMNS : width);
        if (c + 1 < grid->n && pen.at < from + width)
            blanks_put(&pen, from + width - pen.at);
    }
}

static void rows_put(struct top_screen *screen, const struct top_state *state,
                     const struct top_shown *shown)
{
    const unsigned room = top_screen_rows(screen);
    const bool current = shown->changes == state->changes && shown->view == state->view;
    const size_t n = !current ? 0 : shown->n < room ? shown->n : room;
    struct grid grid = {.view = &top_views[state->view]};
    grid.n = top_view_cells(grid.view, grid.cells);
    widths_take(screen, &grid, state->view, shown, n);
    columns_choose(screen, &grid);
    row_put(screen, &grid, NULL);
    for (size_t i = 0; i < n; i++)
        row_put(screen, &grid, row_at(shown, i));
    if (!current || n || !room)
        return;
    line_say(screen, TOP_PLAIN, "%s",
             shown->cut                     ? "none here: the next page looks on"
             : *state->filters[state->view] ? "none that the filter keeps"
                                            : "none");
}

static void help_put(struct top_screen *screen)
{
    static const char *const lines[] = {
        "h l j    hosts, links, jobs; Tab: the next of them",
        "Space b  a page on, a page back (PgDn, PgUp); g: the first",
        "/        only rows that a filter keeps: state!=up, uplink_permille>=90%",
        "p        pause, and go on",
        "q        end (Ctrl-C); Ctrl-Z: stop until fg",
        "",
        "Jobs stand in their turn, hosts and links by name.",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && i < top_screen_rows(screen) + 1; i++)
        line_say(screen, TOP_PLAIN, "%s", lines[i]);
}

/* ---- the last line ---- */

/* The end of what is typed is seen. */
static void edit_put(struct top_screen *screen, const char *edit)
{
    static const char before[] = "filter: ";
    char text[TOP_LINE];
    const char *from = text;
    unsigned width;
    snprintf(text, sizeof(text), "%s_", edit);
    printable_clean(text);
    while (*from && width_of(from, screen->ascii) + sizeof(before) - 1 > screen->columns)
        from += character(from, screen->ascii, &width);
    line_say(screen, TOP_FOOT, "%s%s", before, from);
}

static void foot_put(struct top_screen *screen, const struct top_state *state,
                     const struct top_shown *shown)
{
    if (*state->complaint)
        line_say(screen, TOP_ALARM, "%s", state->complaint);
    else if (state->edits)
        edit_put(screen, state->edit);
    else if (*shown->trouble)
        line_say(screen, TOP_ALARM, "no answer for %" PRIu64 " s: %s", shown->trouble_s,
                 shown->trouble);
    else
        line_say(screen, TOP_FOOT, "q end  hlj lists  Space b pages  / filter  p pause  ? help");
}

unsigned top_screen_rows(const struct top_screen *screen)
{
    const unsigned lines = screen->lines < TOP_LINES ? screen->lines : TOP_LINES;
    return lines > TOP_AROUND ? lines - TOP_AROUND : 0;
}

void top_screen_draw(struct top_screen *screen, const struct top_state *state,
                     const struct top_shown *shown)
{
    if (screen->columns > TOP_COLUMNS)
        screen->columns = TOP_COLUMNS;
    screen->n = 0;
    title_put(screen, state);
    status_put(screen, shown);
    if (state->helps)
        help_put(screen);
    else
        rows_put(screen, state, shown);
    /* A screen of few lines has the first of them, and the last. */
    const unsigned lines = screen->lines < TOP_LINES ? screen->lines : TOP_LINES;
    while (screen->n + 1 < lines)
        line_say(screen, TOP_PLAIN, "%s", "");
    screen->n = lines && screen->n >= lines ? lines - 1 : screen->n;
    foot_put(screen, state, shown);
}
