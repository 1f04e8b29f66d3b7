/* apps/tools/doctor*: each check on made-up machines: a folder in place of /, a few variables, a few
 * numbers. */
#include "apps/tools/doctor.h"
#include "apps/tools/doctor_links.h"
#include "collectives/links/topology_text.h"
#include "tests/support/testing.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static tutti_doctor_machine machine;
static tutti_doctor_report report;

/* The variables of the machine: "NAME=value", NULL-terminated. */
static const char *const *variables;

static const char *environment(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; variables && variables[i]; i++)
        if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=')
            return variables[i] + length + 1;
    return NULL;
}

static void make_machine(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_doctor.XXXXXX");
    ck_assert(mkdtemp(folder) != NULL);
    variables = NULL;
    report.count = 0;
    machine = (tutti_doctor_machine){.root = folder,
        .environment = environment,
        .mpi = "Open MPI v4.1.4, package: Debian",
        .starpu = "StarPU 1.3.10",
        .instructions = "AVX-512 with bf16",
        .most_workers = 4,
        .most_buffers = 8,
        .ranks = 2,
        .ranks_here = 2,
        .workers = 1,
        .open_files = 4096,
        .locked_bytes = INT64_MAX,
        .shared_bytes = INT64_C(1) << 30,
        .home = "/home/user",
        .home_writable = 1};
    tutti_cpus_parse("0-7", &machine.allowed);
}

static void drop_machine(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Writes a file of the machine, and creates its folders. */
static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", folder, path);
    for (char *at = full + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_msg(file != NULL, "%s", full);
    fputs(text, file);
    fclose(file);
}

/* Runs a check and expects this worst status, and these words in its findings. */
static void expect(void (*check)(const tutti_doctor_machine *, tutti_doctor_report *),
    tutti_doctor_status status, const char *words)
{
    report.count = 0;
    check(&machine, &report);
    char all[4096] = "";
    for (int i = 0; i < report.count; i++) {
        strncat(all, report.finding[i].seen, sizeof all - strlen(all) - 1);
        strncat(all, " | ", sizeof all - strlen(all) - 1);
        strncat(all, report.finding[i].advice, sizeof all - strlen(all) - 1);
        strncat(all, "\n", sizeof all - strlen(all) - 1);
        ck_assert_msg(report.finding[i].status < TUTTI_DOCTOR_WARN || *report.finding[i].advice,
            "no advice: %s", report.finding[i].seen);
    }
    ck_assert_msg(tutti_doctor_worst(&report) == status, "%s, not %s: %s",
        tutti_doctor_status_name(tutti_doctor_worst(&report)), tutti_doctor_status_name(status),
        all);
    ck_assert_msg(strstr(all, words) != NULL, "'%s' is not in: %s", words, all);
}

#define set_variables(...) (variables = (const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_versions)
{
    expect(tutti_doctor_versions, TUTTI_DOCTOR_NOTE, "MPI_Comm_dup from several threads");
    expect(tutti_doctor_versions, TUTTI_DOCTOR_NOTE, "idle workers poll");
    expect(tutti_doctor_versions, TUTTI_DOCTOR_NOTE, "MPI_Win_create fails");
    machine.mpi = "Open MPI v4.0.3";
    machine.starpu = "StarPU 1.4.1";
    report.count = 0;
    tutti_doctor_versions(&machine, &report);
    for (int i = 0; i < report.count; i++) {
        ck_assert(!strstr(report.finding[i].seen, "MPI_Comm_dup"));
        ck_assert(!strstr(report.finding[i].seen, "poll"));
        ck_assert(!strstr(report.finding[i].seen, "MPI_Win_create"));
    }
    machine.mpi = "Open MPI v5.0.7, package: Debian";
    expect(tutti_doctor_versions, TUTTI_DOCTOR_NOTE, "btl_sm_free_list_max=-1");
    machine.mpi = "MPICH Version: 4.0.2";
    expect(tutti_doctor_versions, TUTTI_DOCTOR_OK, "MPICH Version: 4.0.2");
    machine.mpi = "unknown MPI";
    expect(tutti_doctor_versions, TUTTI_DOCTOR_OK, "unknown MPI");
}
END_TEST

START_TEST(test_threads)
{
    static const tutti_doctor_status wanted[] = {
        TUTTI_DOCTOR_BAD, TUTTI_DOCTOR_WARN, TUTTI_DOCTOR_OK, TUTTI_DOCTOR_OK};
    for (int level = TUTTI_THREAD_SINGLE; level <= TUTTI_THREAD_MULTIPLE; level++) {
        report.count = 0;
        tutti_doctor_judge_threads((tutti_thread_level)level, &report);
        ck_assert_int_eq(tutti_doctor_worst(&report), wanted[level]);
    }
}
END_TEST

START_TEST(test_single_copy)
{
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_OK, "may read");
    put("/proc/sys/kernel/yama/ptrace_scope", "2\n");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_WARN, "ptrace_scope is 2");
    put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_OK, "may read");
    put("/.dockerenv", "");
    put("/proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_WARN, "single_copy_mechanism=none");
    put("/proc/self/status", "Name:\tx\nCapEff:\t00000000a80c25fb\n");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_OK, "may read");
    put("/proc/self/status", "");
    set_variables("OMPI_MCA_btl_vader_single_copy_mechanism=none");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_OK, "=none");
    machine.mpi = "Open MPI v5.0.7";
    put("/proc/sys/kernel/yama/ptrace_scope", "2\n");
    expect(tutti_doctor_single_copy, TUTTI_DOCTOR_WARN, "OMPI_MCA_smsc=^cma,knem,xpmem");
}
END_TEST

