#include "designs/watch/usr1.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int count;
static atomic_int taken;                                 /* blocked in all threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects users and the disposition */
static int users;

static void count_up(int signal)
{
    (void)signal;
    atomic_fetch_add(&count, 1);
}

static int has_handler(void (*handler)(int))
{
    struct sigaction now;
    return !sigaction(SIGUSR1, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == handler;
}

static sigset_t usr1_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
}

void tutti_usr1_take(void)
{
    sigset_t set = usr1_set();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    atomic_store(&taken, 1);
}

void tutti_usr1_open(void)
{
    struct sigaction action = {.sa_handler = count_up, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!users++ && !atomic_load(&taken) && has_handler(SIG_DFL)) sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_unlock(&lock);
}

void tutti_usr1_close(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!--users && has_handler(count_up)) sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_unlock(&lock);
}

void tutti_usr1_admit(void)
{
    sigset_t set = usr1_set();
    if (!atomic_load(&taken)) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Several pending signals count as one: a standard signal is pending once. */
static void fetch_signal(void)
{
    sigset_t set = usr1_set();
    struct timespec now = {0};
    if (sigtimedwait(&set, NULL, &now) == SIGUSR1) atomic_fetch_add(&count, 1);
}

int tutti_usr1_count(void)
{
    if (atomic_load(&taken)) fetch_signal();
    return atomic_load(&count);
}
