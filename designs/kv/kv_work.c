/* A worker's calls. */
#include "designs/kv/kv_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_kv_key *find_key(const tutti_kv *kv, int key)
{
    tutti_kv_key *k = kv->bucket[(unsigned)key % TUTTI_KV_BUCKETS];
    while (k && k->key != key) k = k->in_bucket;
    return k;
}

/* The key's data may not be there. */
static tutti_status refuse_failed(const char *function, int key)
{
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: key %d was not made: tutti_kv_init has failed", function, key);
}

/* ---- optimizer ---- */

tutti_status tutti_kv_set_optimizer(tutti_kv *kv, const char *text)
{
    tutti_optimizer o;
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_set_optimizer", 0);
    if (status) return status;
    if (!text) return tutti_fail(TUTTI_ERR_INVAL, "tutti_kv_set_optimizer: the text is NULL");
    if (kv->keys)
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_kv_set_optimizer: keys have been made: call it before the first tutti_kv_init");
    status = tutti_optimizer_read(text, &o);
    if (!status && kv->rule.type == TUTTI_KV_ELASTIC && o.kind != TUTTI_OPTIMIZER_ADD)
        status = tutti_fail(TUTTI_ERR_INVAL,
            "tutti_kv_set_optimizer: \"%s\": with the type elastic servers add the differences "
            "that "
            "clients push, and clients update their weights themselves: leave the call out",
            text);
    int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_OPTIMIZER};
    tutti_optimizer_pack(&o, value + 1);
    for (int s = 0; s < kv->servers && !status; s++)
        status = kv->transport->write(kv, tutti_kv_server_rank(kv, s), value);
    if (status) return status;
    kv->optimizer = o;
    kv->rate = o.rate;
    return TUTTI_OK;
}

tutti_status tutti_kv_set_rate(tutti_kv *kv, double rate)
{
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_set_rate", 0);
    if (status) return status;
    if (!(rate >= 0 && rate < 1e9))
        return tutti_fail(
            TUTTI_ERR_INVAL, "tutti_kv_set_rate: rate is %g: must be 0 or more", rate);
    kv->rate = rate;
    return TUTTI_OK;
}

/* Without servers every worker updates all values itself. The first call for a key compares, whatever else is wrong
 * with it on a worker. */
static tutti_status compare_optimizers(tutti_kv *kv, const char *function)
{
    int64_t mine[TUTTI_OPTIMIZER_WORDS], first[TUTTI_OPTIMIZER_WORDS];
    const unsigned errors = tutti_error_count();
    int worker = -1;
    if (kv->servers || kv->workers == 1 || kv->compared) return TUTTI_OK;
    tutti_exchange *x = kv->session->exchange;
    tutti_optimizer_pack(&kv->optimizer, mine);
    memcpy(first, mine, sizeof first);
    tutti_status status =
        tutti_exchange_broadcast(x, "the optimizer", TUTTI_I64, 0, TUTTI_OPTIMIZER_WORDS, first);
    tutti_optimizer theirs;
    if (!status && (!tutti_optimizer_unpack(first, &theirs) ||
                       !tutti_optimizer_is_same(&theirs, &kv->optimizer)))
        status = TUTTI_ERR_MISMATCH;
    status = tutti_exchange_agree(x, status, &worker);
    kv->compared = !status;
    if (worker >= 0 && status == TUTTI_ERR_MISMATCH)
        return tutti_fail(status,
            "%s: worker %d has another optimizer than worker 0: every worker must give "
            "tutti_kv_set_optimizer the same text",
            function, worker);
    return tutti_session_leave(function, errors, status);
}

/* ---- keys ---- */

/* Places part p of the key on a server. All workers do so in the same order. */
static tutti_status place_part(tutti_kv *kv, tutti_kv_key *k, int p)
{
    tutti_kv_part *part = &k->part[p];
    tutti_portions_partition(
        &kv->portions, k->count, tutti_dtype_bytes(k->dtype), k->parts, p, &part->portion);
    part->root = part->portion.slot % (kv->client_size / kv->stages);
    int most = tutti_exchange_edges(kv->session->exchange);
    if (!kv->servers || (part->portion.slot < most && part->portion.second_slot < most))
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "tutti_kv_init: key %d: a server has at most %d keys: take more servers, or put several "
        "tensors into "
        "one key",
        k->key, most);
}

