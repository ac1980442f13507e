#include "controller/cli/shares.h"

#include "lib/xml.h"

#include <inttypes.h>

enum { LEFT = 50, TOP = 20, WIDE = 640, HIGH = 300, LEGEND = 18, COLOURS = 8, MARKS = 4 };

static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#000000", "#8a6d3b"};

static double x_of(size_t span, size_t n)
{
    return LEFT + (double)WIDE * ((double)span + .5) / (double)n;
}

static double y_of(double part)
{
    return TOP + HIGH * (1 - part);
}

/* It is interrupted where nobody had anything. */
static void used_write(const struct shares_read *read, const duopoly_ShareRow *row,
                       const char *colour, FILE *out)
{
    size_t n = row->spans.slots_milli_count;
    bool goes_on = false;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", colour);
    for (size_t i = 0; i < n; i++) {
        int64_t ppm = shares_part_ppm(read, row, i);
        if (ppm >= 0)
            fprintf(out, "%c%.1f %.1f", goes_on ? 'L' : 'M', x_of(i, n), y_of((double)ppm / 1e6));
        goes_on = ppm >= 0;
    }
    fprintf(out, "\"/>\n");
}

static void right_write(const duopoly_ShareRow *row, const char *colour, FILE *out)
{
    size_t n = row->spans.right_ppm_count;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-dasharray=\"3 3\" opacity=\".6\" d=\"",
            colour);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(i, n),
                y_of((double)row->spans.right_ppm[i] / 1e6));
    fprintf(out, "\"/>\n");
}

static void legend_write(const struct shares_read *read, size_t i, FILE *out)
{
    int y = TOP + HIGH + 50 + (int)i * LEGEND;
    fprintf(out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%d %dh24\"/><text x=\"%d\" y=\"%d\">",
            colours[i % COLOURS], LEFT, y - 4, LEFT + 32, y);
    xml_text(out, read->rows[i].name);
    fprintf(out, ": share %" PRIu32 "</text>\n", read->rows[i].share);
}

static void axes_write(const struct shares_read *read, FILE *out)
{
    double whole_s = (double)read->head.span_ns * 1e-9 * read->head.all.slots_milli_count;
    for (int i = 0; i <= MARKS; i++) {
        double part = (double)i / MARKS;
        fprintf(out,
                "<path stroke=\"#ddd\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%.0f %%</text>\n",
                LEFT, y_of(part), WIDE, LEFT - 6, y_of(part) + 4, 100 * part);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f s</text>\n",
                LEFT + WIDE * part, TOP + HIGH + 18, whole_s * (part - 1));
    }
}

void shares_picture(const struct shares_read *read, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<title>Users' part of the slots in use; dashed: their shares</title>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            LEFT + WIDE + 30, TOP + HIGH + 50 + read->n * LEGEND);
    axes_write(read, out);
    for (size_t i = 0; i < read->n; i++) {
        right_write(&read->rows[i], colours[i % COLOURS], out);
        used_write(read, &read->rows[i], colours[i % COLOURS], out);
        legend_write(read, i, out);
    }
    fprintf(out, "</svg>\n");
}
