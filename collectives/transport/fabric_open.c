#include "collectives/transport/fabric_parts.h"
#include "dag/base/log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint32_t api = FI_VERSION(1, 9);

const char *tutti_fabric_lacks(void)
{
    return NULL;
}

/* Asks for nothing that the code here does not do. NULL: no memory. */
static struct fi_info *new_hints(const tutti_fabric_library *library, const char *provider)
{
    struct fi_info *h = library->dupinfo(NULL);
    if (!h) return NULL;
    h->ep_attr->type = FI_EP_RDM;
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    h->domain_attr->cq_data_size = 4;
    h->domain_attr->threading = FI_THREAD_SAFE;
    h->domain_attr->control_progress = h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
    h->fabric_attr->prov_name = strdup(provider);
    if (h->fabric_attr->prov_name) return h;
    library->freeinfo(h);
    return NULL;
}

/* address: of this host; NULL: any. Returns libfabric's code. */
static int find_provider(const tutti_fabric_library *library, const char *provider,
    const char *address, struct fi_info **info)
{
    struct fi_info *hints = new_hints(library, provider);
    if (!hints) return -FI_ENOMEM;
    const int code = library->getinfo(api, address, NULL, address ? FI_SOURCE : 0, hints, info);
    library->freeinfo(hints);
    return code;
}

/* ---- the domain ---- */

/* The address of this host that a socket uses. */
static void name_source(int socket, char name[INET6_ADDRSTRLEN])
{
    struct sockaddr_storage a = {0};
    socklen_t bytes = sizeof a;
    strcpy(name, "127.0.0.1");
    getsockname(socket, (struct sockaddr *)&a, &bytes);
    if (a.ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)&a)->sin_addr, name, INET6_ADDRSTRLEN);
    if (a.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&a)->sin6_addr, name, INET6_ADDRSTRLEN);
}

static tutti_status open_domain(tutti_fabric *f, int socket)
{
    char source[INET6_ADDRSTRLEN];
    struct fi_info *info = NULL;
    if (f->domain) return TUTTI_OK;
    name_source(socket, source);
    int code = find_provider(&f->library, f->info->fabric_attr->prov_name, source, &info);
    if (!code) code = f->library.fabric(info->fabric_attr, &f->fabric, NULL);
    if (!code) code = fi_domain(f->fabric, info, &f->domain, NULL);
    if (code) {
        tutti_status status = tutti_fail(TUTTI_ERR_COMM, "the provider %s has no network at %s: %s",
            f->info->fabric_attr->prov_name, source, f->library.strerror(-code));
        if (info) f->library.freeinfo(info);
        return status;
    }
    f->library.freeinfo(f->info);
    f->info = info;
    return TUTTI_OK;
}

static tutti_status fabric_connect(tutti_interconnect *network, int socket,
    const tutti_connection_options *options, tutti_connection **connection)
{
    tutti_fabric *f = (tutti_fabric *)network;
    tutti_stream *stream;
    tutti_status status = open_domain(f, socket);
    if (status) {
        close(socket);
        return status;
    }
    status = tutti_fabric_stream(f, socket, &stream);
    return status ? status : tutti_connection_open_over(stream, options, connection);
}

/* ---- opening, closing ---- */

static void fabric_close(tutti_interconnect *network)
{
    tutti_fabric *f = (tutti_fabric *)network;
    tutti_fabric_free_memory(f);
    if (f->domain) fi_close(&f->domain->fid);
    if (f->fabric) fi_close(&f->fabric->fid);
    f->library.freeinfo(f->info);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static const tutti_interconnect_ops fabric_ops = {
    .connect = fabric_connect,
    .take = tutti_fabric_take,
    .give = tutti_fabric_give,
    .close = fabric_close,
};

static int choose_provider(
    const tutti_fabric_library *library, const char *chosen, struct fi_info **info)
{
    const char *set = chosen ? chosen : getenv("TUTTI_FABRIC_PROVIDER");
    if (set && *set) return find_provider(library, set, NULL, info);
    const int code = find_provider(library, "verbs;ofi_rxm", NULL, info);
    return code ? find_provider(library, "tcp;ofi_rxm", NULL, info) : code;
}

tutti_status tutti_fabric_open(const tutti_fabric_options *options, tutti_interconnect **network)
{
    static const tutti_fabric_options none;
    const tutti_fabric_options *o = options ? options : &none;
    const char *set = o->provider ? o->provider : getenv("TUTTI_FABRIC_PROVIDER");
    tutti_fabric *f = calloc(1, sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a network");
    tutti_status status = tutti_fabric_load(&f->library);
    const int code = status ? 0 : choose_provider(&f->library, o->provider, &f->info);
    if (code)
        status = tutti_fail(set && *set ? TUTTI_ERR_USAGE : TUTTI_ERR_UNSUPPORTED,
            "libfabric has no provider %s that writes to other processes' memory in order: %s "
            "(fi_info lists them; TUTTI_FABRIC_PROVIDER names one)",
            set && *set ? set : "verbs or tcp", f->library.strerror(-code));
    if (status) {
        free(f);
        return status;
    }
    f->base.ops = &fabric_ops;
    f->most_bytes = o->most_bytes;
    f->lost_s = o->lost_s > 0 ? o->lost_s : 30;
    pthread_mutex_init(&f->lock, NULL);
    *network = &f->base;
    return TUTTI_OK;
}