static tutti_status open_part(tutti_kv *kv, const tutti_kv_key *k, tutti_kv_part *part)
{
    tutti_status status = tutti_datum_open(part->portion.count, k->dtype, &part->pushed);
    if (!status) status = tutti_datum_open(part->portion.count, k->dtype, &part->value);
    if (!status && !kv->servers)
        status = tutti_kv_open_states(&kv->optimizer, part->portion.count, k->dtype, part->state);
    return status;
}

static tutti_status make_key(
    tutti_kv *kv, int key, int64_t count, tutti_dtype dtype, int elsewhere, tutti_kv_key **made)
{
    int parts = tutti_portions_parts(&kv->portions, count);
    tutti_kv_key *k = calloc(1, sizeof *k + (size_t)parts * sizeof k->part[0]);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_init: no memory for key %d", key);
    *k = (tutti_kv_key){.next = kv->keys,
        .key = key,
        .dtype = dtype,
        .count = count,
        .elsewhere = elsewhere,
        .parts = parts};
    kv->keys = k; /* from here on it is closed with the store */
    tutti_kv_key **bucket = &kv->bucket[(unsigned)key % TUTTI_KV_BUCKETS];
    k->in_bucket = *bucket;
    *bucket = k;
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < parts && !status; p++) {
        status = place_part(kv, k, p);
        if (!status && !elsewhere) status = open_part(kv, k, &k->part[p]);
    }
    k->failed = status != TUTTI_OK;
    *made = k;
    return status;
}

/* Sends this part's first value to its servers. */
static tutti_status send_value(
    tutti_kv *kv, const tutti_kv_key *k, tutti_kv_part *part, tutti_handle data)
{
    const tutti_portion *at = &part->portion;
    if (!kv->servers)
        return tutti_kv_submit_copy(part->value, data, at->first, at->count, k->dtype);
    tutti_status status = tutti_kv_submit_copy(part->pushed, data, at->first, at->count, k->dtype);
    for (int copy = 0; copy < tutti_kv_copies(kv) && !status; copy++) {
        const tutti_kv_message message = tutti_kv_message_of(kv, k, part, copy, part->pushed);
        status = kv->transport->write(kv, message.rank,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){
                TUTTI_KV_INIT, message.slot, at->count, k->dtype, k->key});
        if (!status) status = tutti_kv_send_data(kv, &message);
    }
    return status;
}

/* Counts the elements of data, which must have the key's type. */
static tutti_status count_elements(
    const char *function, int key, tutti_handle data, tutti_dtype dtype, int reads, int64_t *count)
{
    char what[80];
    snprintf(what, sizeof what, "%s: key %d", function, key);
    const tutti_handle_use use = {.what = what, .dtype = dtype, .reads = reads};
    return tutti_handle_count(data, &use, count);
}

static tutti_status check_data(
    const char *function, const tutti_kv_key *k, tutti_handle data, int reads)
{
    int64_t count;
    tutti_status status =
        count_elements(function, k->key, data, (tutti_dtype)(k->dtype | k->several), reads, &count);
    if (status || count == k->count) return status;
    return tutti_fail(TUTTI_ERR_INVAL,
        "%s: key %d has %lld elements, but the data have %lld: pass data of the size that "
        "tutti_kv_init was given, or make another key",
        function, k->key, (long long)k->count, (long long)count);
}

/* ---- push and pull ---- */

/* Without servers every worker updates the value itself. */
static tutti_status update_here(const tutti_kv *kv, const tutti_kv_key *k, tutti_kv_part *part)
{
    const tutti_kv_update update = {.optimizer = kv->optimizer,
        .dtype = k->dtype,
        .count = part->portion.count,
        .before = part->updates++,
        .rate = kv->rate,
        .value = part->value,
        .sum = part->pushed,
        .state = part->state};
    tutti_status status =
        kv->pushing ? tutti_allreduce(kv->pushing, part->pushed, k->dtype, TUTTI_SUM) : TUTTI_OK;
    return status ? status : tutti_kv_submit_update(&update);
}

