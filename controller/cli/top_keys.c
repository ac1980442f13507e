#include "controller/cli/top_keys.h"

#include <stdio.h>
#include <string.h>

static void want_others(struct top_state *state)
{
    state->answered = false;
    state->changes++;
}

void top_rewind(struct top_state *state)
{
    state->page = 0;
    state->starts[0] = 0;
    want_others(state);
}

bool top_answer(struct top_state *state, uint64_t changes, uint64_t next)
{
    if (changes != state->changes)
        return false;
    state->answered = true;
    state->next = next;
    return true;
}

static enum top_want complain(struct top_state *state, const char *text)
{
    snprintf(state->complaint, sizeof(state->complaint), "%s", text);
    return TOP_DRAW;
}

/* ---- the filter ---- */

static enum top_want filter_take(struct top_state *state)
{
    const struct top_view *view = &top_views[state->view];
    struct filter filter;
    struct err err;
    if (filter_read(state->edit, view->list->cells, &filter, &err) < 0)
        return complain(state, err.text);
    state->edits = false;
    strcpy(state->filters[state->view], state->edit);
    top_rewind(state);
    return TOP_ASK;
}

/* A character of UTF-8 is erased as a whole. */
static void edit_erase(char *edit)
{
    size_t length = strlen(edit);
    while (length && (edit[length - 1] & 0xc0) == 0x80)
        length--;
    edit[length ? length - 1 : 0] = '\0';
}

static enum top_want edit_add(struct top_state *state, int key)
{
    const size_t length = strlen(state->edit);
    if (key < ' ' || key == 127 || key > 255)
        return TOP_NOTHING;
    if (length + 1 == sizeof(state->edit))
        return complain(state, "a filter has at most 511 bytes");
    state->edit[length] = (char)key;
    state->edit[length + 1] = '\0';
    return TOP_DRAW;
}

static enum top_want edit_key(struct top_state *state, int key)
{
    switch (key) {
    case '\n':
    case '\r':
        return filter_take(state);
    case TOP_KEY_ESCAPE:
        state->edits = false;
        return TOP_DRAW;
    case TOP_KEY_ERASE:
        edit_erase(state->edit);
        return TOP_DRAW;
    case 'U' - '@':
        *state->edit = '\0';
        return TOP_DRAW;
    default:
        return edit_add(state, key);
    }
}

static enum top_want edit_begin(struct top_state *state)
{
    state->edits = true;
    strcpy(state->edit, state->filters[state->view]);
    return TOP_DRAW;
}

/* ---- where one looks ---- */

static enum top_want view_set(struct top_state *state, unsigned view)
{
    if (view == state->view && !state->page)
        return TOP_NOTHING;
    state->view = view;
    top_rewind(state);
    return TOP_ASK;
}

static enum top_want page_next(struct top_state *state)
{
    if (!state->answered)
        return TOP_NOTHING;
    if (!state->next)
        return complain(state, "this is the last page");
    if (state->page + 1 == TOP_PAGES)
        return complain(state, "no further: / filters");
    state->starts[++state->page] = state->next;
    want_others(state);
    return TOP_ASK;
}

static enum top_want page_back(struct top_state *state)
{
    if (!state->page)
        return complain(state, "this is the first page");
    state->page--;
    want_others(state);
    return TOP_ASK;
}

static enum top_want look_key(struct top_state *state, int key)
{
    switch (key) {
    case 'h':
        return view_set(state, TOP_HOSTS);
    case 'l':
        return view_set(state, TOP_LINKS);
    case 'j':
        return view_set(state, TOP_JOBS);
    case '\t':
        return view_set(state, (state->view + 1) % TOP_VIEWS);
    case ' ':
    case TOP_KEY_NEXT:
        return page_next(state);
    case 'b':
    case TOP_KEY_BACK:
        return page_back(state);
    case 'g':
    case TOP_KEY_FIRST:
        top_rewind(state);
        return TOP_ASK;
    case '/':
        return edit_begin(state);
    case 'p':
        state->paused = !state->paused;
        return state->paused ? TOP_DRAW : TOP_ASK;
    case '?':
        state->helps = true;
        return TOP_DRAW;
    case 'q':
        return TOP_END;
    default:
        return TOP_NOTHING;
    }
}

enum top_want top_key(struct top_state *state, int key)
{
    const bool complained = *state->complaint, helped = state->helps;
    enum top_want want;
    *state->complaint = '\0';
    state->helps = false;
    want = state->edits ? edit_key(state, key) : look_key(state, key);
    return want == TOP_NOTHING && (complained || helped) ? TOP_DRAW : want;
}