START_TEST(test_cores)
{
    expect(tutti_doctor_yielding, TUTTI_DOCTOR_OK, "cores: 8");
    machine.workers = 4;
    expect(tutti_doctor_yielding, TUTTI_DOCTOR_WARN, "fewer --workers");
    machine.workers = 1;
    tutti_cpus_parse("3", &machine.allowed);
    expect(tutti_doctor_yielding, TUTTI_DOCTOR_WARN, "mpi_yield_when_idle=1");
    set_variables("OMPI_MCA_mpi_yield_when_idle=1");
    expect(tutti_doctor_yielding, TUTTI_DOCTOR_WARN, "MPI yields");
    put("/sys/devices/system/cpu/online", "0-7\n");
    expect(tutti_doctor_binding, TUTTI_DOCTOR_WARN, "1 of 8 cores");
    put("/sys/devices/system/cpu/online", "0\n");
    expect(tutti_doctor_binding, TUTTI_DOCTOR_OK, "1 of 1 cores");
    tutti_cpus_parse("0-2,5,64", &machine.allowed);
    ck_assert_int_eq(tutti_cpus_count(&machine.allowed), 5);
    tutti_cpus_parse("x", &machine.allowed);
    ck_assert_int_eq(tutti_cpus_count(&machine.allowed), 0);
}
END_TEST

START_TEST(test_quota)
{
    expect(tutti_doctor_quota, TUTTI_DOCTOR_OK, "no limit");
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_OK, "no limit");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_WARN, "1.5 cores for 4 threads");
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/cpu.max", "800000 100000\n");
    expect(
        tutti_doctor_quota, TUTTI_DOCTOR_WARN, "1.5 cores"); /* the group outside of it has less */
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_OK, "8 cores");
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/job/cpu.max", "50000 100000\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_WARN, "0.5 cores");
    put("/proc/self/cgroup", "3:cpu:/\n");
    put("/sys/fs/cgroup/cpu.max", "");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_WARN, "0.5 cores");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    expect(tutti_doctor_quota, TUTTI_DOCTOR_OK, "no limit");
}
END_TEST