/* Pushes the sum of the data, added in their order. */
static tutti_status push_part(
    tutti_kv *kv, const tutti_kv_key *k, tutti_kv_part *part, int n, const tutti_handle data[])
{
    const tutti_portion *at = &part->portion;
    tutti_status status =
        tutti_kv_submit_copy(part->pushed, data[0], at->first, at->count, k->dtype);
    for (int v = 1; v < n && !status; v++)
        status = tutti_kv_submit_add(part->pushed, data[v], at->first, at->count, k->dtype);
    if (status) return status;
    if (!kv->servers) return update_here(kv, k, part);
    part->pushes++;
    if (kv->pushing)
        status = tutti_reduce(kv->pushing, part->pushed, k->dtype, TUTTI_SUM, part->root);
    return status || !tutti_kv_is_root(kv, part) ? status : tutti_kv_send_push(kv, k, part);
}

static tutti_status fetch_part(
    tutti_kv *kv, const tutti_kv_key *k, const tutti_kv_part *part, tutti_handle to)
{
    tutti_status status =
        tutti_kv_is_root(kv, part) ? tutti_kv_request_value(kv, k, part, to) : TUTTI_OK;
    if (status || !kv->pulling) return status;
    return tutti_broadcast(kv->pulling, to, tutti_several(k->dtype), part->root);
}

static void copy_parts(void *arg, void *const buf[])
{
    const tutti_kv_key *k = arg;
    size_t element = tutti_dtype_bytes(k->dtype);
    for (int p = 0; p < k->parts; p++)
        memcpy((char *)buf[0] + (size_t)k->part[p].portion.first * element, buf[p + 1],
            (size_t)k->part[p].portion.count * element);
}

static tutti_status push_key(tutti_kv *kv, tutti_kv_key *k, int n, const tutti_handle data[])
{
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < k->parts && !status; p++) status = push_part(kv, k, &k->part[p], n, data);
    return status;
}

/* A key that one server has whole is received into the data directly, if there is one vector. */
static tutti_status pull_key(tutti_kv *kv, tutti_kv_key *k, int n, const tutti_handle data[])
{
    tutti_status status = TUTTI_OK;
    if (kv->servers && k->parts == 1 && n == 1) return fetch_part(kv, k, &k->part[0], data[0]);
    for (int p = 0; kv->servers && p < k->parts && !status; p++)
        status = fetch_part(kv, k, &k->part[p], k->part[p].value);
    for (int v = 0; v < n && !status; v++) {
        const tutti_kv_parts_task values = {"kv pull", copy_parts, k, data[v], TUTTI_WRITE, 0};
        status = tutti_kv_submit_parts_task(&values);
    }
    return status;
}

/* ---- priorities ---- */

/* Without servers pushes are sums over all workers, whose priority the session has; of stages they are sums in groups,
 * in which priorities mean nothing. */
static int has_priorities(const tutti_kv *kv)
{
    return kv->servers ? kv->jobs.settings.on : kv->stages == 1;
}

/* Once, and on one worker: it is not an error. */
static void warn_if_ignored(tutti_kv *kv)
{
    if (kv->warned || kv->rank || has_priorities(kv)) return;
    kv->warned = 1;
    tutti_log(TUTTI_LOG_WARN, "%s",
        kv->servers
            ? "tutti_kv_set_priority: between workers and servers of one mpirun messages go in "
              "MPI's order, whatever their priority; it counts between jobs, and without servers"
            : "tutti_kv_set_priority: without servers the sums of a stage go in the order of its "
              "pushes, whatever their priority; it counts between jobs, and with one stage");
}

static tutti_status set_session_priority(const tutti_kv *kv, const tutti_kv_key *k)
{
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < k->parts && !status && kv->pushing; p++)
        status = tutti_priority(kv->pushing, k->part[p].pushed, k->priority);
    return status;
}

tutti_status tutti_kv_set_priority(tutti_kv *kv, int key, int priority)
{
    static const char function[] = "tutti_kv_set_priority";
    tutti_status status = tutti_kv_enter(kv, function, 0);
    if (status) return status;
    tutti_kv_key *k = find_key(kv, key);
    if (!k)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: key %d is unknown: make it with tutti_kv_init", function, key);
    if (k->failed) return refuse_failed(function, key);
    k->priority = priority;
    if (priority) warn_if_ignored(kv);
    return kv->servers || !has_priorities(kv) ? TUTTI_OK : set_session_priority(kv, k);
}

