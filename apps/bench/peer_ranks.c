#include "apps/bench/peer_ranks.h"

#include "apps/bench/address.h"

#include <stdio.h>

tutti_status tutti_peer_ranks_program(
    tutti_world *world, const char *wish, const tutti_peer_script *script, char *text, size_t size)
{
    tutti_status status = tutti_peer_program(wish, script, text, size);
    double nowhere = !*text;
    status = tutti_world_agree(world, status);
    if (!status) status = tutti_world_max(world, 1, &nowhere);
    if (status || nowhere > 0) *text = '\0';
    return status;
}

/* This rank's address, and rank 0's, where the others find it. */
static tutti_status find_addresses(
    tutti_world *world, const char *interface, tutti_address *own, tutti_address *root)
{
    *own = (tutti_address){{0}, {0}, 0};
    tutti_status status = tutti_world_agree(world, tutti_address_find(interface, own));
    *root = *own;
    return status ? status : tutti_world_share(world, root, sizeof *root);
}

tutti_status tutti_peer_ranks_start(
    tutti_world *world, const tutti_peer_torch *torch, tutti_peer **peer)
{
    char program[4096], command[8192];
    tutti_address own, root;
    *peer = NULL;
    tutti_status status =
        tutti_peer_ranks_program(world, torch->wish, &torch->script, program, sizeof program);
    if (status || !*program) return status;
    status = find_addresses(world, torch->interface, &own, &root);
    if (status) return status;
    snprintf(command, sizeof command,
        "MASTER_ADDR=%s MASTER_PORT=%d RANK=%d WORLD_SIZE=%d GLOO_SOCKET_IFNAME=%s exec %s %s",
        root.host, root.port, world->boot.rank, world->boot.size, own.interface, program,
        torch->arguments);
    return tutti_world_agree(world, tutti_peer_start(command, torch->timeout_s, peer));
}

tutti_status tutti_peer_ranks_start_mxnet(
    tutti_world *world, const tutti_peer_mxnet *m, tutti_peer **peer)
{
    char command[8192];
    tutti_address own, root;
    *peer = NULL;
    tutti_status status = find_addresses(world, m->interface, &own, &root);
    if (status) return status;
    if (m->arguments) {
        snprintf(command, sizeof command,
            "DMLC_PS_ROOT_URI=%s DMLC_PS_ROOT_PORT=%d DMLC_NODE_HOST=%s DMLC_INTERFACE=%s "
            "DMLC_NUM_WORKER=%d DMLC_NUM_SERVER=%d exec %s %s%s",
            root.host, root.port, own.host, own.interface, m->workers, m->servers, m->program,
            m->arguments, world->boot.rank ? "" : " --with-scheduler");
        status = tutti_peer_start(command, m->timeout_s, peer);
    }
    return tutti_world_agree(world, status);
}
