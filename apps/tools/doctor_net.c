/* Network interfaces: which ones reach other hosts, and which only seem to. Open MPI tries all that are up, and waits
 * for minutes on one that leads nowhere. */
#include "apps/tools/doctor.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

typedef struct interface {
    char name[32], subnet[24]; /* subnet "": no address */
    int link_local;            /* a self-assigned address: 169.254/16 */
    int alone; /* the subnet is one address, a gateway's: it does not find the interface */
    int decoy;
} interface;

/* Names of interfaces that lead to containers, virtual machines or tunnels. */
static const char *const decoy_names[] = {"docker", "br-", "virbr", "veth", "vmnet", "vboxnet",
    "lxc", "lxdbr", "cni", "flannel", "cali", "podman", "tun", "tap", "wg", "tailscale", NULL};

static int is_decoy(const tutti_doctor_machine *m, const interface *i)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/class/net/%s/bridge", i->name);
    if (tutti_doctor_exists(m, path) || i->link_local) return 1;
    for (int n = 0; decoy_names[n]; n++)
        if (strncmp(i->name, decoy_names[n], strlen(decoy_names[n])) == 0) return 1;
    return 0;
}

/* Up, and not the loopback. */
static int is_up(const tutti_doctor_machine *m, const char *name)
{
    enum { ARPHRD_LOOPBACK_TYPE = 772 };
    char path[128], line[32];
    snprintf(path, sizeof path, "/sys/class/net/%s/type", name);
    if (tutti_doctor_line(m, path, line, sizeof line) && atoi(line) == ARPHRD_LOOPBACK_TYPE)
        return 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/operstate", name);
    return tutti_doctor_line(m, path, line, sizeof line) && strcmp(line, "down") != 0;
}

/* The interface's network, from the kernel's routes: one of several addresses, or else a single one, or else the
 * self-assigned one. Addresses there are in network byte order, printed as little-endian numbers. */
static void find_subnet(const tutti_doctor_machine *m, interface *i)
{
    char line[256], name[32];
    unsigned destination, gateway, flags, mask;
    FILE *file = tutti_doctor_open(m, "/proc/net/route");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%31s %x %x %x %*s %*s %*s %x", name, &destination, &gateway, &flags,
                &mask) != 5 ||
            strcmp(name, i->name) != 0 || !destination || gateway)
            continue;
        const int link_local = (destination & 0xffff) == (169 | 254 << 8);
        if (link_local && *i->subnet) continue;
        i->link_local = link_local;
        i->alone = mask == 0xffffffff;
        snprintf(i->subnet, sizeof i->subnet, "%u.%u.%u.%u/%d", destination & 255,
            destination >> 8 & 255, destination >> 16 & 255, destination >> 24,
            __builtin_popcount(mask));
        if (!link_local && !i->alone) break;
    }
    fclose(file);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const interface *)a)->name, ((const interface *)b)->name);
}

/* The interfaces that are up and have an address, by name; returns how many. */
static int list(const tutti_doctor_machine *m, interface found[MOST])
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/sys/class/net", m->root);
    DIR *open = opendir(folder);
    int count = 0;
    for (struct dirent *entry; open && count < MOST && (entry = readdir(open));) {
        interface i = {.subnet = ""};
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof i.name) continue;
        memcpy(i.name, entry->d_name, strlen(entry->d_name) + 1);
        if (!is_up(m, i.name)) continue;
        find_subnet(m, &i);
        if (!*i.subnet) continue;
        i.decoy = is_decoy(m, &i);
        found[count++] = i;
    }
    if (open) closedir(open);
    qsort(found, (size_t)count, sizeof *found, by_name);
    return count;
}

/* "eth0 10.0.0.0/24, ib0 10.1.0.0/16", or as MPI's options have them: "10.0.0.0/24,10.1.0.0/16". Returns
 * how many. */
static int join_names(
    const interface *found, int count, int decoys, int for_mpi, char *text, size_t size)
{
    int joined = 0;
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < count; i++) {
        if (found[i].decoy != decoys) continue;
        const char *between = !joined ? "" : for_mpi ? "," : ", ";
        int more = for_mpi ? snprintf(text + used, size - used, "%s%s", between,
                                 found[i].alone ? found[i].name : found[i].subnet)
                           : snprintf(text + used, size - used, "%s%s %s", between, found[i].name,
                                 found[i].subnet);
        joined++;
        if (more < 0 || (size_t)more >= size - used) {
            text[used] = '\0'; /* a network that is cut is another one */
            break;
        }
        used += (size_t)more;
    }
    return joined;
}

/* An interface that btl_tcp_if_include names but that does not exist; 0: all exist. */
static int names_a_stranger(
    const tutti_doctor_machine *m, const char *include, char *name, size_t size)
{
    while (*include) {
        size_t length = strcspn(include, ",");
        snprintf(name, size, "%.*s", (int)length, include);
        char path[160];
        snprintf(path, sizeof path, "/sys/class/net/%.100s", name);
        if (*name && !strchr(name, '/') && !tutti_doctor_exists(m, path)) return 1;
        include += length + (include[length] == ',');
    }
    return 0;
}

void tutti_doctor_network(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    interface found[MOST];
    char real[96], decoys[96], subnets[96], advice[320], name[64];
    int count = list(machine, found), many_hosts = machine->ranks > machine->ranks_here;
    int reals = join_names(found, count, 0, 0, real, sizeof real);
    int false_ones = join_names(found, count, 1, 0, decoys, sizeof decoys);
    join_names(found, count, 0, 1, subnets, sizeof subnets);
    const char *include = tutti_doctor_variable(machine, "OMPI_MCA_btl_tcp_if_include");
    snprintf(advice, sizeof advice,
        "with several hosts: mpirun --mca btl_tcp_if_include %s --mca oob_tcp_if_include %s",
        subnets, subnets);
    if (*include && names_a_stranger(machine, include, name, sizeof name))
        tutti_doctor_say(report, TUTTI_DOCTOR_BAD, "network",
            "correct OMPI_MCA_btl_tcp_if_include; a network (10.0.0.0/24) works on hosts with "
            "different interfaces",
            "OMPI_MCA_btl_tcp_if_include names %s, which this host does not have", name);
    else if (!reals)
        tutti_doctor_say(report, many_hosts ? TUTTI_DOCTOR_BAD : TUTTI_DOCTOR_NOTE, "network",
            many_hosts ? "connect the hosts to a network" : NULL,
            "no interface leads to other hosts%s%s", *decoys ? ": only " : "", decoys);
    else if (*include)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "network", NULL, "TCP uses %s", include);
    else if (false_ones)
        tutti_doctor_say(report, many_hosts ? TUTTI_DOCTOR_WARN : TUTTI_DOCTOR_NOTE, "network",
            advice, "%s; and decoys, which MPI may try for minutes: %s", real, decoys);
    else if (reals > 1)
        tutti_doctor_say(report, many_hosts ? TUTTI_DOCTOR_WARN : TUTTI_DOCTOR_NOTE, "network",
            "with several hosts: mpirun --mca btl_tcp_if_include with the one to use",
            "several interfaces, which MPI uses in turns: %s", real);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "network", NULL, "%s", real);
}