/* ---- the first value ---- */

/* Between jobs every client sends a first value, and the server uses the first client's; then all pull, so a client
 * that joins later gets the current value. */
static int sends_first_value(const tutti_kv *kv)
{
    return (kv->jobs.settings.on ? tutti_kv_worker(kv) : kv->rank) < kv->stages;
}

static tutti_status check_new(const tutti_kv *kv, const char *function, int key, tutti_dtype dtype)
{
    const tutti_kv_key *known = find_key(kv, key);
    if (known && known->failed)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d was not made, as its tutti_kv_init has failed: take another number",
            function, key);
    if (key < 0 || known)
        return tutti_fail(TUTTI_ERR_INVAL,
            key < 0 ? "%s: key %d: must be 0 or more"
                    : "%s: key %d exists: take another number, or push to it",
            function, key);
    if ((unsigned)dtype >= TUTTI_DTYPE_COUNT || !tutti_optimizer_takes(&kv->optimizer, dtype))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d: the optimizer %s does not take %s: make a key of TUTTI_F32, or set assign "
            "or add",
            function, key, tutti_optimizer_name(&kv->optimizer), tutti_dtype_name(dtype));
    if (kv->rule.type != TUTTI_KV_ELASTIC || dtype == TUTTI_F32) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "%s: key %d: the type elastic does not take %s: make a key of TUTTI_F32", function, key,
        tutti_dtype_name(dtype));
}

tutti_status tutti_kv_init_elsewhere(tutti_kv *kv, int key, int64_t count, tutti_dtype dtype)
{
    static const char function[] = "tutti_kv_init_elsewhere";
    tutti_kv_key *k;
    tutti_status status = tutti_kv_enter(kv, function, 0);
    dtype = tutti_handle_dtype(dtype);
    if (!status) status = compare_optimizers(kv, function);
    if (!status && kv->stages == 1)
        status = tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d: clients have one stage: set tutti_kv_options.stages, or call "
            "tutti_kv_init",
            function, key);
    if (!status && count < 1)
        status = tutti_fail(TUTTI_ERR_INVAL, "%s: key %d: %lld elements: must be 1 or more",
            function, key, (long long)count);
    if (!status) status = check_new(kv, function, key, dtype);
    return status ? status : make_key(kv, key, count, dtype, 1, &k);
}

tutti_status tutti_kv_init(tutti_kv *kv, int key, tutti_handle data, tutti_dtype dtype)
{
    static const char function[] = "tutti_kv_init";
    const tutti_dtype type = tutti_handle_dtype(dtype);
    int64_t count;
    tutti_kv_key *k = NULL;
    tutti_status status = tutti_kv_enter(kv, function, 0);
    if (!status) status = compare_optimizers(kv, function);
    if (!status) status = check_new(kv, function, key, type);
    if (!status) status = count_elements(function, key, data, dtype, sends_first_value(kv), &count);
    if (!status && count < 1)
        status =
            tutti_fail(TUTTI_ERR_INVAL, "%s: key %d: 0 elements: must be 1 or more", function, key);
    if (!status) status = make_key(kv, key, count, type, 0, &k);
    if (!status) k->several = dtype & TUTTI_SEVERAL;
    if (!status && kv->alike && !kv->jobs.settings.on)
        status = tutti_broadcast(kv->alike, data, dtype, 0);
    for (int p = 0; !status && p < k->parts; p++)
        if (sends_first_value(kv) || !kv->servers) status = send_value(kv, k, &k->part[p], data);
    if (!status && kv->jobs.settings.on) status = pull_key(kv, k, 1, &data);
    if (k) k->failed = status != TUTTI_OK;
    return status;
}

/* ---- calls ---- */

/* A call's n keys, and the data of each to push and to pull. */
typedef struct call_list {
    const char *function;
    int n;
    const int *key;
    const tutti_handle *from, *to; /* NULL: no push, no pull */
    tutti_kv_key **found;          /* [n]; NULL: inserted */
    int *next;                     /* [n] the next entry with the same key; -1: none */
    tutti_handle *pushes, *pulls;  /* [n] scratch: those of one key */
} call_list;