START_TEST(test_speed)
{
    put("/sys/devices/system/cpu/online", "0-7\n");
    put("/proc/loadavg", "0.52 0.60 0.7 1/200 300\n");
    expect(tutti_doctor_load, TUTTI_DOCTOR_OK, "load 0.5");
    put("/proc/loadavg", "5.00 0.60 0.7 1/200 300\n");
    expect(tutti_doctor_load, TUTTI_DOCTOR_NOTE, "load 5.0");
    put("/proc/loadavg", "9.00 0.60 0.7 1/200 300\n");
    expect(tutti_doctor_load, TUTTI_DOCTOR_WARN, "load 9.0");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n");
    expect(tutti_doctor_frequency, TUTTI_DOCTOR_WARN, "governor powersave");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
    expect(tutti_doctor_frequency, TUTTI_DOCTOR_OK, "governor powersave");
    expect(tutti_doctor_instructions, TUTTI_DOCTOR_OK, "AVX-512 with bf16: --precision bf16");
    machine.instructions = "AVX2";
    machine.no_bf16 = "a reason";
    expect(tutti_doctor_instructions, TUTTI_DOCTOR_NOTE, "AVX2: --precision bf16 is refused");
    static const char clock[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    put(clock, "hpet\n");
    expect(tutti_doctor_clock, TUTTI_DOCTOR_WARN, "hpet");
    put(clock, "tsc\n");
    expect(tutti_doctor_clock, TUTTI_DOCTOR_OK, "tsc");
}
END_TEST

static void put_interface(const char *name, int type, const char *state)
{
    char path[128], text[16];
    snprintf(path, sizeof path, "/sys/class/net/%s/operstate", name);
    put(path, state);
    snprintf(path, sizeof path, "/sys/class/net/%s/type", name);
    snprintf(text, sizeof text, "%d\n", type);
    put(path, text);
}

#define ROUTES                                                                                     \
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define DEFAULT_ROUTE "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
#define ETH0 "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
#define DOCKER0 "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
#define ETH1_LINK_LOCAL "eth1\t0000FEA9\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
#define ETH0_GATEWAY "eth0\t0100000A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n"
#define ETH0_SERVER "eth0\tFEA9FEA9\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n"
#define ETH2 "eth2\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"

START_TEST(test_network)
{
    put_interface("lo", 772, "unknown\n");
    expect(tutti_doctor_network, TUTTI_DOCTOR_NOTE, "no interface leads to other hosts");
    machine.ranks = 4;
    expect(tutti_doctor_network, TUTTI_DOCTOR_BAD, "no interface leads to other hosts");
    put_interface("eth0", 1, "up\n");
    put("/proc/net/route", ROUTES DEFAULT_ROUTE ETH0);
    expect(tutti_doctor_network, TUTTI_DOCTOR_OK, "eth0 10.0.0.0/24");
    put_interface("docker0", 1, "up\n");
    put("/proc/net/route", ROUTES DEFAULT_ROUTE ETH0 DOCKER0);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "docker0 172.17.0.0/16");
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "btl_tcp_if_include 10.0.0.0/24 --mca");
    /* Its address is /32. */
    put("/proc/net/route", ROUTES DEFAULT_ROUTE ETH0_SERVER ETH0_GATEWAY DOCKER0);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "btl_tcp_if_include eth0 --mca");
    put("/proc/net/route", ROUTES DEFAULT_ROUTE ETH0_GATEWAY ETH0_SERVER DOCKER0);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "btl_tcp_if_include eth0 --mca");
    put("/proc/net/route", ROUTES DEFAULT_ROUTE ETH0_GATEWAY ETH0 DOCKER0);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "btl_tcp_if_include 10.0.0.0/24 --mca");
    machine.ranks = 2;
    expect(tutti_doctor_network, TUTTI_DOCTOR_NOTE, "decoys");
    machine.ranks = 4;
    set_variables("OMPI_MCA_btl_tcp_if_include=10.0.0.0/24");
    expect(tutti_doctor_network, TUTTI_DOCTOR_OK, "TCP uses 10.0.0.0/24");
    set_variables("OMPI_MCA_btl_tcp_if_include=eth0,ib0");
    expect(tutti_doctor_network, TUTTI_DOCTOR_BAD, "names ib0");
    variables = NULL;
    put_interface("docker0", 1, "down\n");
    expect(tutti_doctor_network, TUTTI_DOCTOR_OK, "eth0");
    put_interface("eth1", 1, "up\n");
    put("/proc/net/route", ROUTES ETH0 ETH1_LINK_LOCAL);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "eth1 169.254.0.0/16");
    put_interface("eth2", 1, "up\n");
    put("/proc/net/route", ROUTES ETH0 ETH2);
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "several interfaces");
    put("/sys/class/net/eth2/bridge/bridge_id", "8000\n");
    expect(tutti_doctor_network, TUTTI_DOCTOR_WARN, "for minutes: eth2");
}
END_TEST

START_TEST(test_system)
{
    expect(tutti_doctor_starpu, TUTTI_DOCTOR_OK, "4 workers");
    machine.workers = 5;
    expect(tutti_doctor_starpu, TUTTI_DOCTOR_BAD, "--enable-maxcpus");
    machine.workers = 1;
    tutti_cpus_parse("0-63", &machine.allowed);
    expect(tutti_doctor_starpu, TUTTI_DOCTOR_NOTE, "32 cores per rank");
    machine.home_writable = 0;
    expect(tutti_doctor_starpu, TUTTI_DOCTOR_BAD, "export STARPU_HOME");
    expect(tutti_doctor_shared_memory, TUTTI_DOCTOR_OK, "room");
    machine.shared_bytes = 63 << 20;
    expect(tutti_doctor_shared_memory, TUTTI_DOCTOR_WARN, "63 MB");
    machine.shared_bytes = -1;
    expect(tutti_doctor_shared_memory, TUTTI_DOCTOR_WARN, "no /dev/shm");
    expect(tutti_doctor_limits, TUTTI_DOCTOR_OK, "no InfiniBand");
    machine.open_files = 256;
    expect(tutti_doctor_limits, TUTTI_DOCTOR_WARN, "ulimit -n");
    machine.open_files = INT64_MAX;
    machine.locked_bytes = 65536;
    put("/sys/class/infiniband/mlx5_0/node_type", "1\n");
    expect(tutti_doctor_limits, TUTTI_DOCTOR_WARN, "64 KB");
    machine.locked_bytes = INT64_MAX;
    expect(tutti_doctor_limits, TUTTI_DOCTOR_OK, "may be locked");
}
END_TEST

