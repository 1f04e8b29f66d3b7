/* The start rules. */
#include "designs/design.h"
#include "designs/queue/queue.h"

#include <stddef.h>

static int is_same_lane(const tutti_start_view *view, int a, int b)
{
    return view->group(view, a) == view->group(view, b) &&
           view->lane(view, a) == view->lane(view, b);
}

/* ---- queue ---- */

static int held_back_by_lane(const tutti_start_view *view, int n)
{
    for (int before = n - 1; before >= 0; before--)
        if (is_same_lane(view, before, n)) return view->started(view, before) ? -1 : before;
    return -1;
}

const tutti_start_rule tutti_start_queue = {
    .name = "queue", .reorders = 1, .next = tutti_queue_startable, .held_back = held_back_by_lane};

/* ---- ready ---- */

static int held_back_by_nothing(const tutti_start_view *view, int n)
{
    (void)view;
    (void)n;
    return -1;
}

const tutti_start_rule tutti_start_ready = {.name = "ready",
    .at_once = 1,
    .next = tutti_queue_first_ready,
    .held_back = held_back_by_nothing};

/* ---- main ---- */

static int has_groups(const tutti_start_view *view)
{
    for (int i = 0; i < view->count; i++)
        if (view->group(view, i)) return 1;
    return 0;
}

/* All lower numbers must end first; then its whole section must be ready. The latter does not apply where lanes share
 * device slots with groups: what the section waits for may have a later turn. */
static int held_back_by_section(const tutti_start_view *view, int n)
{
    int group = view->group(view, n), begins = n;
    for (int i = n - 1; i >= 0 && !view->begins(view, begins); i--)
        if (view->group(view, i) == group) begins = i;
    for (int i = 0; i < n; i++)
        if (view->group(view, i) == group && !view->ended(view, i)) return i;
    if (view->one_order && has_groups(view)) return -1;
    for (int i = begins; i < view->count; i++) {
        if (view->group(view, i) != group) continue;
        if (i > begins && view->begins(view, i)) break;
        if (!view->ready(view, i)) return i;
    }
    return -1;
}

const tutti_start_rule tutti_start_main = {
    .name = "main", .main_drives = 1, .next = tutti_queue_alone, .held_back = held_back_by_section};

const tutti_start_rule *const tutti_start_rules[] = {
    &tutti_start_queue, &tutti_start_ready, &tutti_start_main, NULL};

/* The collective that takes a device slot before n does; -1: none, or n takes none. */
static int starts_before(const tutti_start_view *view, int n)
{
    int before = view->one_order && view->takes_slot(view, n) ? n - 1 : -1;
    while (before >= 0 && !view->takes_slot(view, before)) before--;
    return before;
}

/* The one device slot is free when the collective submitted before has ended: then all earlier ones have ended,
 * too. */
int tutti_start_held_back(const tutti_start_rule *rule, const tutti_start_view *view, int n)
{
    int before = starts_before(view, n);
    if (before >= 0 && !view->ended(view, before)) return before;
    return rule->held_back(view, n);
}
