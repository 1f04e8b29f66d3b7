#include "apps/svm/options.h"

#include "dag/base/number.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {"linear", "poly", "rbf", "sigmoid", NULL};
static const char *const solvers[] = {"set", "pair", NULL};
static const char *const reconstructions[] = {"single", "multi", NULL};

/* From the laziest to the earliest. */
static const struct {
    const char *name;
    double steps, share;
} eliminations[] = {
    {"never", 0, 0},
    {"50%", 0, 0.5},
    {"10%", 0, 0.1},
    {"5%", 0, 0.05},
    {"1000", 1000, 0},
    {"500", 500, 0},
    {"2", 2, 0},
    {NULL, 0, 0},
};

#define CHOICES(name, table)                                                                       \
    static const char *name##_choice(int i)                                                        \
    {                                                                                              \
        return table;                                                                              \
    }
CHOICES(kernel, kernels[i])
CHOICES(solver, solvers[i])
CHOICES(reconstruct, reconstructions[i])
CHOICES(eliminate, eliminations[i].name)

#define AT(member) .offset = offsetof(tutti_svm_options, member)
#define TEXT(long, what, member, flag, words)                                                      \
    {                                                                                              \
        TUTTI_CONF_TEXT, long, what, .flags = flag, AT(member), .help = words                      \
    }
#define TEXT_OR(long, what, member, otherwise, words)                                              \
    {                                                                                              \
        TUTTI_CONF_TEXT, long, what, .fallback = otherwise, AT(member), .help = words              \
    }
#define INT(long, member, otherwise, least, most, flag, words)                                     \
    {                                                                                              \
        TUTTI_CONF_INT, long, "N", otherwise, NULL, least, most, .flags = flag, AT(member),        \
                                                                 .help = words                     \
    }
#define REAL(long, what, member, otherwise, least, most, flag, words)                              \
    {                                                                                              \
        TUTTI_CONF_REAL, long, what, otherwise, NULL, least, most, .flags = flag, AT(member),      \
                                                                   .help = words                   \
    }
#define CHOICE(long, what, member, otherwise, words)                                               \
    {                                                                                              \
        TUTTI_CONF_CHOICE, long, what, otherwise, .choice = member##_choice, AT(member),           \
                                                  .help = words                                    \
    }
#define FLAG(long, member, flag, words)                                                            \
    {                                                                                              \
        TUTTI_CONF_FLAG, long, .flags = flag, AT(member), .help = words                            \
    }
#define HEADING(words)                                                                             \
    {                                                                                              \
        TUTTI_CONF_HEADING, .help = words                                                          \
    }
enum { LOCAL = TUTTI_CONF_LOCAL, REQUIRED = TUTTI_CONF_REQUIRED };

#define DATA(words) TEXT("data", "FILE", data, REQUIRED, words)
#define SEED INT("seed", seed, "1", 0, 9e15, 0, "of the folds")
#define SCALE(words) TEXT("scale", "LOWER,UPPER", scale, 0, words)
#define MACHINE                                                                                    \
    HEADING("Machine"),                                                                            \
        CHOICE("kernel", "NAME", kernel, "rbf",                                                    \
            "how samples are compared: u v; (gamma u v + coef0)^degree; exp(-gamma |u - v|^2); "   \
            "tanh(gamma u v + coef0)"),                                                            \
        REAL("cost", "C", cost, "1", 1e-9, 1e12, 0, "the price of a sample on the wrong side"),    \
        {TUTTI_CONF_REAL_OR, "gamma", "G", "auto", NULL, 0, 1e12, {"auto"}, AT(gamma),             \
            .help = "of the kernel; auto: 1 / the number of features"},                            \
        TEXT_OR("coef0", "X", coef0, "0", "of poly and sigmoid"),                                  \
        INT("degree", degree, "3", 1, 100, 0, "of poly"),                                          \
        TEXT("weights", "LIST", weights, 0,                                                        \
            "factors of --cost for classes: LABEL=FACTOR,LABEL=FACTOR..."),                        \
        REAL("eps", "E", eps, "0.001", 1e-10, 1, 0,                                                \
            "the violation of the optimality conditions at which training ends, as svm-train's "   \
            "-e")