START_TEST(test_variables)
{
    expect(tutti_doctor_allreduce, TUTTI_DOCTOR_NOTE, "iallreduce_algorithm=3");
    expect(tutti_doctor_superuser, TUTTI_DOCTOR_OK, "not the superuser");
    machine.superuser = 1;
    expect(tutti_doctor_superuser, TUTTI_DOCTOR_WARN, "OMPI_ALLOW_RUN_AS_ROOT=1");
    set_variables("OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "OMPI_MCA_coll_libnbc_iallreduce_algorithm=3");
    expect(tutti_doctor_superuser, TUTTI_DOCTOR_OK, "allows");
    expect(tutti_doctor_allreduce, TUTTI_DOCTOR_OK, "=3");
}
END_TEST

/* Three ranks on two hosts; the first two share a core, and the third sees another clock. */
START_TEST(test_together)
{
    static tutti_doctor_letter letters[3];
    static const char *const hosts[] = {"a", "a", "b"};
    char *text = NULL;
    size_t size = 0;
    memset(letters, 0, sizeof letters);
    for (int r = 0; r < 3; r++) {
        snprintf(letters[r].host, sizeof letters[r].host, "%s", hosts[r]);
        tutti_cpus_parse("1", &letters[r].allowed);
        tutti_doctor_say(&letters[r].report, TUTTI_DOCTOR_OK, "mpi", NULL, "the same");
        tutti_doctor_say(&letters[r].report, r == 2 ? TUTTI_DOCTOR_WARN : TUTTI_DOCTOR_OK, "clock",
            r == 2 ? "mend \"it\"" : NULL, "clock source %s", r == 2 ? "hpet" : "tsc");
    }
    tutti_doctor_compare(letters, 3);
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(tutti_doctor_print(letters, 3, 0, out), TUTTI_DOCTOR_BAD);
    fclose(out);
    ck_assert_msg(strstr(text, "ok    mpi          the same\n") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "clock        ranks 0,1: clock source tsc\n") != NULL, "%s", text);
    ck_assert_msg(
        strstr(text, "warn  clock        rank 2: clock source hpet. To do: mend \"it\"\n") != NULL,
        "%s", text);
    ck_assert_msg(
        strstr(text, "bad   sharing      2 ranks on host a may run on 1 core only") != NULL, "%s",
        text);
    ck_assert_msg(strstr(text, "1 rank on host b") != NULL, "%s", text);
    ck_assert_msg(
        strstr(text, "3 ranks on 2 hosts: 3 ok, 0 note, 1 warn, 1 bad\n") != NULL, "%s", text);
    free(text);
    out = open_memstream(&text, &size);
    tutti_doctor_print(letters, 3, 1, out);
    fclose(out);
    ck_assert_msg(strstr(text, "{\"event\":\"finding\",\"status\":\"warn\",\"check\":\"clock\","
                               "\"ranks\":[2],\"seen\":\"clock source hpet\","
                               "\"advice\":\"mend \\\"it\\\"\"}\n") != NULL,
        "%s", text);
    ck_assert_msg(strstr(text, "{\"event\":\"summary\",\"ranks\":3,\"hosts\":2,\"ok\":3,\"note\":0,"
                               "\"warn\":1,\"bad\":1}\n") != NULL,
        "%s", text);
    free(text);
}
END_TEST

