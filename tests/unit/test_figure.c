/* Figures: nothing that is written lies on something else, numbers are short, and a policy looks
 * the same in all of them. */
#include "tests/unit/test.h"

#include "controller/engine/policy/presets.h"
#include "lib/xml.h"
#include "testbed/sim/coflows/coflows.h"
#include "testbed/sim/experiments.h"
#include "testbed/sim/figure_number.h"
#include "testbed/sim/policy_styles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is where ---- */

enum { BOXES = 512, POINTS = 64 };

struct box {
    double left, top, right, bottom;
    char words[64];
};

struct drawing {
    double width, height;
    struct box texts[BOXES], bars[BOXES];
    size_t n_texts, n_bars;
};

static double attribute(const char *tag, const char *end, const char *name, double otherwise)
{
    char wanted[32];
    snprintf(wanted, sizeof(wanted), " %s='", name);
    const char *at = strstr(tag, wanted);
    return at && at < end ? atof(at + strlen(wanted)) : otherwise;
}

static bool says(const char *tag, const char *end, const char *words)
{
    const char *at = strstr(tag, words);
    return at && at < end;
}

/* Letters, an escaped one counted once. */
static double letters(const char *from, const char *to)
{
    double n = 0;
    for (; from < to; from++) {
        n += ((unsigned char)*from & 0xc0) != 0x80;
        if (*from == '&')
            from = strchr(from, ';');
    }
    return n;
}

static struct box text_box(const char *tag)
{
    const char *end = strchr(tag, '>'), *close = strstr(tag, "</text>");
    double size = attribute(tag, end, "font-size", 12),
           width = .63 * size * letters(end + 1, close), x = attribute(tag, end, "x", 0),
           y = attribute(tag, end, "y", 0),
           before = says(tag, end, "'middle'") ? width / 2
                    : says(tag, end, "'end'")  ? width
                                               : 0;
    struct box box = {x - before, y - .74 * size, x - before + width, y + .15 * size, ""};
    if (says(tag, end, "rotate(-90"))
        box = (struct box){x - .74 * size, y + before - width, x + .15 * size, y + before, ""};
    snprintf(box.words, sizeof(box.words), "%.*s", (int)(close - end - 1), end + 1);
    return box;
}

static void read_drawing(const char *svg, struct drawing *d)
{
    const char *end = strchr(svg, '>');
    *d = (struct drawing){.width = attribute(svg, end, "width", 0),
                          .height = attribute(svg, end, "height", 0)};
    for (const char *at = svg; (at = strstr(at, "<text ")); at++) {
        assert_true(d->n_texts < BOXES);
        d->texts[d->n_texts++] = text_box(at);
    }
    for (const char *at = svg; (at = strstr(at, "<rect ")); at++) {
        end = strchr(at, '>');
        double x = attribute(at, end, "x", 0), y = attribute(at, end, "y", 0);
        if (!says(at, end, "stroke='#fff'"))
            continue;
        assert_true(d->n_bars < BOXES);
        d->bars[d->n_bars++] = (struct box){x, y, x + attribute(at, end, "width", 0),
                                            y + attribute(at, end, "height", 0), "a bar"};
    }
}

static void apart(const struct box *a, const struct box *b, const char *svg)
{
    const double rounding = .2;
    if (a->left < b->right - rounding && b->left < a->right - rounding &&
        a->top < b->bottom - rounding && b->top < a->bottom - rounding)
        fail_msg("'%s' lies on '%s' in %s", a->words, b->words, svg);
}

/* Returns what is drawn. */
static const struct drawing *check(const struct figure *figure)
{
    static struct drawing d;
    char *svg = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&svg, &size);
    figure_write(figure, out);
    fclose(out);
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    read_drawing(svg, &d);
    for (size_t i = 0; i < d.n_texts; i++) {
        const struct box *t = &d.texts[i];
        if (t->left < -.2 || t->top < 0 || t->right > d.width + .2 || t->bottom > d.height)
            fail_msg("'%s' leaves the picture in %s", t->words, svg);
        for (size_t k = 0; k < i; k++)
            apart(t, &d.texts[k], svg);
        for (size_t k = 0; k < d.n_bars; k++)
            apart(t, &d.bars[k], svg);
    }
    free(svg);
    return &d;
}

/* ---- figures of all kinds ---- */

static const char *const names[FIGURE_SERIES] = {
    "joint",     "duopoly",   "duopoly-paper", "aalo",         "neat",
    "neat-fair", "fair-nats", "fifo",          "duopoly-very", "a"};

