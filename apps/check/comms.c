#include "apps/check/comms.h"

#include "apps/check/finding.h"
#include "apps/check/process.h"
#include "apps/check/table.h"

#include <pthread.h>
#include <stdlib.h>

/* By handle and by id, and how many a group has made; `lock` protects them, and the references. */
static tutti_table by_handle, by_id, made_by_groups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t tutti_comm_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x7f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* World ranks of a group's members, which the caller frees; MPI_UNDEFINED for one of another world. */
static int *members(MPI_Group group, int size)
{
    MPI_Group all;
    int *own = malloc(sizeof(int) * ((size_t)size + 1));
    int *world = malloc(sizeof(int) * ((size_t)size + 1));
    if (!own || !world) abort();
    for (int i = 0; i < size; i++) own[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(group, size, own, all, world);
    PMPI_Group_free(&all);
    free(own);
    return world;
}

/* Asks MPI who is in it. */
static tutti_comm *described(MPI_Comm handle)
{
    MPI_Group group;
    int inter = 0;
    tutti_comm *comm = calloc(1, sizeof(*comm));
    if (!comm) abort();
    PMPI_Comm_rank(handle, &comm->rank);
    PMPI_Comm_size(handle, &comm->size);
    PMPI_Comm_group(handle, &group);
    comm->world = members(group, comm->size);
    PMPI_Group_free(&group);
    PMPI_Comm_test_inter(handle, &inter);
    if (inter) {
        PMPI_Comm_remote_size(handle, &comm->others);
        PMPI_Comm_remote_group(handle, &group);
        comm->other = members(group, comm->others);
        PMPI_Group_free(&group);
    }
    comm->references = 1;
    return comm;
}

static bool of_this_world(const tutti_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->world[i] == MPI_UNDEFINED) return false;
    for (int i = 0; i < comm->others; i++)
        if (comm->other[i] == MPI_UNDEFINED) return false;
    return true;
}

/* Equal on both sides of an intercommunicator. */
static uint64_t members_hash(const tutti_comm *comm)
{
    uint64_t own = 0, other = 0;
    for (int i = 0; i < comm->size; i++) own = tutti_comm_mix(own, (uint64_t)comm->world[i] + 1);
    for (int i = 0; i < comm->others; i++)
        other = tutti_comm_mix(other, (uint64_t)comm->other[i] + 1);
    return own ^ other;
}

static void destroy(tutti_comm *comm)
{
    free(comm->world);
    free(comm->other);
    free(comm);
}

static void announce(const tutti_comm *comm)
{
    tutti_frame *frame = tutti_process_open(TUTTI_FRAME_COMM);
    tutti_frame_put(frame, (int64_t)comm->id);
    tutti_frame_text(frame, comm->maker);
    tutti_frame_put(frame, comm->site);
    tutti_frame_put(frame, comm->size);
    tutti_frame_put(frame, comm->others);
    for (int i = 0; i < comm->size; i++) tutti_frame_put(frame, comm->world[i]);
    for (int i = 0; i < comm->others; i++) tutti_frame_put(frame, comm->other[i]);
    tutti_process_post();
}

static void add(uint64_t key, tutti_comm *comm)
{
    pthread_mutex_lock(&lock);
    tutti_table_add(&by_handle, key, comm);
    tutti_table_add(&by_id, comm->id, comm);
    pthread_mutex_unlock(&lock);
    announce(comm);
}

static void predefined(MPI_Comm handle, uint64_t id, const char *name)
{
    tutti_comm *comm = described(handle);
    comm->id = id;
    comm->maker = name;
    add(TUTTI_KEY(handle), comm);
}

void tutti_comm_start(void)
{
    predefined(MPI_COMM_WORLD, 1, "MPI_COMM_WORLD");
    predefined(
        MPI_COMM_SELF, tutti_comm_mix(2, (uint64_t)tutti_process_self()->rank), "MPI_COMM_SELF");
}

tutti_comm *tutti_comm_at(uint64_t key)
{
    pthread_mutex_lock(&lock);
    tutti_comm *comm = tutti_table_find(&by_handle, key);
    pthread_mutex_unlock(&lock);
    return comm;
}

tutti_comm *tutti_comm_find(MPI_Comm handle)
{
    return tutti_comm_at(TUTTI_KEY(handle));
}