/* In elastic each call changes a client's weights, once per key. */
static tutti_status check_elastic(const call_list *l, int i, int twice)
{
    if (!l->from) return TUTTI_OK;
    if (!l->to)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d: with the type elastic a client mixes with the centre: call "
            "tutti_kv_pushpull "
            "with its weights",
            l->function, l->key[i]);
    if (l->from[i] != l->to[i])
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d: with the type elastic a client's weights change in place: pass the same "
            "data twice",
            l->function, l->key[i]);
    if (twice)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d stands in the list twice: with the type elastic a client mixes with "
            "the centre once a call",
            l->function, l->key[i]);
    return TUTTI_OK;
}

/* A program that never waits learns of a failed run here. */
static tutti_status check_item(tutti_kv *kv, const call_list *l, int i)
{
    tutti_kv_key *k = l->found[i] = find_key(kv, l->key[i]);
    if (!k)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: key %d is unknown: make it with tutti_kv_init",
            l->function, l->key[i]);
    if (k->failed) return refuse_failed(l->function, l->key[i]);
    if (k->elsewhere)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: key %d belongs to another stage than this worker's: the workers of that stage "
            "push and "
            "pull it",
            l->function, l->key[i]);
    const int twice = k->list == kv->lists;
    if (twice) l->next[k->latest] = i;
    l->next[i] = -1;
    k->list = kv->lists;
    k->latest = i;
    tutti_status status = tutti_kv_failure(kv);
    if (!status && kv->rule.type == TUTTI_KV_ELASTIC) status = check_elastic(l, i, twice);
    if (!status && l->from) status = check_data(l->function, k, l->from[i], 1);
    if (!status && l->to) status = check_data(l->function, k, l->to[i], 0);
    return status;
}

/* Inserts the i-th key, with all of its data in the list. */
static tutti_status insert_key(tutti_kv *kv, call_list *l, int i)
{
    tutti_kv_key *k = l->found[i];
    int n = 0;
    for (int j = i; j >= 0; j = l->next[j]) {
        if (l->from) l->pushes[n] = l->from[j];
        if (l->to) l->pulls[n] = l->to[j];
        l->found[j] = NULL;
        n++;
    }
    if (l->from && kv->rule.type == TUTTI_KV_ELASTIC)
        return tutti_kv_mix_with_centre(kv, k, l->pulls[0]);
    tutti_status status = l->from ? push_key(kv, k, n, l->pushes) : TUTTI_OK;
    return status || !l->to ? status : pull_key(kv, k, n, l->pulls);
}

static tutti_status insert_all(tutti_kv *kv, call_list *l)
{
    tutti_status status = TUTTI_OK;
    kv->lists++;
    for (int i = 0; i < l->n && !status; i++) status = check_item(kv, l, i);
    for (int i = 0; i < l->n && !status; i++)
        if (l->found[i]) status = insert_key(kv, l, i);
    return status;
}

static tutti_status insert_call(tutti_kv *kv, const char *function, int n, const int key[],
    const tutti_handle from[], const tutti_handle to[])
{
    struct {
        tutti_kv_key *found;
        int next;
        tutti_handle push, pull;
    } one; /* for a list of one key, without allocation */
    call_list l = {function, n, key, from, to, &one.found, &one.next, &one.push, &one.pull};
    tutti_status status = tutti_kv_enter(kv, function, 0);
    if (status) return status;
    if (n < 1 || !key || (!from && !to))
        return tutti_fail(TUTTI_ERR_INVAL,
            n < 1 ? "%s: a list of %d keys: must be 1 or more" : "%s: a list of %d is NULL",
            function, n);
    if (n == 1) return insert_all(kv, &l);
    l.found = calloc((size_t)n, sizeof *l.found);
    l.next = calloc((size_t)n, sizeof *l.next);
    l.pushes = calloc((size_t)n, sizeof(tutti_handle));
    l.pulls = calloc((size_t)n, sizeof(tutti_handle));
    status = l.found && l.next && l.pushes && l.pulls
                 ? insert_all(kv, &l)
                 : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for a list of %d keys", function, n);
    free(l.pulls);
    free(l.pushes);
    free(l.next);
    free(l.found);
    return status;
}

