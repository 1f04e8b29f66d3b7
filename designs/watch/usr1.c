#include "designs/watch/usr1.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects users and the disposition */
static int users;

static void count_up(int signal)
{
    (void)signal;
    atomic_fetch_add(&count, 1);
}

static int is(void (*handler)(int))
{
    struct sigaction now;
    return !sigaction(SIGUSR1, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == handler;
}

void tutti_usr1_open(void)
{
    struct sigaction action = {.sa_handler = count_up, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!users++ && is(SIG_DFL)) sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_unlock(&lock);
}

void tutti_usr1_close(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!--users && is(count_up)) sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_unlock(&lock);
}

int tutti_usr1_count(void)
{
    return atomic_load(&count);
}
