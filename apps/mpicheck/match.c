/* Collectives of different ranks, compared. */
#include "apps/mpicheck/tracker.h"
#include "apps/mpicheck/now.h"

#include <stdlib.h>
#include <string.h>

/* A difference is reported after this delay, so that the report can show the calls of the other ranks, too. */
static const double latecomers_s = 0.3;

void mpicheck_tracker_comm_joined(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    uint64_t id = (uint64_t)mpicheck_frame_get(frame);
    if (mpicheck_tracker_comm_find(judge, id)) return;
    const char *maker = mpicheck_frame_get_text(frame);
    int site = (int)mpicheck_frame_get(frame);
    int64_t size = mpicheck_frame_get(frame), others = mpicheck_frame_get(frame);
    if (frame->bad || size < 0 || size > judge->size || others < 0 || others > judge->size) return;
    mpicheck_tracker_comm *comm = calloc(1, sizeof(*comm));
    if (!comm) abort();
    *comm = (mpicheck_tracker_comm){.id = id,
        .maker = strdup(maker),
        .site = site,
        .maker_rank = rank,
        .size = (int)size,
        .others = (int)others,
        .members = calloc((size_t)(size + others) + 1, sizeof(int))};
    judge->order = realloc(judge->order, sizeof(*judge->order) * (size_t)(judge->ncomms + 1));
    if (!comm->maker || !comm->members || !judge->order) abort();
    for (int64_t i = 0; i < size + others; i++) {
        int64_t member = mpicheck_frame_get(frame);
        if (member < 0 || member >= judge->size) frame->bad = true;
        comm->members[i] = frame->bad ? rank : (int)member;
    }
    mpicheck_table_add(&judge->comms, id, comm);
    judge->order[judge->ncomms++] = comm;
}

static int member_of(const mpicheck_tracker_comm *comm, int rank)
{
    for (int i = 0; i < comm->size + comm->others; i++)
        if (comm->members[i] == rank) return i;
    return -1;
}

static mpicheck_slot *slot_of(mpicheck_tracker_comm *comm, uint64_t sequence)
{
    /* Each member numbers its calls in sequence, so a new number is at most one beyond those that have arrived. */
    if (sequence < comm->finished || sequence - comm->finished > (uint64_t)comm->nslots)
        return NULL;
    int index = (int)(sequence - comm->finished);
    if (index < comm->nslots) return comm->slots[index];
    comm->slots = realloc(comm->slots, sizeof(*comm->slots) * (size_t)(index + 1));
    if (!comm->slots) abort();
    for (; comm->nslots <= index; comm->nslots++) {
        size_t calls = (size_t)(comm->size + comm->others);
        comm->slots[comm->nslots] =
            calloc(1, sizeof(mpicheck_slot) + calls * sizeof(mpicheck_record *));
        if (!comm->slots[comm->nslots]) abort();
    }
    return comm->slots[index];
}

static void slot_free(mpicheck_slot *slot, int members)
{
    for (int i = 0; i < members; i++) mpicheck_record_free(slot->calls[i]);
    free(slot);
}

/* Reports what is wrong, then one line per group of members that have made the same call. */
static void describe(mpicheck_judge *judge, mpicheck_tracker_comm *comm, mpicheck_slot *slot,
    uint64_t sequence, const char *what, const char *verb)
{
    mpicheck_report report = {0};
    int members = comm->size + comm->others, *group = calloc((size_t)members + 1, sizeof(int));
    bool *shown = calloc((size_t)members + 1, sizeof(bool));
    if (!group || !shown) abort();
    mpicheck_report_add(
        &report, "tutti-mpicheck: error: collectives do not match: %s%s\n", what, verb);
    mpicheck_report_add(&report, "tutti-mpicheck:   on ");
    mpicheck_report_comm(&report, judge, comm->id);
    mpicheck_report_add(&report, ", collective number %llu\n", (unsigned long long)sequence + 1);
    for (int i = 0; i < members; i++) {
        const mpicheck_record *call = slot->calls[i];
        int count = 0;
        if (!call || shown[i]) continue;
        for (int j = i; j < members; j++) {
            const mpicheck_record *other = slot->calls[j];
            if (!other || shown[j] || strcmp(call->call, other->call) != 0 ||
                strcmp(call->what, other->what) != 0 ||
                !mpicheck_report_same_site(
                    judge, comm->members[i], call->site, comm->members[j], other->site))
                continue;
            shown[j] = true;
            group[count++] = comm->members[j];
        }
        mpicheck_report_add(&report, "tutti-mpicheck:   ");
        mpicheck_report_ranks(&report, group, count);
        mpicheck_report_add(&report, ": %s(%s) at ", call->call, call->what);
        mpicheck_report_site(&report, judge, comm->members[i], call->site);
        mpicheck_report_add(&report, "\n");
    }
    free(group);
    free(shown);
    mpicheck_report_error(judge, &report);
}