struct data {
    double x[POINTS], y[FIGURE_SERIES][POINTS], least[FIGURE_SERIES][POINTS],
        most[FIGURE_SERIES][POINTS];
};

static double random_part(uint64_t *seed)
{
    return (double)(test_random(seed) >> 11) * 0x1p-53;
}

static void fill(struct data *data, uint64_t *seed)
{
    double scale = pow(10, (double)(test_random(seed) % 19) - 6), x = random_part(seed) * scale;
    for (size_t i = 0; i < POINTS; i++) {
        data->x[i] = x += (random_part(seed) + .01) * scale;
        for (int s = 0; s < FIGURE_SERIES; s++) {
            double y = test_random(seed) % 9 ? random_part(seed) * scale : 0;
            data->y[s][i] = y;
            data->least[s][i] = y * random_part(seed);
            data->most[s][i] = y * (1 + random_part(seed));
        }
    }
}

static struct figure figure_of(const struct data *data, enum figure_kind kind, size_t n,
                               int n_series, bool ranges)
{
    struct figure f = {.kind = kind,
                       .title = "What is shown here, in some words",
                       .x_name = "servers on one big switch, or in racks",
                       .y_name = "mean JCT / the full one's",
                       .n_series = n_series};
    for (int s = 0; s < n_series; s++)
        f.series[s] = (struct figure_series){names[s],
                                             policy_style(names[s]),
                                             n,
                                             data->x,
                                             data->y[s],
                                             ranges ? data->least[s] : NULL,
                                             ranges ? data->most[s] : NULL};
    return f;
}

/* One to ten series of one to twelve groups, of any size. */
static void test_labels_of_bars_have_their_own_room(void **state)
{
    (void)state;
    static const char *const labels[] = {"< 1 MB",       "1-10 MB",   "10-100 MB", "0.1-1 GB",
                                         "1-10 GB",      "10-100 GB", ">= 100 GB", "4 x 16 racks",
                                         "8 x 16 racks", "64 flat",   "all jobs",  "1000 MB"};
    uint64_t seed = test_seed();
    for (int round = 0; round < 600; round++) {
        struct data data;
        size_t n = 1 + test_random(&seed) % 12;
        fill(&data, &seed);
        struct figure f = figure_of(&data, FIGURE_BARS, n,
                                    1 + (int)(test_random(&seed) % FIGURE_SERIES), round % 2);
        f.labels = labels;
        check(&f);
    }
}

static void test_ticks_and_legends_have_their_own_room(void **state)
{
    (void)state;
    static const enum figure_kind kinds[] = {FIGURE_LINES, FIGURE_STEPS, FIGURE_AREAS};
    uint64_t seed = test_seed();
    for (int round = 0; round < 600; round++) {
        struct data data;
        fill(&data, &seed);
        struct figure f =
            figure_of(&data, kinds[round % 3], 1 + test_random(&seed) % POINTS,
                      1 + (int)(test_random(&seed) % FIGURE_SERIES), round % 2 && round % 3 == 0);
        f.log_x = test_random(&seed) % 2;
        f.band_name = test_random(&seed) % 2 ? "slot-starved" : NULL;
        check(&f);
    }
}

/* Three policies of thousands of seconds beside each other, as the source's figures have them. */
static void test_thousands_are_short(void **state)
{
    (void)state;
    struct data data = {.y = {{3114, 999.7}, {3090, 20}, {12345678, .00052}}};
    struct figure f = figure_of(&data, FIGURE_BARS, 2, 3, false);
    f.labels = (const char *const[]){"sjf", "fair"};
    const struct drawing *d = check(&f);
    size_t found = 0;
    for (size_t i = 0; i < d->n_texts; i++) {
        static const char *const wanted[] = {"3.11k", "1k", "3.09k", "20", "12.3M", "520µ"};
        for (size_t k = 0; k < 6; k++)
            found += strcmp(d->texts[i].words, wanted[k]) == 0;
        assert_null(strstr(d->texts[i].words, "e+"));
    }
    assert_int_equal(found, 6);
}

static void test_a_figure_of_nothing(void **state)
{
    (void)state;
    struct data data = {0};
    for (int kind = FIGURE_LINES; kind <= FIGURE_AREAS; kind++) {
        struct figure f = figure_of(&data, (enum figure_kind)kind, 0, 2, false);
        check(&f);
    }
}

