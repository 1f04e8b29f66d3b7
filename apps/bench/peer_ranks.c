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

tutti_status tutti_peer_ranks_start(
    tutti_world *world, const tutti_peer_torch *torch, tutti_peer **peer)
{
    char program[4096], command[8192];
    tutti_address own = {{0}, {0}, 0};
    *peer = NULL;
    tutti_status status =
        tutti_peer_ranks_program(world, torch->wish, &torch->script, program, sizeof program);
    if (status || !*program) return status;
    status = tutti_world_agree(world, tutti_address_find(torch->interface, &own));
    tutti_address root = own;
    if (!status) status = tutti_world_share(world, &root, sizeof root);
    if (status) return status;
    snprintf(command, sizeof command,
        "MASTER_ADDR=%s MASTER_PORT=%d RANK=%d WORLD_SIZE=%d GLOO_SOCKET_IFNAME=%s exec %s %s",
        root.host, root.port, world->boot.rank, world->boot.size, own.interface, program,
        torch->arguments);
    return tutti_world_agree(world, tutti_peer_start(command, torch->timeout_s, peer));
}
