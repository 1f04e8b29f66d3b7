#include "apps/train/agree.h"
#include "apps/train/elastic_run.h"
#include "apps/train/find_rate.h"
#include "apps/train/hash.h"
#include "apps/train/check_order.h"
#include "apps/train/remote_buffers.h"
#include "apps/train/loop.h"
#include "apps/train/program.h"
#include "apps/train/trainer.h"
#include "dag/base/log.h"
#include "dag/base/rank.h"
#include "designs/watch/usr1.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int exit_code(tutti_status status, const tutti_interrupt *interrupt)
{
    return status == TUTTI_OK                ? EXIT_SUCCESS
           : status == TUTTI_ERR_USAGE       ? 2
           : status == TUTTI_ERR_INTERRUPTED ? tutti_interrupt_status(interrupt)
                                             : 1;
}

/* Whether a restart cannot cure it. Kernels of processors compute the same again; what cannot be opened when a run
 * starts for the first time is not there. */
static int fails_for_good(const tutti_train_options *o, tutti_status status, int began)
{
    if (status == TUTTI_ERR_KERNEL) return strcmp(o->machine.device, "cpu") == 0;
    if (status == TUTTI_ERR_IO) return !o->checkpoint.resume && !began;
    return tutti_trainer_is_lasting(status);
}

static tutti_status open_report(tutti_trainer *s, tutti_report **report)
{
    tutti_report_options options = {.active = tutti_trainer_reports(s),
        .json = s->options->outputs.json,
        .csv = s->options->outputs.csv,
        .page = s->options->outputs.page,
        .metrics = s->options->outputs.metrics,
        .tensorboard = s->options->outputs.tensorboard,
        .keep = (int)s->options->checkpoint.keep,
        .append = s->options->checkpoint.resume != NULL ||
                  (s->elastic && tutti_train_elastic_continues(s->elastic))};
    if (s->elastic) {
        options.membership = s->elastic->epoch.epoch;
        options.again = s->elastic->again;
    }
    options.style = s->options->outputs.quiet ? TUTTI_REPORT_QUIET : tutti_report_find_style();
    tutti_status status =
        tutti_exchange_agree(s->session.exchange, tutti_report_open(&options, report), NULL);
    if (status) return status;
    tutti_report_start start;
    tutti_trainer_describe(s, &start);
    tutti_report_on_start(*report, &start);
    return TUTTI_OK;
}

/* A rank that fails alone, in the middle of a step, ends all ranks: the others wait for it. In an elastic run it ends
 * their collectives (tutti_loop_run), and they continue without it: *together is 0. */
static tutti_status train(tutti_trainer *s, tutti_report *report, int *together)
{
    char hash[TUTTI_HASH_TEXT];
    tutti_report_summary summary;
    tutti_status status = tutti_loop_run(s, report, &summary, together);
    if (status && !*together && !s->elastic) {
        tutti_report_close(report, 0); /* its files say that the run has failed */
        tutti_trainer_end_all(status);
    }
    if (!status) *together = 1; /* what follows fails so */
    if (!status && s->find_rate) return tutti_find_rate_finish(s, report);
    if (!status && s->elastic && s->elastic->halted) return TUTTI_OK;
    if (!status) status = tutti_trainer_hash(s, hash);
    if (status) return status;
    summary.weights_hash = hash;
    tutti_report_on_summary(report, &summary);
    return TUTTI_OK;
}

