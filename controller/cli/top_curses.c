/* WHY: functions, since the macros' conversions are not ours to mend. */
#define NCURSES_NOMACROS
#include "controller/cli/top_curses.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* WHY so short: an escape by itself, that no other key begins with, leaves the filter. */
#define ESCAPE_MS 25
enum { RED = 1 };

static SCREEN *terminal; /* NULL: it is not open */
static bool colours;

static void colours_begin(void)
{
    const char *none = getenv("NO_COLOR");
    colours = !(none && *none) && has_colors();
    if (!colours)
        return;
    start_color();
    use_default_colors();
    init_pair(RED, COLOR_RED, -1);
}

int terminal_open(struct err *err)
{
    static bool closes;
    const char *name = getenv("TERM");
    setlocale(LC_CTYPE, "");
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return err_set(err, EINVAL, "the terminal '%s' is not known here: set TERM to one that is",
                       name ? name : "");
    if (!closes)
        atexit(terminal_close);
    closes = true;
    set_escdelay(ESCAPE_MS);
    colours_begin();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, true);
    nodelay(stdscr, true);
    return 0;
}

void terminal_close(void)
{
    if (!terminal)
        return;
    if (!isendwin())
        endwin();
    delscreen(terminal);
    terminal = NULL;
}

void terminal_size(unsigned *ret_lines, unsigned *ret_columns)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    *ret_lines = (unsigned)getmaxy(stdscr);
    *ret_columns = (unsigned)getmaxx(stdscr);
}

bool terminal_is_ascii(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static attr_t attributes_of(enum top_style style)
{
    switch (style) {
    case TOP_TITLE:
    case TOP_HEADINGS:
        return A_REVERSE;
    case TOP_ALARM:
        return colours ? A_BOLD | (attr_t)COLOR_PAIR(RED) : A_BOLD;
    case TOP_FOOT:
        return A_DIM;
    default:
        return A_NORMAL;
    }
}

void terminal_draw(const struct top_screen *screen)
{
    const unsigned lines = (unsigned)getmaxy(stdscr);
    erase();
    for (unsigned i = 0; i < screen->n && i < lines; i++) {
        attrset((int)attributes_of(screen->line[i].style));
        mvaddstr((int)i, 0, screen->line[i].text);
    }
    attrset(A_NORMAL);
    refresh();
}

void terminal_suspend(void)
{
    endwin();
}

void terminal_resume(void)
{
    reset_prog_mode();
    clearok(curscr, true);
    refresh();
}

int terminal_key(void)
{
    int key;
    while ((key = getch()) == KEY_RESIZE)
        ;
    switch (key) {
    case ERR:
        return -1;
    case KEY_NPAGE:
    case KEY_DOWN:
    case KEY_RIGHT:
        return TOP_KEY_NEXT;
    case KEY_PPAGE:
    case KEY_UP:
    case KEY_LEFT:
        return TOP_KEY_BACK;
    case KEY_HOME:
        return TOP_KEY_FIRST;
    case KEY_ENTER:
        return '\n';
    case KEY_BACKSPACE:
    case 127:
    case '\b':
        return TOP_KEY_ERASE;
    case 27:
        return TOP_KEY_ESCAPE;
    default:
        return key < 256 ? key : TOP_KEY_OTHER;
    }
}
