/* dag/kernels: what kernels refuse, and what they say: descriptors that make no sense, labels out of range. */
#include "dag/kernels/loss.h"
#include "tests/kernels/cases.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whatever its type is. */
static const tutti_kernel *first_kernel_of(const tutti_op *op)
{
    const tutti_kernel *kernel;
    for (int i = 0; (kernel = tutti_kernel_get(i)); i++)
        if (kernel->op == op) return kernel;
    ck_abort_msg("%s has no kernel", op->name);
}
/* Redirects what a call writes to stderr into a file, to be read back. */
typedef struct capture {
    FILE *file;
    int saved;
} capture;

static void capture_begin(capture *c)
{
    c->file = tmpfile();
    c->saved = dup(STDERR_FILENO);
    ck_assert(c->file && c->saved >= 0);
    ck_assert_int_ge(dup2(fileno(c->file), STDERR_FILENO), 0);
}

static void capture_end(capture *c, char *text, size_t size)
{
    ck_assert_int_ge(dup2(c->saved, STDERR_FILENO), 0);
    close(c->saved);
    rewind(c->file);
    text[fread(text, 1, size - 1, c->file)] = 0;
    fclose(c->file);
}

START_TEST(bad_descriptors_are_refused)
{
    static const char *const rows[] = {
        "conv N=0 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=-1 K=1 R=3 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=0 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad=-1",
        "conv N=1 H=2 W=4 C=1 K=1 R=5 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad0=1 pad1=-1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride0=1 pad=1",
        "conv N=1 H=4 W=4 C=6 K=4 R=3 S=3 stride=1 pad=1 groups=3",
        "conv N=1 H=4 W=4 C=4 K=6 R=3 S=3 stride=1 pad=1 groups=3",
        "conv N=1 H=4 W=4 C=4 K=6 R=3 S=3 stride=1 pad=1 groups=-1",
        "conv N=2000000000 H=2000000000 W=2000000000 C=2000000000 K=1 R=1 S=1 stride=1 pad=0",
        "dense N=1 C=0 K=1",
        "dense N=1 C=1 K=99999999999",
        "norm N=1 H=1 W=1 C=0 eps=1e-5",
        "norm N=1 H=1 W=1 C=1 eps=0",
        "norm N=1 H=1 W=1 C=1 eps=1e-5 relu=1 limit=-1",
        "norm N=1 H=1 W=1 C=1 eps=1e-5 relu=1 limit=inf",
        "norm N=1 H=1 W=1 C=1 eps=1e-5 limit=6",
        "norm_add N=1 H=1 W=1 C=1 eps=1e-5 relu=1",
        "norm_add N=1 H=1 W=1 C=1 eps=0",
        "norm_running C=1 momentum=2 weight=1 unbias=1",
        "norm_running C=1 momentum=0.1 weight=0 unbias=1",
        "relu count=0",
        "relu count=1 limit=-6",
        "relu count=1 limit=nan",
        "relu count=1 limit=inf",
        "dropout count=1 rate=1",
        "dropout count=1 rate=nan",
        "dropout count=1 rate=0.5 offset=-1",
        "pool_max N=1 H=4 W=4 C=1 R=2 S=2 stride=2 pad=2",
        "pool_max N=1 H=4 W=4 C=1 R=3 S=2 stride=2 pad0=1 pad1=2",
        "pool_avg N=1 H=2 W=2 C=1 R=3 S=3 stride=1 pad=0",
        "pool_avg N=1 H=4 W=4 C=1 R=3 S=3 stride=2 pad=0 ceiling=1 counts_padding=1",
        "lrn N=1 H=1 W=1 C=0 size=5 alpha=1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=4 alpha=1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=-1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=1 beta=nan k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=1 beta=0.75 k=0",
        "shortcut N=1 H=2 W=2 C=4 K=3 stride=2",
        "sum count=1 inputs=0",
        "put count=2 first=3 total=4",
        "put count=1 first=-1 total=4",
        "take rows=2 parts=2 each=1 first=1 row=2 part=4 total=7",
        "take rows=0 parts=1 each=1 first=0 row=1 part=1 total=7",
        "concat pixels=0 parts=1 C0=1",
        "concat pixels=1 parts=0",
        "concat pixels=1 parts=17 C0=1",
        "concat pixels=1 parts=2 C0=1",
        "split pixels=1 parts=1 C0=-1",
        "sum_narrow count=0 inputs=1",
        "sum_narrow count=1 inputs=1 into=1",
        "widen count=0",
        "narrow count=0",
        "accumulate count=0",
        "dense_wide N=1 C=1 K=0",
        "xent N=1 K=0 weight=1",
        "xent N=1 K=2 weight=inf",
        "xent N=1 K=2 weight=1 smoothing=1",
        "xent N=1 K=2 weight=1 smoothing=-0.1",
        "xent N=1 K=2 weight=1 views=-1",
        "xent_mixed N=3 K=2 weight=1 mixed=1",
        "mixup N=3 each=1",
        "mixup N=0 each=1",
        "mixup N=2 each=0",
        "mixup_draw N=2 offset=1 alpha=1",
        "mixup_draw N=2 offset=-2 alpha=1",
        "mixup_draw N=3 alpha=1",
        "mixup_draw N=2 alpha=0",
        "mixup_draw N=2 alpha=inf",
        "cutmix N=3 H=1 W=1 C=1",
        "cutmix N=2 H=1 W=0 C=1",
        "cutmix_draw N=2 alpha=0 H=1 W=1",
        "cutmix_draw N=2 offset=1 alpha=1 H=1 W=1",
        "cutmix_draw N=2 alpha=1 H=0 W=1",
        "normalise pixels=0 C=1 deviation0=1",
        "normalise pixels=1 C=0 deviation0=1",
        "normalise pixels=1 C=5 deviation0=1",
        "normalise pixels=1 C=2 deviation0=1 deviation1=0",
        "normalise pixels=1 C=1 mean0=nan deviation0=1",
        "normalise pixels=1 C=1 deviation0=inf",
        "sgd count=1 momentum=-1",
        "sgd count=1 nesterov=1",
        "sgd count=1 weight_decay=-1",
        "sgd count=1 rate_factor=-1",
        "adam count=-1 every=1 epsilon=1e-8",
        "adam first=-1 count=1 every=1 epsilon=1e-8",
        "sgd first=-1 count=1",
        "adam count=1 every=0 epsilon=1e-8",
        "adam count=1 every=1 beta1=1",
        "adam count=1 every=1 beta2=-0.5",
        "adam count=1 every=1 beta2=nan",
        "adam count=1 every=1 epsilon=inf",
        "adam count=1 every=1 weight_decay=-1",
        "lars count=0",
        "lars count=1 momentum=1",
        "lars count=1 trust=-1",
        "length count=0",
        "clip_factor inputs=0 most=1",
        "clip_factor inputs=1 most=0",
        "clip_factor inputs=1 most=inf",
        "clip count=0",
        "average count=1 decay=1",
        "average count=1 decay=-0.1",
        "gate inputs=0",
        "divide count=0 by=2",
        "divide count=1 by=0",
        "outer count=1 by=0 rate=1",
        "outer count=1 by=2 rate=0",
        "outer count=1 by=2 rate=1 momentum=1",
        "pair count=0",
        "share_set value=-1",
        "share_set value=inf",
        "share_halve unit=0",
        "share_halve unit=0.75",
        "share_weigh inputs=0",
        "share_weigh inputs=3",
        "share_mix count=0 inputs=1",
        "share_mix count=1 inputs=3",
        "share_scale count=0",
        "onebit count=0 replicas=1",
        "onebit count=1 replica=1 replicas=1",
        "topk count=4 kept=0 replicas=1",
        "topk count=4 kept=5 replicas=1",
        "topk count=4 kept=1 replica=-1 replicas=1",
        "powersgd rows=0 columns=1 rank=1",
        "powersgd rows=2 columns=3 rank=0",
        "powersgd rows=2 columns=3 rank=3",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_case c;
        capture errors;
        char message[512];
        ck_assert_msg(test_parse(rows[i], TUTTI_F32, &c), "%s", rows[i]);
        for (int op = 0; op < c.family->ops; op++) {
            void *args = &c;
            capture_begin(&errors);
            tutti_status status = first_kernel_of(c.family->op[op])->open(&c.desc, &args);
            capture_end(&errors, message, sizeof message);
            ck_assert_msg(status == TUTTI_ERR_INVAL, "%s: %s", rows[i], tutti_status_name(status));
            ck_assert_msg(strstr(message, "error") != NULL, "%s: silent", rows[i]);
            ck_assert_ptr_eq(args, &c);
        }
    }
}
END_TEST