static void test_numbers_have_prefixes_and_no_exponents(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } all[] = {{0, "0"},        {.5, "0.5"},     {999.4, "999"},     {999.5, "1k"},
               {1000, "1k"},    {999999, "1M"},  {3.456e9, "3.46G"}, {.001, "0.001"},
               {.0005, "500µ"}, {1.5e-8, "15n"}, {.0234, "0.0234"},  {-3114, "-3.11k"}};
    char text[FIGURE_NUMBER_MAX];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        figure_number(all[i].value, text);
        assert_string_equal(text, all[i].text);
    }
    static const struct {
        double value, most;
        const char *text;
    } ticks[] = {{2000, 8000, "2000"}, {2000, 12000, "2k"},     {0, 12000, "0"},
                 {500, 12000, "0.5k"}, {12500, 12500, "12.5k"}, {.0002, .0012, "0.0002"},
                 {2e6, 8e6, "2M"},     {.0002, .0008, "200µ"}};
    for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++) {
        figure_tick(ticks[i].value, ticks[i].most, text);
        assert_string_equal(text, ticks[i].text);
    }
}

/* ---- how policies look ---- */

static double distance(const char *a, const char *b)
{
    double sum = 0;
    for (int i = 1; i < 7; i += 2) {
        char x[3] = {a[i], a[i + 1]}, y[3] = {b[i], b[i + 1]};
        sum += pow((double)strtol(x, NULL, 16) - (double)strtol(y, NULL, 16), 2);
    }
    return sqrt(sum);
}

static void test_every_policy_has_a_look_of_its_own(void **state)
{
    (void)state;
    for (const struct preset *p = presets; p->name; p++)
        if (!policy_style(p->name))
            fail_msg("%s has no row in policy_styles.c", p->name);
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++)
        if (!policy_style((*p)->name))
            fail_msg("%s has no row in policy_styles.c", (*p)->name);
    assert_null(policy_style("nobody"));
    for (const struct policy_style *a = policy_styles; a->policy; a++)
        for (const struct policy_style *b = policy_styles; b != a; b++) {
            assert_string_not_equal(a->policy, b->policy);
            if (distance(a->style.colour, b->style.colour) < 25)
                fail_msg("%s and %s have about one colour", a->policy, b->policy);
            assert_false(a->style.dashes == b->style.dashes && a->style.marker == b->style.marker);
        }
}

/* Those that stand beside each other without being asked for. */
static void test_policies_of_one_picture_differ_much(void **state)
{
    (void)state;
    char words[8][32];
    for (const struct experiment *e = experiments; e->title; e++) {
        char list[128], *rest = list, *word;
        int n = 0;
        snprintf(list, sizeof(list), "%s", e->policies);
        for (; (word = strsep(&rest, ",")); n++)
            snprintf(words[n], sizeof(words[n]), "%s", word);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < a; b++)
                if (distance(policy_style(words[a])->colour, policy_style(words[b])->colour) < 70)
                    fail_msg("%s and %s look alike", words[a], words[b]);
    }
}

/* Whichever place it has, and whatever the picture's kind is. */
static void test_a_policy_has_one_colour_in_all_pictures(void **state)
{
    (void)state;
    struct data data;
    uint64_t seed = test_seed();
    fill(&data, &seed);
    const char *colour = policy_style("aalo")->colour;
    for (int kind = FIGURE_LINES; kind <= FIGURE_BARS; kind++)
        for (int place = 0; place < 3; place++) {
            char *svg = NULL, wanted[16];
            size_t size = 0, seen = 0;
            FILE *out = open_memstream(&svg, &size);
            struct figure f = figure_of(&data, (enum figure_kind)kind, 2, 3, false);
            f.labels = names;
            f.series[place].name = "aalo";
            f.series[place].style = policy_style("aalo");
            figure_write(&f, out);
            fclose(out);
            snprintf(wanted, sizeof(wanted), "'%s'", colour);
            for (const char *at = svg; (at = strstr(at, wanted)); at++)
                seen++;
            assert_true(seen >= 2);
            free(svg);
        }
}

static void test_text_is_no_tag(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    xml_text(out, "<a> & \"b\"");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "&lt;a&gt; &amp; \"b\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_of_bars_have_their_own_room),
        cmocka_unit_test(test_ticks_and_legends_have_their_own_room),
        cmocka_unit_test(test_thousands_are_short),
        cmocka_unit_test(test_a_figure_of_nothing),
        cmocka_unit_test(test_numbers_have_prefixes_and_no_exponents),
        cmocka_unit_test(test_text_is_no_tag),
        cmocka_unit_test(test_every_policy_has_a_look_of_its_own),
        cmocka_unit_test(test_policies_of_one_picture_differ_much),
        cmocka_unit_test(test_a_policy_has_one_colour_in_all_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