#define SOLVER                                                                                     \
    HEADING("Solver"),                                                                             \
        CHOICE("solver", "NAME", solver, "set",                                                    \
            "set: a working set of samples at a time; pair: the two that violate most"),           \
        INT("working-set", working_set, "512", 4, 4096, 0, "samples of the working set"),          \
        CHOICE("eliminate", "WHEN", eliminate, "never",                                            \
            "after how many steps, or steps per sample, samples that seem settled are first left " \
            "out"),                                                                                \
        CHOICE("reconstruct", "HOW", reconstruct, "multi",                                         \
            "single: bring all samples back once, at 20 eps, and eliminate no more; multi: "       \
            "whenever the others have converged"),                                                 \
        REAL("balance", "X", balance, "1.2", 1, 1e6, 0,                                            \
            "move active samples when a rank has more than X times the mean"),                     \
        REAL(                                                                                      \
            "cache-mb", "MB", cache_mb, "200", 0, 1e6, LOCAL, "kernel rows that each rank keeps"), \
        INT("max-steps", most_steps, "0", 0, 9e15, 0,                                              \
            "end after N steps of a pair of classes; 0: 100 for each sample, at least "            \
            "10,000,000")
#define RANKS                                                                                      \
    HEADING("Ranks"),                                                                              \
        INT("threads", threads, "1", 1, 64, LOCAL,                                                 \
            "without a launcher: ranks of this process, each on a thread"),                        \
        INT("workers", workers, "1", 1, 64, LOCAL,                                                 \
            "with a launcher: StarPU's workers on each rank"),                                     \
        REAL("timeout", "S", timeout_s, "600", 1, 1e6, LOCAL,                                      \
            "seconds after which a wait for other ranks is an error")
#define OUTPUT                                                                                     \
    HEADING("Output"),                                                                             \
        TEXT("json", "FILE", json, LOCAL, "write one JSON object per line for every event"),       \
        TEXT(                                                                                      \
            "trace", "FILE", trace, LOCAL, "with a launcher: what all ranks do, for tutti-trace"), \
        FLAG("quiet", quiet, LOCAL, "print results alone")

static const tutti_setting train_settings[] = {
    HEADING("Files"),
    DATA("the samples, as text in LIBSVM's format"),
    TEXT("model", "FILE", model, REQUIRED | LOCAL, "the file to write, in LIBSVM's format"),
    SCALE("scale each feature to this range, and save the ranges in the model"),
    FLAG("probability", probability, 0,
        "estimate probabilities, by five more trainings a pair of classes"),
    SEED,
    MACHINE,
    SOLVER,
    HEADING("Checkpoints"),
    TEXT("checkpoint", "FILE", checkpoint, LOCAL,
        "save the state of the training here, at --checkpoint-minutes and when a signal ends it"),
    REAL("checkpoint-minutes", "M", checkpoint_minutes, "10", 0.0001, 1e6, LOCAL,
        "minutes between two checkpoints"),
    FLAG("resume", resume, LOCAL, "continue from --checkpoint, with the same bits"),
    RANKS,
    OUTPUT,
    {0},
};

static const tutti_setting predict_settings[] = {
    HEADING("Files"),
    DATA("the samples, as text in LIBSVM's format; their labels count for the accuracy"),
    TEXT("model", "FILE", model, REQUIRED, "the model, of tutti-svm train or of svm-train"),
    TEXT("to", "FILE", to, LOCAL, "write the predictions, as svm-predict does"),
    FLAG("probability", probability, 0,
        "predict the class that is most probable, and write probabilities"),
    RANKS,
    {0},
};

static const tutti_setting scale_settings[] = {
    HEADING("Scaling"),
    DATA("the samples, as text in LIBSVM's format"),
    TEXT("to", "FILE", to, REQUIRED, "the file to write"),
    REAL("lower", "X", lower, "-1", -1e300, 1e300, 0, "the value of a feature's minimum"),
    REAL("upper", "X", upper, "1", -1e300, 1e300, 0, "the value of a feature's maximum"),
    TEXT("save", "FILE", save, 0, "write the ranges here, as svm-scale -s"),
    TEXT("restore", "FILE", restore, 0, "take the ranges from here, as svm-scale -r"),
    RANKS,
    {0},
};

/* LIBSVM's grid.py has these. */
#define COSTS "-5:15:2"
#define GAMMAS "3:-15:-2"

