/* designs: whose SIGUSR1 is. */
#include "designs/watch/usr1.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void set_handler(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

START_TEST(an_attached_program_is_asked)
{
    int before = tutti_usr1_count();
    tutti_usr1_open();
    tutti_usr1_open();
    raise(SIGUSR1);
    ck_assert_int_eq(tutti_usr1_count(), before + 1);
    tutti_usr1_close();
    raise(SIGUSR1); /* still one user */
    ck_assert_int_eq(tutti_usr1_count(), before + 2);
    tutti_usr1_close();
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    ck_assert(now.sa_handler == SIG_DFL);
}
END_TEST

START_TEST(a_program_keeps_its_handler)
{
    int before = tutti_usr1_count(), handled_before = handled;
    set_handler(handle);
    tutti_usr1_open();
    raise(SIGUSR1);
    tutti_usr1_close();
    ck_assert_int_eq(tutti_usr1_count(), before);
    ck_assert_int_eq(handled, handled_before + 1);
    set_handler(SIG_DFL);
}
END_TEST

static void *ask(void *arg)
{
    (void)arg;
    kill(getpid(), SIGUSR1);
    return NULL;
}

/* The last case: nothing gives the signal back. */
START_TEST(what_was_taken_is_not_lost_to_a_library)
{
    int before = tutti_usr1_count(), handled_before = handled;
    tutti_usr1_take();
    set_handler(handle); /* as a library does while MPI or StarPU starts */
    tutti_usr1_open();
    tutti_usr1_admit();
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, ask, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(tutti_usr1_count(), before + 1);
    ck_assert_int_eq(tutti_usr1_count(), before + 1);
    ck_assert_int_eq(handled, handled_before);
    tutti_usr1_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usr1");
    TCase *tcase = testing_case(suite, "usr1");
    tcase_add_test(tcase, an_attached_program_is_asked);
    tcase_add_test(tcase, a_program_keeps_its_handler);
    tcase_add_test(tcase, what_was_taken_is_not_lost_to_a_library);
    return testing_run(suite);
}