/* A communicator to be made known; NULL: shared with processes that have another judge, or none. */
static tutti_comm *newcomer(MPI_Comm handle)
{
    if (handle == MPI_COMM_NULL) return NULL;
    tutti_comm *comm = described(handle);
    if (of_this_world(comm)) return comm;
    destroy(comm);
    return NULL;
}

static void introduce(uint64_t key, tutti_comm *comm, uint64_t id, const char *maker, int site)
{
    comm->id = id;
    comm->maker = maker;
    comm->site = site;
    add(key, comm);
}

void tutti_comm_made(MPI_Comm handle, uint64_t seed, const char *maker, int site)
{
    tutti_comm *comm = newcomer(handle);
    if (!comm) return;
    introduce(TUTTI_KEY(handle), comm, tutti_comm_mix(seed, members_hash(comm)), maker, site);
}

/* Counts what processes make that share no numbered collective. */
static uint64_t counted(uint64_t group)
{
    pthread_mutex_lock(&lock);
    intptr_t count = 1 + (intptr_t)tutti_table_remove(&made_by_groups, group);
    tutti_table_add(&made_by_groups, group, (void *)count);
    pthread_mutex_unlock(&lock);
    return (uint64_t)count;
}

void tutti_comm_made_by_group(MPI_Comm handle, uint64_t seed, const char *maker, int site)
{
    tutti_comm *comm = newcomer(handle);
    if (!comm) return;
    uint64_t group = tutti_comm_mix(seed, members_hash(comm));
    introduce(TUTTI_KEY(handle), comm, tutti_comm_mix(group, counted(group)), maker, site);
}

/* A group as a communicator that nobody sends messages on. */
static tutti_comm *grouped(MPI_Group group)
{
    tutti_comm *comm = calloc(1, sizeof(*comm));
    if (!comm) abort();
    PMPI_Group_rank(group, &comm->rank);
    PMPI_Group_size(group, &comm->size);
    comm->world = members(group, comm->size);
    comm->references = 1;
    return comm;
}

uint64_t tutti_comm_count(MPI_Group group, uint64_t seed)
{
    tutti_comm *comm = grouped(group);
    uint64_t count = counted(tutti_comm_mix(seed, members_hash(comm)));
    destroy(comm);
    return count;
}

tutti_comm *tutti_comm_made_of(
    uint64_t key, MPI_Group group, uint64_t seed, const char *maker, int site)
{
    tutti_comm *comm = grouped(group);
    if (!of_this_world(comm)) {
        destroy(comm);
        return NULL;
    }
    introduce(key, comm, tutti_comm_mix(seed, members_hash(comm)), maker, site);
    return comm;
}

void tutti_comm_gone_at(uint64_t key)
{
    pthread_mutex_lock(&lock);
    tutti_comm *comm = tutti_table_remove(&by_handle, key);
    pthread_mutex_unlock(&lock);
    if (comm) tutti_comm_release(comm);
}

void tutti_comm_gone(MPI_Comm handle)
{
    tutti_comm_gone_at(TUTTI_KEY(handle));
}

static void leak(void *value, void *severity)
{
    const tutti_comm *comm = value;
    if (comm->site != 0)
        tutti_finding_at(
            *(char *)severity, comm->maker, comm->site, "what it has made is never freed");
}

void tutti_comm_leaks(char severity)
{
    pthread_mutex_lock(&lock);
    tutti_table_each(&by_handle, leak, &severity);
    pthread_mutex_unlock(&lock);
}

void tutti_comm_hold(tutti_comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->references++;
    pthread_mutex_unlock(&lock);
}

void tutti_comm_release(tutti_comm *comm)
{
    pthread_mutex_lock(&lock);
    /* Until then the judge's word is for it: what is under way goes on after MPI_Comm_free. */
    bool last = --comm->references == 0;
    if (last) tutti_table_take(&by_id, comm->id, comm);
    pthread_mutex_unlock(&lock);
    if (last) destroy(comm);
}

void tutti_comm_grant(uint64_t id, uint64_t sequence)
{
    pthread_mutex_lock(&lock);
    tutti_comm *comm = tutti_table_find(&by_id, id);
    if (comm && comm->granted < sequence + 1) comm->granted = sequence + 1;
    pthread_mutex_unlock(&lock);
}

int tutti_comm_world(const tutti_comm *comm, int peer)
{
    const int *ranks = comm->others > 0 ? comm->other : comm->world;
    int size = comm->others > 0 ? comm->others : comm->size;
    return peer >= 0 && peer < size ? ranks[peer] : -1;
}
