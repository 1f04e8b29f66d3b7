#include "apps/train/interrupt.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static const double same_wish_s = 1;

struct tutti_interrupt {
    sigset_t set;
    pthread_t thread;
    atomic_int asked, settled, hushed;
};

const char *tutti_interrupt_name(int signal)
{
    return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "a signal";
}

static _Noreturn void end_at_once(const tutti_interrupt *i, int number)
{
    tutti_log(TUTTI_LOG_WARN, "%s again: ending at once", tutti_interrupt_name(number));
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &i->set, NULL);
    raise(number);
    _Exit(128 + number);
}

static void *take_signals(void *arg)
{
    tutti_interrupt *i = arg;
    double first_s = 0;
    for (;;) {
        int number;
        if (sigwait(&i->set, &number)) continue;
        if (!atomic_load(&i->asked)) {
            first_s = tutti_clock_s();
            atomic_store(&i->asked, number);
            if (!atomic_load(&i->hushed))
                tutti_log(TUTTI_LOG_WARN,
                    "%s: the run ends after this step; send it again to end at once",
                    tutti_interrupt_name(number));
        } else if (tutti_clock_s() - first_s > same_wish_s) {
            end_at_once(i, number);
        }
    }
    return NULL;
}

static void add(sigset_t *set, int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) || now.sa_handler != SIG_IGN) sigaddset(set, number);
}

tutti_status tutti_interrupt_open(tutti_interrupt **interrupt)
{
    tutti_interrupt *i = calloc(1, sizeof *i);
    if (!i) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to receive signals");
    sigemptyset(&i->set);
    add(&i->set, SIGINT);
    add(&i->set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &i->set, NULL);
    if (pthread_create(&i->thread, NULL, take_signals, i)) {
        pthread_sigmask(SIG_UNBLOCK, &i->set, NULL);
        free(i);
        return tutti_fail(TUTTI_ERR_NOMEM, "the thread for signals could not be started");
    }
    *interrupt = i;
    return TUTTI_OK;
}

void tutti_interrupt_close(tutti_interrupt *interrupt)
{
    if (!interrupt) return;
    pthread_cancel(interrupt->thread); /* sigwait is a cancellation point */
    pthread_join(interrupt->thread, NULL);
    free(interrupt);
}

int tutti_interrupt_asked(const tutti_interrupt *interrupt)
{
    return interrupt ? atomic_load(&interrupt->asked) : 0;
}

void tutti_interrupt_resolve(tutti_interrupt *interrupt, int signal)
{
    if (interrupt) atomic_store(&interrupt->settled, signal);
}

int tutti_interrupt_status(const tutti_interrupt *interrupt)
{
    const int settled = interrupt ? atomic_load(&interrupt->settled) : 0;
    const int asked = settled ? settled : tutti_interrupt_asked(interrupt);
    return 128 + (asked ? asked : SIGTERM);
}

void tutti_interrupt_hush(tutti_interrupt *interrupt)
{
    if (interrupt) atomic_store(&interrupt->hushed, 1);
}