tutti_status tutti_kv_push(tutti_kv *kv, int key, tutti_handle data)
{
    return insert_call(kv, "tutti_kv_push", 1, &key, &data, NULL);
}

tutti_status tutti_kv_pull(tutti_kv *kv, int key, tutti_handle data)
{
    return insert_call(kv, "tutti_kv_pull", 1, &key, NULL, &data);
}

tutti_status tutti_kv_pushpull(tutti_kv *kv, int key, tutti_handle from, tutti_handle to)
{
    return insert_call(kv, "tutti_kv_pushpull", 1, &key, &from, &to);
}

tutti_status tutti_kv_push_list(tutti_kv *kv, int n, const int key[], const tutti_handle data[])
{
    return insert_call(kv, "tutti_kv_push_list", n, key, data, NULL);
}

tutti_status tutti_kv_pull_list(tutti_kv *kv, int n, const int key[], const tutti_handle data[])
{
    return insert_call(kv, "tutti_kv_pull_list", n, key, NULL, data);
}

tutti_status tutti_kv_pushpull_list(
    tutti_kv *kv, int n, const int key[], const tutti_handle from[], const tutti_handle to[])
{
    if (!from || !to)
        return tutti_fail(TUTTI_ERR_INVAL, "tutti_kv_pushpull_list: a list of %d is NULL", n);
    return insert_call(kv, "tutti_kv_pushpull_list", n, key, from, to);
}

/* ---- waiting ---- */

static int count_parts_tasks(const tutti_kv *kv)
{
    int n = 0;
    for (const tutti_kv_key *k = kv->keys; k; k = k->next) n += atomic_load(&k->parts_tasks);
    return n;
}

/* Waits for all messages, then for the tasks that write the data of pulls. */
static tutti_status wait_for_all(tutti_kv *kv, double timeout_s)
{
    static const double poll_s = 100e-6;
    double until_s = tutti_clock_s() + timeout_s;
    tutti_status status = kv->transport->wait(kv, timeout_s);
    while (!status && count_parts_tasks(kv)) {
        if (tutti_clock_s() >= until_s && timeout_s > 0)
            status = tutti_fail(TUTTI_ERR_TIMEOUT,
                "tutti_kv_wait: the values of %d pulls are here, but tasks before them on the same "
                "data have not ended within %g s",
                count_parts_tasks(kv), timeout_s);
        else if (tutti_clock_s() >= until_s)
            status = TUTTI_ERR_TIMEOUT;
        else
            tutti_clock_sleep(poll_s);
    }
    return status;
}

tutti_status tutti_kv_wait(tutti_kv *kv, double timeout_s)
{
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_wait", 0);
    return status ? status : wait_for_all(kv, timeout_s);
}

/* Between jobs each client's first worker enters the barrier at server 0; with two copies of keys also at the server
 * that would replace it, so that either can release the barrier. */
static tutti_status pass_barrier(tutti_kv *kv)
{
    if (!kv->jobs.settings.on || tutti_kv_worker(kv)) return TUTTI_OK;
    tutti_status status = TUTTI_OK;
    for (int s = 0; s < tutti_kv_copies(kv) && !status; s++)
        status = kv->transport->write(kv, tutti_kv_server_rank(kv, s),
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_BARRIER});
    return status ? status : tutti_kv_await_barriers(kv, ++kv->jobs.barriers_passed);
}

static tutti_status pass_mpi_barrier(tutti_kv *kv, double patience_s)
{
    if (!kv->all) return TUTTI_OK;
    tutti_status status = tutti_barrier(kv->all, NULL);
    return status ? status : kv->transport->wait(kv, patience_s);
}

tutti_status tutti_kv_barrier(tutti_kv *kv)
{
    static const double patience_s = 60;
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_barrier", 0);
    if (!status) status = wait_for_all(kv, patience_s);
    if (!status) status = pass_mpi_barrier(kv, patience_s);
    if (!status && kv->jobs.settings.on) {
        status = pass_barrier(kv);
        tutti_status barriers_passed = pass_mpi_barrier(kv, patience_s);
        if (!status) status = barriers_passed;
    }
    return status;
}