START_TEST(label_out_of_range_is_named)
{
    const tutti_xent_desc desc = {.N = 3, .K = 4, .weight = 1};
    const int32_t labels[] = {0, -1, 4};
    float logits[12] = {0}, dlogits[12];
    double metrics[TUTTI_METRICS];
    for (int i = 0; i < 2; i++) {
        const tutti_kernel *kernel = tutti_kernel_find(
            i ? &tutti_op_xent_eval : &tutti_op_softmax_xent, TUTTI_CPU, TUTTI_F32);
        void *train[] = {logits, (void *)labels, dlogits, metrics};
        void *eval[] = {logits, (void *)labels, metrics}, *args = NULL;
        capture errors;
        char message[512];
        ck_assert_ok(kernel->open(&desc, &args));
        capture_begin(&errors);
        tutti_status status = kernel->fn(args, i ? eval : train, NULL);
        capture_end(&errors, message, sizeof message);
        kernel->close(args);
        ck_assert_int_eq(status, TUTTI_ERR_KERNEL);
        ck_assert_msg(strstr(message, "row 2 has label 4") != NULL, "%s", message);
        ck_assert_ptr_eq(strchr(message, '\n'), message + strlen(message) - 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusals");
    TCase *tcase = testing_case(suite, "refusals");
    tcase_add_test(tcase, bad_descriptors_are_refused);
    tcase_add_test(tcase, label_out_of_range_is_named);
    return testing_run(suite);
}