static const tutti_setting cv_settings[] = {
    HEADING("Cross-validation"),
    DATA("the samples, as text in LIBSVM's format"),
    INT("folds", folds, "5", 2, 1000, 0, "parts of the data; each is predicted by the others"),
    SEED,
    SCALE("scale each feature to this range"),
    FLAG("grid", grid, 0, "for every cost and gamma of a grid, instead of --cost and --gamma"),
    TEXT("costs", "FIRST:LAST:STEP", costs, 0, "--grid: exponents of 2 (default " COSTS ")"),
    TEXT("gammas", "FIRST:LAST:STEP", gammas, 0, "--grid: exponents of 2 (default " GAMMAS ")"),
    TEXT("picture", "FILE", picture, LOCAL, "--grid: draw the accuracy with its contours, as SVG"),
    MACHINE,
    SOLVER,
    RANKS,
    OUTPUT,
    {0},
};

#define EPILOGUE                                                                                   \
    "Exit status: 0 on success; 2 for a mistake in the options; 130 when Ctrl-C ended the run "    \
    "(143 for SIGTERM); 1 for everything else. See tutti-svm(1)."

static const tutti_conf_brief train_brief[] = {{"data", NULL}, {"model", NULL}, {"scale", NULL},
    {"kernel", "how samples are compared"}, {"cost", NULL}, {"gamma", NULL}, {"weights", NULL},
    {"eps", NULL}, {"probability", NULL}, {"eliminate", NULL}, {"checkpoint", NULL},
    {"resume", NULL}, {"threads", NULL}, {"json", NULL}, {0}};
static const tutti_conf_brief cv_brief[] = {{"data", NULL}, {"folds", NULL}, {"grid", NULL},
    {"scale", NULL}, {"kernel", "how samples are compared"}, {"cost", NULL}, {"gamma", NULL},
    {"weights", NULL}, {"eps", NULL}, {"eliminate", NULL}, {"threads", NULL}, {"json", NULL}, {0}};

#define CONF(command, short, arguments, what)                                                      \
    const tutti_conf tutti_svm_##command##_conf = {.program = "tutti-svm " #command,               \
        .usage = arguments " [OPTION]...",                                                         \
        .summary = what,                                                                           \
        .epilogue = EPILOGUE,                                                                      \
        .settings = command##_settings,                                                            \
        .brief = short}
CONF(train, train_brief, "--data FILE --model FILE",
    "Trains a support vector machine on all ranks.");
CONF(predict, NULL, "--data FILE --model FILE",
    "Predicts the classes of samples; says how many are right.");
CONF(scale, NULL, "--data FILE --to FILE", "Scales features to a range.");
CONF(cv, cv_brief, "--data FILE", "Estimates how well a machine predicts, by cross-validation.");

static int find_name(const char *(*choice)(int), const char *name)
{
    int i = 0;
    while (strcmp(choice(i), name) != 0) i++;
    return i;
}

void tutti_svm_options_settings(
    const tutti_svm_options *o, int64_t columns, int64_t rows, tutti_svm_settings *s)
{
    const int when = find_name(eliminate_choice, o->eliminate);
    const double steps = fmax(1e7, 100 * (double)rows);
    double coef0 = 0;
    tutti_number_real(o->coef0, &coef0);
    *s = (tutti_svm_settings){
        .kernel = {.kind = (tutti_svm_kernel_kind)find_name(kernel_choice, o->kernel),
            .degree = (int)o->degree,
            .gamma = tutti_conf_real_or(o->gamma, columns ? 1.0 / (double)columns : 1),
            .coef0 = coef0},
        .method = (tutti_svm_method)find_name(solver_choice, o->solver),
        .eliminate = {.steps = eliminations[when].steps,
            .share = eliminations[when].share,
            .reconstruction =
                (tutti_svm_reconstruction)find_name(reconstruct_choice, o->reconstruct)},
        .eps = o->eps,
        .cache_bytes = o->cache_mb * 1e6,
        .working_set = o->working_set / 2 * 2,
        .most_steps = o->most_steps ? o->most_steps : (int64_t)steps,
        .balance = o->balance};
}

