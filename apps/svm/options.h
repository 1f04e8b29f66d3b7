/* The options of tutti-svm's commands, as tables. */
#ifndef TUTTI_SVM_OPTIONS_H
#define TUTTI_SVM_OPTIONS_H

#include "apps/svm/picture.h"
#include "apps/svm/train.h"
#include "dag/base/conf.h"

typedef struct tutti_svm_options {
    const char *data, *model, *to, *restore, *save;
    const char *kernel, *solver, *eliminate, *reconstruct, *weights, *scale, *coef0;
    const char *trace, *json, *checkpoint, *picture, *costs, *gammas;
    double cost, eps, cache_mb, balance, timeout_s, checkpoint_minutes, lower, upper;
    tutti_conf_real gamma;
    int64_t degree, working_set, threads, workers, folds, seed, most_steps;
    int probability, quiet, resume, grid;
} tutti_svm_options;

extern const tutti_conf tutti_svm_train_conf, tutti_svm_predict_conf, tutti_svm_scale_conf,
    tutti_svm_cv_conf;

/* The settings of a training; gamma and the steps of `columns` features and `rows` rows. */
void tutti_svm_options_settings(
    const tutti_svm_options *options, int64_t columns, int64_t rows, tutti_svm_settings *settings);
/* What needs more than one option, or a list. USAGE (logged). */
tutti_status tutti_svm_options_check(const tutti_conf *conf, const tutti_svm_options *options);
tutti_status tutti_svm_options_weights(
    const tutti_conf *conf, const tutti_svm_options *options, tutti_svm_training *training);
/* --scale LOWER,UPPER */
tutti_status tutti_svm_options_scale(
    const tutti_conf *conf, const tutti_svm_options *options, double *lower, double *upper);
/* --costs and --gammas FIRST:LAST:STEP: exponents of 2. */
tutti_status tutti_svm_options_grid(
    const tutti_conf *conf, const tutti_svm_options *options, tutti_svm_grid *grid);

#endif
