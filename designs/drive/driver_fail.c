/* How a driver fails, here and on the other ranks, and how ranks leave. */
#include "designs/drive/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

/* Ends the driver with this status and sentence. Returns whether it is the first. */
static int set_failure(tutti_driver *d, tutti_status failure, const char *sentence)
{
    d = d->root;
    pthread_mutex_lock(d->queue_lock);
    int first = !d->failure;
    if (first) {
        d->failure = failure;
        snprintf(d->why, sizeof d->why, "%s", sentence);
    }
    pthread_mutex_unlock(d->queue_lock);
    return first;
}

tutti_status tutti_driver_failure(tutti_driver *d)
{
    pthread_mutex_lock(d->queue_lock);
    tutti_status failure = d->root->failure;
    pthread_mutex_unlock(d->queue_lock);
    return failure;
}

void tutti_driver_on_abort(void *ctx, const tutti_control_message *message)
{
    tutti_status status = (tutti_status)message->value[0];
    char sentence[TUTTI_ERROR_TEXT];
    snprintf(sentence, sizeof sentence, "rank %d: %s", message->from, message->text);
    if (set_failure(ctx, status, sentence)) tutti_fail(status, "%s", sentence);
}

static void send_abort(tutti_driver *d, tutti_status status, const char *sentence)
{
    tutti_control_message message = {.kind = TUTTI_CONTROL_ABORT, .value = {status}};
    tutti_control *control = d->root->options.control;
    if (!control) return;
    snprintf(message.text, sizeof message.text, "%s", sentence);
    if (tutti_control_broadcast(control, &message))
        tutti_log(TUTTI_LOG_ERROR, "some ranks could not be informed of this failure");
}

void tutti_driver_abort(tutti_driver *driver, tutti_status status, const char *sentence)
{
    if (!set_failure(driver, status, sentence)) return;
    tutti_fail(status, "%s", sentence);
    send_abort(driver, status, sentence);
}

int tutti_driver_give_up(tutti_driver *driver, tutti_status status, const char *sentence)
{
    pthread_mutex_lock(driver->comm_lock);
    const int first = !tutti_driver_failure(driver);
    if (first) tutti_driver_abort(driver, status, sentence);
    pthread_mutex_unlock(driver->comm_lock);
    driver->options.wake(driver->options.ctx);
    return first;
}

void tutti_driver_share(tutti_driver *d, tutti_status status)
{
    char sentence[TUTTI_CONTROL_TEXT];
    if (!set_failure(d, status, tutti_last_error())) return;
    snprintf(sentence, sizeof sentence, "a collective failed there: %s", tutti_status_text(status));
    send_abort(d, status, sentence);
}

void tutti_driver_explain(tutti_driver *driver, tutti_status status)
{
    char sentence[TUTTI_ERROR_TEXT] = "";
    pthread_mutex_lock(driver->queue_lock);
    if (driver->failure == status) memcpy(sentence, driver->why, sizeof sentence);
    pthread_mutex_unlock(driver->queue_lock);
    if (*sentence) tutti_error_adopt(sentence);
}

/* Writes what this rank has started on each lane into d->reached. */
static void count_started(tutti_driver *d)
{
    for (int i = 0; i < d->queue.lanes; i++)
        d->reached[i] = d->verify ? tutti_verify_started(d->verify)[i] : tutti_comm_posted(d->comm, i);
}

static void send_bye(tutti_driver *d, void *ctx)
{
    if (!d->shutdown || (ctx && d->root == d)) return;
    tutti_status status = d->verify ? tutti_verify_flush(d->verify) : TUTTI_OK;
    count_started(d);
    if (!status) status = tutti_shutdown_send(d->shutdown, tutti_driver_failure(d) ? NULL : d->reached);
    if (status) tutti_driver_share(d, status);
}

/* Queued messages go first, then the parts' BYE. The root's BYE is last: a rank that has received it has received
 * everything before it. */
void tutti_driver_leave(tutti_driver *driver)
{
    pthread_mutex_lock(driver->comm_lock);
    if (driver->options.tick) driver->options.tick(driver->options.ctx);
    tutti_driver_each(driver, send_bye, driver);
    send_bye(driver, NULL);
    pthread_mutex_lock(driver->queue_lock);
    driver->leaving = 1;
    pthread_mutex_unlock(driver->queue_lock);
    pthread_mutex_unlock(driver->comm_lock);
}