/* The first difference among the calls of a slot, or NULL. */
static const char *difference(const mpicheck_tracker_comm *comm, const mpicheck_slot *slot)
{
    int members = comm->size + comm->others;
    const char *what = NULL;
    for (int i = 0; i < members && !what; i++)
        for (int j = i; j < members && !what; j++)
            if (slot->calls[i] && slot->calls[j])
                what =
                    mpicheck_record_differs(slot->calls[i], i, slot->calls[j], j, comm->others > 0);
    return what;
}

static const char *new_difference(
    const mpicheck_tracker_comm *comm, const mpicheck_slot *slot, int member)
{
    for (int i = 0; i < comm->size + comm->others; i++) {
        if (!slot->calls[i]) continue;
        const char *what = mpicheck_record_differs(
            slot->calls[member], member, slot->calls[i], i, comm->others > 0);
        if (what) return what;
    }
    return NULL;
}

static bool any_nonblocking(const mpicheck_tracker_comm *comm, const mpicheck_slot *slot)
{
    for (int i = 0; i < comm->size + comm->others; i++)
        if (slot->calls[i] && !slot->calls[i]->blocking) return true;
    return false;
}

/* All calls of the first slot have arrived and fit: blocking ones may start, nonblocking ones may complete. */
static void finish(mpicheck_judge *judge, mpicheck_tracker_comm *comm)
{
    mpicheck_slot *slot = comm->slots[0];
    mpicheck_frame frame = {0};
    int members = comm->size + comm->others;
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_GO);
    mpicheck_frame_put(&frame, (int64_t)comm->id);
    mpicheck_frame_put(&frame, (int64_t)comm->finished);
    for (int i = 0; i < members; i++) mpicheck_tracker_send(judge, comm->members[i], &frame);
    mpicheck_frame_free(&frame);
    slot_free(slot, members);
    memmove(comm->slots, comm->slots + 1, sizeof(*comm->slots) * (size_t)--comm->nslots);
    comm->finished++;
    judge->collectives++;
}

static void check_slot(mpicheck_judge *judge, mpicheck_tracker_comm *comm, int index)
{
    mpicheck_slot *slot = comm->slots[index];
    bool all = slot->arrived == comm->size + comm->others;
    if (slot->differs && !judge->reported &&
        (all || any_nonblocking(comm, slot) || mpicheck_now() - slot->since > latecomers_s)) {
        describe(judge, comm, slot, comm->finished + (uint64_t)index, difference(comm, slot),
            " differs");
    }
}

void mpicheck_tracker_collective(mpicheck_judge *judge, int rank, mpicheck_record *record)
{
    mpicheck_tracker_comm *comm = mpicheck_tracker_comm_find(judge, record->comm);
    int member = comm ? member_of(comm, rank) : -1;
    mpicheck_slot *slot = member < 0 ? NULL : slot_of(comm, record->sequence);
    if (!slot || slot->calls[member]) {
        mpicheck_record_free(record);
        return;
    }
    slot->calls[member] = record;
    slot->arrived++;
    judge->epoch++;
    if (!slot->differs && new_difference(comm, slot, member)) {
        slot->differs = true;
        slot->since = mpicheck_now();
    }
    check_slot(judge, comm, (int)(record->sequence - comm->finished));
    while (comm->nslots > 0 && comm->slots[0]->arrived == comm->size + comm->others &&
           !comm->slots[0]->differs)
        finish(judge, comm);
}

bool mpicheck_tracker_unmatched(mpicheck_judge *judge)
{
    for (int i = 0; i < judge->ncomms; i++) {
        mpicheck_tracker_comm *comm = judge->order[i];
        if (comm->nslots == 0) continue;
        describe(
            judge, comm, comm->slots[0], comm->finished, "some ranks never made this call", "");
        return true;
    }
    return false;
}

void mpicheck_tracker_match_tick(mpicheck_judge *judge)
{
    for (int i = 0; i < judge->ncomms; i++)
        for (int k = 0; k < judge->order[i]->nslots; k++) check_slot(judge, judge->order[i], k);
}

int mpicheck_tracker_missing(mpicheck_judge *judge, uint64_t id, uint64_t sequence, int *missing)
{
    mpicheck_tracker_comm *comm = mpicheck_tracker_comm_find(judge, id);
    int count = 0;
    if (!comm || sequence < comm->finished) return 0;
    int index = (int)(sequence - comm->finished);
    for (int i = 0; i < comm->size + comm->others; i++)
        if (index >= comm->nslots || !comm->slots[index]->calls[i])
            missing[count++] = comm->members[i];
    return count;
}

void mpicheck_tracker_comms_free(mpicheck_judge *judge)
{
    for (int i = 0; i < judge->ncomms; i++) {
        mpicheck_tracker_comm *comm = judge->order[i];
        for (int k = 0; k < comm->nslots; k++) slot_free(comm->slots[k], comm->size + comm->others);
        free(comm->slots);
        free(comm->members);
        free(comm->maker);
        free(comm);
    }
    free(judge->order);
    mpicheck_table_clear(&judge->comms);
}
