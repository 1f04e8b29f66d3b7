#include "apps/mpicheck/comms.h"

#include "apps/mpicheck/finding.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdlib.h>

/* By handle and by id, and counts per group; `lock` protects them and the references. */
static mpicheck_table by_handle, by_id, made_by_groups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t mpicheck_comm_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x7f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* World ranks of a group's members, MPI_UNDEFINED for one from another world; the caller frees them. */
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

/* Asks MPI for the members. */
static mpicheck_comm *described(MPI_Comm handle)
{
    MPI_Group group;
    int inter = 0;
    mpicheck_comm *comm = calloc(1, sizeof(*comm));
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

static bool of_this_world(const mpicheck_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->world[i] == MPI_UNDEFINED) return false;
    for (int i = 0; i < comm->others; i++)
        if (comm->other[i] == MPI_UNDEFINED) return false;
    return true;
}

/* Equal on both sides of an intercommunicator. */
static uint64_t members_hash(const mpicheck_comm *comm)
{
    uint64_t own = 0, other = 0;
    for (int i = 0; i < comm->size; i++) own = mpicheck_comm_mix(own, (uint64_t)comm->world[i] + 1);
    for (int i = 0; i < comm->others; i++)
        other = mpicheck_comm_mix(other, (uint64_t)comm->other[i] + 1);
    return own ^ other;
}

static void destroy(mpicheck_comm *comm)
{
    free(comm->world);
    free(comm->other);
    free(comm);
}

static void announce(const mpicheck_comm *comm)
{
    mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_COMM);
    mpicheck_frame_put(frame, (int64_t)comm->id);
    mpicheck_frame_text(frame, comm->maker);
    mpicheck_frame_put(frame, comm->site);
    mpicheck_frame_put(frame, comm->size);
    mpicheck_frame_put(frame, comm->others);
    for (int i = 0; i < comm->size; i++) mpicheck_frame_put(frame, comm->world[i]);
    for (int i = 0; i < comm->others; i++) mpicheck_frame_put(frame, comm->other[i]);
    mpicheck_process_post();
}

static void add(uint64_t key, mpicheck_comm *comm)
{
    pthread_mutex_lock(&lock);
    mpicheck_table_add(&by_handle, key, comm);
    mpicheck_table_add(&by_id, comm->id, comm);
    pthread_mutex_unlock(&lock);
    announce(comm);
}

static void predefined(MPI_Comm handle, uint64_t id, const char *name)
{
    mpicheck_comm *comm = described(handle);
    comm->id = id;
    comm->maker = name;
    add(MPICHECK_KEY(handle), comm);
}

void mpicheck_comm_start(void)
{
    predefined(MPI_COMM_WORLD, 1, "MPI_COMM_WORLD");
    predefined(MPI_COMM_SELF, mpicheck_comm_mix(2, (uint64_t)mpicheck_process_self()->rank),
        "MPI_COMM_SELF");
}

mpicheck_comm *mpicheck_comm_at(uint64_t key)
{
    pthread_mutex_lock(&lock);
    mpicheck_comm *comm = mpicheck_table_find(&by_handle, key);
    pthread_mutex_unlock(&lock);
    return comm;
}

mpicheck_comm *mpicheck_comm_find(MPI_Comm handle)
{
    return mpicheck_comm_at(MPICHECK_KEY(handle));
}

/* A communicator to register; NULL: shared with processes that have another judge, or none. */
static mpicheck_comm *newcomer(MPI_Comm handle)
{
    if (handle == MPI_COMM_NULL) return NULL;
    mpicheck_comm *comm = described(handle);
    if (of_this_world(comm)) return comm;
    destroy(comm);
    return NULL;
}

static void introduce(uint64_t key, mpicheck_comm *comm, uint64_t id, const char *maker, int site)
{
    comm->id = id;
    comm->maker = maker;
    comm->site = site;
    add(key, comm);
}

void mpicheck_comm_made(MPI_Comm handle, uint64_t seed, const char *maker, int site)
{
    mpicheck_comm *comm = newcomer(handle);
    if (!comm) return;
    introduce(MPICHECK_KEY(handle), comm, mpicheck_comm_mix(seed, members_hash(comm)), maker, site);
}

