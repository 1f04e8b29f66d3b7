#include "apps/train/state.h"

#include "config.h"
#include "dag/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of a checkpoint and where they come from. */
typedef enum word_rule { KEPT, MUST_BE_EQUAL, BETTER_EQUAL } word_rule;
enum { WORDS = 9, WORD_SIZE = 64 };
static const struct {
    const char *key;
    word_rule rule;
} words[WORDS] = {{"program", KEPT}, {"version", KEPT}, {"step", KEPT}, {"model", MUST_BE_EQUAL},
    {"shape", MUST_BE_EQUAL}, {"classes", MUST_BE_EQUAL}, {"seed", BETTER_EQUAL},
    {"batch", BETTER_EQUAL}, {"ranks", BETTER_EQUAL}};

static void write_words(const tutti_trainer *s, int64_t step, char text[WORDS][WORD_SIZE])
{
    int i = 0;
    snprintf(text[i++], WORD_SIZE, "%s", tutti_train_conf.program);
    snprintf(text[i++], WORD_SIZE, "%s", PACKAGE_VERSION);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, step);
    snprintf(text[i++], WORD_SIZE, "%s", s->options->model->name);
    snprintf(text[i++], WORD_SIZE, "%dx%dx%d", s->train.height, s->train.width, s->train.channels);
    snprintf(text[i++], WORD_SIZE, "%d", s->train.classes);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->options->seed);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->options->batch);
    snprintf(text[i++], WORD_SIZE, "%d", s->ranks);
}

int tutti_state_tensors(const tutti_trainer *s)
{
    return s->step->parameters + s->step->states;
}

int tutti_state_tensor(const tutti_trainer *s, int i)
{
    const tutti_step *step = s->step;
    return i < step->parameters ? step->parameter[i] : step->state[i - step->parameters];
}

/* The caller frees it. */
static tutti_checkpoint_tensor *list_tensors(const tutti_trainer *s, int *tensors)
{
    *tensors = tutti_state_tensors(s);
    tutti_checkpoint_tensor *list = calloc((size_t)*tensors, sizeof *list);
    if (!list) {
        tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %d tensors", *tensors);
        return NULL;
    }
    for (int i = 0; i < *tensors; i++) {
        int tensor = tutti_state_tensor(s, i);
        const tutti_tensor *t = tutti_graph_get_tensor(s->step->graph, tensor);
        list[i] =
            (tutti_checkpoint_tensor){t->name, t->dtype, t->shape, s->runner->data(s->run, tensor)};
    }
    return list;
}

tutti_status tutti_state_save(const tutti_trainer *s, const char *path, int64_t step)
{
    char text[WORDS][WORD_SIZE];
    tutti_checkpoint_pair pair[WORDS];
    int tensors;
    tutti_checkpoint_tensor *list = list_tensors(s, &tensors);
    if (!list) return TUTTI_ERR_NOMEM;
    write_words(s, step, text);
    for (int i = 0; i < WORDS; i++) pair[i] = (tutti_checkpoint_pair){words[i].key, text[i]};
    tutti_status status = tutti_checkpoint_save(path, WORDS, pair, tensors, list);
    free(list);
    return status;
}

static tutti_status check_words(
    const tutti_checkpoint *checkpoint, const char *path, char text[WORDS][WORD_SIZE])
{
    for (int i = 0; i < WORDS; i++) {
        const char *has = tutti_checkpoint_value(checkpoint, words[i].key);
        if (!has)
            return tutti_fail(TUTTI_ERR_FORMAT,
                "checkpoint %s: not one of %s: it does not tell its %s", path,
                tutti_train_conf.program, words[i].key);
        if (words[i].rule == KEPT || strcmp(has, text[i]) == 0) continue;
        if (words[i].rule == MUST_BE_EQUAL)
            return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: its %s is %s, but this run's is %s",
                path, words[i].key, has, text[i]);
        tutti_log(TUTTI_LOG_WARN,
            "checkpoint %s: its %s is %s, this run's is %s: not the run that was interrupted", path,
            words[i].key, has, text[i]);
    }
    return TUTTI_OK;
}

static tutti_status read_step(const tutti_checkpoint *checkpoint, const char *path, int64_t *step)
{
    const char *text = tutti_checkpoint_value(checkpoint, "step");
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!*text || *end || errno || number < 0)
        return tutti_fail(TUTTI_ERR_FORMAT, "checkpoint %s: its step is \"%s\"", path, text);
    *step = number;
    return TUTTI_OK;
}

tutti_status tutti_state_load(const tutti_trainer *s, const char *path, int64_t *step)
{
    char text[WORDS][WORD_SIZE];
    int tensors;
    int64_t done = 0;
    tutti_checkpoint *checkpoint;
    tutti_status status = tutti_checkpoint_open(path, &checkpoint);
    if (status) return status;
    tutti_checkpoint_tensor *list = list_tensors(s, &tensors);
    write_words(s, 0, text);
    status = list ? check_words(checkpoint, path, text) : TUTTI_ERR_NOMEM;
    if (!status) status = read_step(checkpoint, path, &done);
    if (!status) status = tutti_checkpoint_load(checkpoint, tensors, list);
    if (!status) *step = done;
    free(list);
    tutti_checkpoint_close(checkpoint);
    return status;
}