tutti_status tutti_svm_options_check(const tutti_conf *conf, const tutti_svm_options *o)
{
    double coef0;
    if (o->coef0 && !tutti_number_real(o->coef0, &coef0))
        return tutti_conf_refuse(conf, "coef0", o->coef0, "must be a number");
    if (o->resume && !o->checkpoint)
        return tutti_conf_refuse(conf, "resume", NULL, "needs --checkpoint FILE");
    if (o->checkpoint && o->probability)
        return tutti_conf_refuse(conf, "checkpoint", o->checkpoint,
            "cannot be given together with --probability: its trainings are not saved");
    const char *of_grid[] = {"picture", o->picture, "costs", o->costs, "gammas", o->gammas, NULL};
    for (int k = 0; of_grid[k] && !o->grid; k += 2)
        if (of_grid[k + 1])
            return tutti_conf_refuse(conf, of_grid[k], of_grid[k + 1], "needs --grid");
    if (o->lower > o->upper || (o->to && o->lower == o->upper && !o->model))
        return tutti_conf_refuse(conf, "upper", NULL, "must be larger than --lower");
    return TUTTI_OK;
}

tutti_status tutti_svm_options_weights(
    const tutti_conf *conf, const tutti_svm_options *o, tutti_svm_training *t)
{
    const char *at = o->weights;
    t->weights = 0;
    while (at && *at) {
        char label[32], factor[32];
        const size_t length = strcspn(at, ",");
        int taken = 0;
        if (t->weights == TUTTI_SVM_WEIGHTS ||
            sscanf(at, "%31[^=,]=%31[^=,]%n", label, factor, &taken) != 2 ||
            (size_t)taken != length || !tutti_number_int(label, &t->weight_label[t->weights]) ||
            !tutti_number_real(factor, &t->weight[t->weights]) || t->weight[t->weights] <= 0)
            return tutti_conf_refuse(conf, "weights", o->weights,
                "must be LABEL=FACTOR,... with factors above 0, up to 64");
        for (int w = 0; w < t->weights; w++)
            if (t->weight_label[w] == t->weight_label[t->weights])
                return tutti_conf_refuse(conf, "weights", o->weights, "names a class twice");
        t->weights++;
        at += length;
        if (*at && !*++at) return tutti_conf_refuse(conf, "weights", o->weights, "ends in a comma");
    }
    return TUTTI_OK;
}

tutti_status tutti_svm_options_scale(
    const tutti_conf *conf, const tutti_svm_options *o, double *lower, double *upper)
{
    char low[40], high[40];
    int taken = 0;
    if (sscanf(o->scale, "%39[^,],%39s%n", low, high, &taken) == 2 && !o->scale[taken] &&
        tutti_number_real(low, lower) && tutti_number_real(high, upper) && *lower < *upper)
        return TUTTI_OK;
    return tutti_conf_refuse(conf, "scale", o->scale, "must be two ascending numbers: LOWER,UPPER");
}

static tutti_status list_powers(
    const tutti_conf *conf, const char *name, const char *text, double power[], int *count)
{
    double first, last, step;
    int taken = 0;
    *count = 0;
    if (sscanf(text, "%lf:%lf:%lf%n", &first, &last, &step, &taken) != 3 || text[taken] ||
        !(fabs(first) < 100) || !(fabs(last) < 100) || !(fabs(step) > 1e-3 && fabs(step) < 100) ||
        (last - first) * step < 0)
        return tutti_conf_refuse(conf, name, text,
            "must be FIRST:LAST:STEP, exponents between -100 and 100, at most 64 of them");
    const double steps = floor((last - first) / step + 1e-9); /* 0:0.3:0.1 has 0.3, too */
    if (steps >= TUTTI_SVM_GRID)
        return tutti_conf_refuse(conf, name, text, "has more than 64 exponents");
    while (*count <= (int)steps) {
        power[*count] = first + *count * step;
        ++*count;
    }
    return TUTTI_OK;
}

tutti_status tutti_svm_options_grid(
    const tutti_conf *conf, const tutti_svm_options *o, tutti_svm_grid *g)
{
    tutti_status status =
        list_powers(conf, "costs", o->costs ? o->costs : COSTS, g->cost, &g->costs);
    if (status) return status;
    return list_powers(conf, "gammas", o->gammas ? o->gammas : GAMMAS, g->gamma, &g->gammas);
}