/* Counts the objects made by processes that share no numbered collective. */
static uint64_t counted(uint64_t group)
{
    pthread_mutex_lock(&lock);
    intptr_t count = 1 + (intptr_t)mpicheck_table_remove(&made_by_groups, group);
    mpicheck_table_add(&made_by_groups, group, (void *)count);
    pthread_mutex_unlock(&lock);
    return (uint64_t)count;
}

void mpicheck_comm_made_by_group(MPI_Comm handle, uint64_t seed, const char *maker, int site)
{
    mpicheck_comm *comm = newcomer(handle);
    if (!comm) return;
    uint64_t group = mpicheck_comm_mix(seed, members_hash(comm));
    introduce(MPICHECK_KEY(handle), comm, mpicheck_comm_mix(group, counted(group)), maker, site);
}

/* A group as a communicator without messages. */
static mpicheck_comm *grouped(MPI_Group group)
{
    mpicheck_comm *comm = calloc(1, sizeof(*comm));
    if (!comm) abort();
    PMPI_Group_rank(group, &comm->rank);
    PMPI_Group_size(group, &comm->size);
    comm->world = members(group, comm->size);
    comm->references = 1;
    return comm;
}

uint64_t mpicheck_comm_count(MPI_Group group, uint64_t seed)
{
    mpicheck_comm *comm = grouped(group);
    uint64_t count = counted(mpicheck_comm_mix(seed, members_hash(comm)));
    destroy(comm);
    return count;
}

mpicheck_comm *mpicheck_comm_made_of(
    uint64_t key, MPI_Group group, uint64_t seed, const char *maker, int site)
{
    mpicheck_comm *comm = grouped(group);
    if (!of_this_world(comm)) {
        destroy(comm);
        return NULL;
    }
    introduce(key, comm, mpicheck_comm_mix(seed, members_hash(comm)), maker, site);
    return comm;
}

void mpicheck_comm_gone_at(uint64_t key)
{
    pthread_mutex_lock(&lock);
    mpicheck_comm *comm = mpicheck_table_remove(&by_handle, key);
    pthread_mutex_unlock(&lock);
    if (comm) mpicheck_comm_release(comm);
}

void mpicheck_comm_gone(MPI_Comm handle)
{
    mpicheck_comm_gone_at(MPICHECK_KEY(handle));
}

static void leak(void *value, void *severity)
{
    const mpicheck_comm *comm = value;
    if (comm->site != 0)
        mpicheck_finding_at(
            *(char *)severity, comm->maker, comm->site, "what it created is never freed");
}

void mpicheck_comm_leaks(char severity)
{
    pthread_mutex_lock(&lock);
    mpicheck_table_each(&by_handle, leak, &severity);
    pthread_mutex_unlock(&lock);
}

void mpicheck_comm_hold(mpicheck_comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->references++;
    pthread_mutex_unlock(&lock);
}

void mpicheck_comm_release(mpicheck_comm *comm)
{
    pthread_mutex_lock(&lock);
    /* Until then the judge may still grant it: pending operations continue after MPI_Comm_free. */
    bool last = --comm->references == 0;
    if (last) mpicheck_table_take(&by_id, comm->id, comm);
    pthread_mutex_unlock(&lock);
    if (last) destroy(comm);
}

void mpicheck_comm_grant(uint64_t id, uint64_t sequence)
{
    pthread_mutex_lock(&lock);
    mpicheck_comm *comm = mpicheck_table_find(&by_id, id);
    if (comm && comm->granted < sequence + 1) comm->granted = sequence + 1;
    pthread_mutex_unlock(&lock);
}

int mpicheck_comm_world(const mpicheck_comm *comm, int peer)
{
    const int *ranks = comm->others > 0 ? comm->other : comm->world;
    int size = comm->others > 0 ? comm->others : comm->size;
    return peer >= 0 && peer < size ? ranks[peer] : -1;
}