/* Everything but training itself. store, elastic: NULL without one. */
static tutti_status run_trainer(const tutti_train_options *options, tutti_interrupt *interrupt,
    tutti_status parsed, tutti_train_store *store, tutti_train_elastic *elastic)
{
    tutti_trainer trainer;
    tutti_report *report = NULL;
    int began = 0, together = 1;
    tutti_status status = tutti_trainer_join(options, interrupt, parsed, store, elastic, &trainer);
    if (!status) status = tutti_trainer_prepare(&trainer);
    if (store) status = tutti_train_store_agree(options, store, status);
    if (status) goto done;
    if (store && !options->check_only)
        status = tutti_exchange_agree(trainer.session.exchange,
            tutti_train_store_open(options, store, &trainer.session), NULL);
    if (!status && options->check_only) {
        status = tutti_train_check_order(&trainer);
        if (!status && options->remote_buffers) status = tutti_train_remote_buffers(&trainer);
        goto done;
    }
    if (!status) status = open_report(&trainer, &report);
    began = !status;
    if (!status) status = train(&trainer, report, &together);
    /* Others may continue: the next epoch has the same files. */
    const int lost = status == TUTTI_ERR_COMM || status == TUTTI_ERR_TIMEOUT;
    const int others = elastic && !together && tutti_train_elastic_can_lose_one(elastic);
    const int continues = elastic && (status ? lost || others : elastic->halted);
    tutti_status closed = tutti_report_close(report, continues);
    if (together)
        status = tutti_exchange_agree(trainer.session.exchange, status ? status : closed, NULL);
done:
    if (fails_for_good(options, status, began) && tutti_log_get_rank() <= 0)
        tutti_trainer_warn_lasting();
    tutti_status parted = store ? tutti_train_store_close(store) : TUTTI_OK;
    if (parted) trainer.session.meter = NULL; /* what is in flight may still use it */
    tutti_status left = tutti_trainer_leave(&trainer);
    return status ? status : parted ? parted : left;
}

/* As a worker, or as a server. */
static tutti_status run_stored(
    tutti_train_options *options, tutti_interrupt *interrupt, tutti_status parsed)
{
    tutti_train_store store = {0};
    char *settings = tutti_trainer_settings(options, parsed);
    if (!settings) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the options' text");
    tutti_status status = tutti_train_store_begin(options, settings, parsed, &store);
    free(settings);
    const int serves = !status && !store.placement.own.works;
    if (serves) tutti_interrupt_hush(interrupt); /* it ends with its clients */
    if (!status)
        status = serves ? tutti_train_store_serve(options, &store)
                        : run_trainer(options, interrupt, parsed, &store, NULL);
    tutti_train_store_end(options, &store, status);
    return status;
}

/* A trainer for each epoch. */
static tutti_status run_elastic(
    tutti_train_options *options, tutti_interrupt *interrupt, tutti_status parsed)
{
    tutti_train_elastic elastic = {0};
    int goes_on = 1;
    if (parsed) return parsed;
    char *settings = tutti_trainer_settings(options, TUTTI_OK);
    if (!settings) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the options' text");
    tutti_status status = tutti_train_elastic_open(options, settings, interrupt, &elastic);
    free(settings);
    while (!status && goes_on) {
        status = tutti_train_elastic_enter(&elastic);
        if (status) break;
        tutti_train_elastic_share(&elastic, options);
        status = run_trainer(options, interrupt, TUTTI_OK, NULL, &elastic);
        goes_on = tutti_train_elastic_goes_on(&elastic, &status);
        if (goes_on) status = TUTTI_OK;
    }
    tutti_train_elastic_close(&elastic);
    return status;
}

int tutti_train_main(const tutti_train_program *program, int argc, char *argv[])
{
    tutti_train_options options;
    tutti_conf_wish wish = {0};
    /* a file that may not grow makes write fail, and does not kill the process */
    signal(SIGXFSZ, SIG_IGN);
    tutti_usr1_take();
    tutti_status status = tutti_train_options_parse(program, argc, argv, &options, &wish);
    int goes = 1;
    if (!status) status = tutti_conf_answer(&options.conf, &wish, &goes);
    if (!goes) return exit_code(status, NULL);
    if (!status && options.strategy.stored) status = tutti_train_store_check(&options);
    tutti_log_set_level(options.outputs.verbose ? TUTTI_LOG_DEBUG
                        : options.outputs.quiet ? TUTTI_LOG_WARN
                                                : TUTTI_LOG_INFO);
    tutti_interrupt *interrupt = NULL;
    if (!status) status = tutti_interrupt_open(&interrupt);
    status = options.elastic.on        ? run_elastic(&options, interrupt, status)
             : options.strategy.stored ? run_stored(&options, interrupt, status)
                                       : run_trainer(&options, interrupt, status, NULL, NULL);
    const int code = exit_code(status, interrupt);
    tutti_interrupt_close(interrupt);
    return code;
}