/* More hosts than a report has findings; what is bad is on the last one. */
START_TEST(test_many_hosts)
{
    enum { HOSTS = 200, OWN = 20 };
    tutti_doctor_letter *letters = calloc(HOSTS + 1, sizeof *letters);
    char *text = NULL;
    size_t size = 0;
    for (int r = 0; r <= HOSTS; r++) {
        tutti_doctor_letter *l = &letters[r];
        snprintf(l->host, sizeof l->host, "h%d", r < HOSTS ? r : HOSTS - 1);
        tutti_cpus_parse("3", &l->allowed);
        for (int i = 0; i < OWN; i++)
            tutti_doctor_say(&l->report, TUTTI_DOCTOR_OK, "own", NULL, "finding %d", i);
    }
    tutti_doctor_compare(letters, HOSTS + 1);
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(tutti_doctor_print(letters, HOSTS + 1, 1, out), TUTTI_DOCTOR_BAD);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "2 ranks on host h199 may run on 1 core only"));
    ck_assert_ptr_nonnull(strstr(text, ",198,199,200],")); /* every rank of a finding */
    free(text);
    free(letters);
}
END_TEST

/* The text of the topology that is made of measures. */
static char *make_topology(const tutti_measures *m, char *remark, size_t size)
{
    tutti_topology *t;
    char *text;
    size_t bytes;
    ck_assert_ok(tutti_doctor_make_topology(m, &t, remark, size));
    FILE *out = open_memstream(&text, &bytes);
    ck_assert_ok(tutti_topology_print(t, out));
    fclose(out);
    tutti_topology_free(t);
    return text;
}

START_TEST(test_topology)
{
    int host[] = {0, 1, 0, 2};
    tutti_measure rank[4] = {{.host = "a.site",
                                 .cores = 8,
                                 .send_s = 1e-6,
                                 .recv_s = 2e-6,
                                 .reduce = 8e9,
                                 .copy = 9e9,
                                 .memory = 5e9},
        {.host = "b", .cores = 8, .send_s = 3e-6, .recv_s = 4e-6, .reduce = 12e9, .copy = 11e9},
        {.host = "a.site",
            .cores = 8,
            .send_s = 2e-6,
            .recv_s = 3e-6,
            .reduce = 10e9,
            .copy = 10e9,
            .memory = 4e9},
        {.host = "b", .cores = 2, .send_s = 5e-7, .recv_s = 5e-7, .reduce = 1e9, .copy = 1e9}};
    const tutti_way none = {0, 0}, fast = {1.2344e8, 25e-6}, slow = {2e7, 45e-6},
                    odd = {1e7, 60e-6};
    tutti_way way[9] = {none, fast, slow, fast, none, slow, slow, slow, none};
    const tutti_measures m = {.ranks = 4, .hosts = 3, .host = host, .rank = rank, .way = way};
    char remark[256];
    char *text = make_topology(&m, remark, sizeof remark);
    /* The second b is another host. Hosts of a kind have the means of their ranks; b has no pair
     * that measures memory; half of 25 us - 2 us - 3 us. */
    ck_assert_str_eq(text,
        "topology 1\n"
        "kind cores8 cores 8 memory 9GB/s reduce 10GB/s copy 10GB/s send 2us recv 3us\n"
        "kind cores2 cores 2 reduce 1GB/s copy 1GB/s send 500ns recv 500ns\n"
        "host a kind cores8\nhost b kind cores8\nhost h2 kind cores2\nswitch switch\n"
        "link a switch rate 123.4MB/s latency 10us\n"
        "link b switch rate 123.4MB/s latency 10us\n"
        "link h2 switch rate 20MB/s latency 22us\n"
        "ranks a b a h2\n");
    ck_assert_str_eq(remark, "");
    free(text);
    rank[2].send_s = rank[2].recv_s = 0; /* it had no partner: the means are the others' */
    text = make_topology(&m, remark, sizeof remark);
    ck_assert_ptr_nonnull(strstr(text, "copy 10GB/s send 2us recv 3us\n"));
    free(text);
    way[5] = way[7] = odd;
    free(make_topology(&m, remark, sizeof remark));
    ck_assert_str_eq(remark, "b and h2 exchange 10 MB/s, where their links let 20 through: "
                             "describe what is between them "
                             "by hand");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doctor");
    TCase *t = testing_case(suite, "checks");
    tcase_add_checked_fixture(t, make_machine, drop_machine);
    tcase_add_test(t, test_versions);
    tcase_add_test(t, test_threads);
    tcase_add_test(t, test_single_copy);
    tcase_add_test(t, test_cores);
    tcase_add_test(t, test_quota);
    tcase_add_test(t, test_speed);
    tcase_add_test(t, test_network);
    tcase_add_test(t, test_system);
    tcase_add_test(t, test_variables);
    tcase_add_test(t, test_together);
    tcase_add_test(t, test_many_hosts);
    tcase_add_test(t, test_topology);
    return testing_run(suite);
}
