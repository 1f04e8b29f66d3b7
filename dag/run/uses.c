#include "dag/run/uses.h"

#include "dag/base/log.h"

#include <stdlib.h>

struct tutti_use {
    tutti_insert_handle handle;
    int64_t id;
};

static void forget_ended(tutti_uses *u, tutti_ledger *ledger)
{
    int kept = 0;
    for (int i = 0; i < u->uses; i++)
        if (!tutti_ledger_has_ended(ledger, u->use[i].id)) u->use[kept++] = u->use[i];
    u->uses = kept;
}

/* Searches all uses for ended instances only when the array is full. */
tutti_status tutti_uses_reserve(tutti_uses *u, tutti_ledger *ledger, int handles)
{
    enum { LEAST = 64 };
    if (u->uses + handles <= u->room) return TUTTI_OK;
    forget_ended(u, ledger);
    if (u->room && u->uses + handles <= u->room / 2) return TUTTI_OK;
    int room = u->room ? 2 * u->room : LEAST;
    struct tutti_use *wider = realloc(u->use, (size_t)room * sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d handles in use", room);
    u->use = wider;
    u->room = room;
    return TUTTI_OK;
}

void tutti_uses_add(tutti_uses *u, int64_t id, int handles, const tutti_insert_handle handle[])
{
    for (int h = 0; h < handles; h++) u->use[u->uses++] = (struct tutti_use){handle[h], id};
}

int tutti_uses_ended(const tutti_uses *u, tutti_ledger *ledger, tutti_insert_handle handle)
{
    for (int i = 0; i < u->uses; i++)
        if (u->use[i].handle == handle && !tutti_ledger_has_ended(ledger, u->use[i].id)) return 0;
    return 1;
}

void tutti_uses_free(tutti_uses *u)
{
    free(u->use);
    *u = (tutti_uses){0};
}