void tutti_driver_notice_absent(tutti_driver *d)
{
    const tutti_shutdown *root = d->root->shutdown;
    if (!d->shutdown || !tutti_shutdown_count(root)) return;
    for (int r = 0; r < d->members.size; r++) {
        if (r == d->members.rank || !tutti_shutdown_has_from(root, d->members.of[r])) continue;
        tutti_shutdown_absent(d->shutdown, r);
    }
}

/* A member that has left without its part in what is unfinished here; -1: none. */
static int find_deserter(tutti_driver *d)
{
    tutti_shutdown_gap gap;
    int any = 0;
    if (!tutti_shutdown_count(d->shutdown)) return -1;
    count_started(d);
    pthread_mutex_lock(d->queue_lock);
    any = d->queue.started > 0;
    for (int line = 0; line < d->queue.lines; line++) {
        const tutti_entry *ready = tutti_queue_first_ready(&d->queue, line);
        if (!ready) continue;
        any = 1;
        d->reached[ready->lane] = tutti_comm_posted(d->comm, ready->lane) + 1;
    }
    pthread_mutex_unlock(d->queue_lock);
    if (!any || !tutti_shutdown_finds_gap(d->shutdown, d->reached, &gap)) return -1;
    return d->members.of ? d->members.of[gap.rank] : gap.rank;
}

/* The last messages of a rank that has left may still be under way. Seconds without passes do not count. */
void tutti_driver_notice_deserted(tutti_driver *d, int moved)
{
    static const double patience_s = 5, step_s = 0.1;
    char of[TUTTI_RECORD_NAME], sentence[TUTTI_CONTROL_TEXT];
    int looks = d->shutdown && !d->root->verify && !d->options.verify.at_once;
    int rank = looks && !moved ? find_deserter(d) : -1;
    if (rank < 0) {
        d->stuck_s = d->passed_s = 0;
        return;
    }
    double now_s = tutti_clock_s(), passed_s = d->passed_s > 0 ? now_s - d->passed_s : 0;
    d->passed_s = now_s;
    d->stuck_s += passed_s < step_s ? passed_s : step_s;
    if (d->stuck_s < patience_s) return;
    const char *members = tutti_members_name(&d->members, of, sizeof of);
    snprintf(sentence, sizeof sentence,
        "rank %d has left, but rank %d waits for one more %s of %s with it: every rank must start "
        "the same number (with verify on, the ranks say which one is missing)",
        rank, tutti_control_rank(d->root->options.control),
        d->members.key < 0 ? "message" : "collective", *members ? members : "all ranks");
    tutti_driver_abort(d->root, TUTTI_ERR_COMM, sentence);
}

static void check_left(tutti_driver *d, void *ctx)
{
    int *left = ctx, compares = d->verify && !tutti_driver_failure(d);
    const int64_t *started = compares ? tutti_verify_started(d->verify) : NULL;
    *left = *left && (!d->shutdown || tutti_shutdown_has_all(d->shutdown, started));
}

int tutti_driver_left(tutti_driver *driver)
{
    if (!driver->options.control) return 1;
    pthread_mutex_lock(driver->comm_lock);
    /* The others wait for BYE and DRAINED, and may leave as soon as they have both. */
    if (tutti_driver_failure(driver) && driver->drain.clean_s > 0)
        tutti_control_finish_silently(driver->options.control);
    int left = !tutti_control_sending(driver->options.control);
    tutti_driver_each(driver, check_left, &left);
    pthread_mutex_unlock(driver->comm_lock);
    return left;
}

int tutti_driver_finished(tutti_driver *driver)
{
    if (!driver->options.control) return 1;
    pthread_mutex_lock(driver->comm_lock);
    tutti_status status = tutti_control_finish(driver->options.control);
    if (status) tutti_driver_share(driver, status);
    int finished = status || tutti_control_finished(driver->options.control);
    pthread_mutex_unlock(driver->comm_lock);
    return finished;
}

char *tutti_driver_missing(tutti_driver *driver, char *text, size_t size)
{
    text[0] = '\0';
    pthread_mutex_lock(driver->comm_lock);
    if (driver->shutdown) tutti_shutdown_missing(driver->shutdown, text, size);
    pthread_mutex_unlock(driver->comm_lock);
    return text;
}

int tutti_driver_has_left(tutti_driver *driver, int rank)
{
    pthread_mutex_lock(driver->comm_lock);
    int left = driver->shutdown && tutti_shutdown_has_from(driver->shutdown, rank);
    pthread_mutex_unlock(driver->comm_lock);
    return left;
}

void tutti_driver_fail(tutti_driver *driver, tutti_status status)
{
    set_failure(driver, status, tutti_last_error());
    driver->options.wake(driver->options.ctx);
}
