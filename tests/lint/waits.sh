#!/bin/bash
# Every wait of the library has a deadline, or a reason why it ends.   waits.sh [TREE]
#
# Looked at are dag (but kernels, where INFINITY is a number), collectives, designs and apps/session. A line that may wait without a
# deadline is printed as "file:line: what", and the exit status is 1, unless the table below has it: FILE | the line, or how it
# begins | why it ends; a row is for one line. doc/designs.md, "Waits and leaving", lists what waits for another rank.
set -u
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree" || exit 2

declare -A ends=() used=()
while IFS='|' read -r file line why; do
    [ -z "$file" ] || ends[$file|$line]=$why
done << 'ENDS'
designs/attach/attach.c|tutti_exchange_set_timeout(s->exchange, INFINITY);|a stall ends such a wait (stall_abort_s), or a rank that leaves
designs/attach/attach_calls.c|"%s: timeout_s is %g: must be 0 or more seconds (INFINITY: no limit)"|a message; a stall ends such a wait (stall_abort_s)
designs/attach/attach_membership.c|return tutti_wait(r->session, INFINITY);|a stall ends such a wait (stall_abort_s)
designs/elastic/elastic_calls.c|pthread_cond_wait(&e->changed, &e->lock);|the next epoch or the end: the machine has deadlines
designs/elastic/elastic_calls.c|while (!e->over && !e->wants) pthread_cond_wait(&e->changed, &e->lock);|others may train for long; each that is lost is seen
designs/elastic/elastic_door.c|call->next_s = INFINITY;|while it connects, which has a deadline
designs/elastic/keeper.c|poll(kept, (nfds_t)*count, -1);|it ends with the rank
designs/elastic/keeper.c|while (waitpid(k->pid, NULL, 0) < 0|the keeper ends 2 s after its socket has closed
designs/elastic/elastic_open.c|if (e->threads > 1) pthread_join(e->caller, NULL);|each connection has a deadline of 2 s
designs/elastic/elastic_open.c|if (e->threads > 0) pthread_join(e->thread, NULL);|each connection is closed 2 s after it was cut
designs/membership/membership_table.c|m->due_s = INFINITY;|the epoch runs, or has ended: nothing is waited for
designs/thread/clocks.c|clocks->best = (tutti_clock_sample){.error_s = INFINITY};|an error, no wait
designs/thread/comm_thread.c|if (!t->running) pthread_join(t->thread, NULL);|setup has ended: the latch is open
designs/thread/comm_thread.c|pthread_join(t->thread, NULL);|the thread leaves within setup_timeout_s of stop
designs/thread/deadline.c|pthread_join(deadline->thread, NULL);|the thread is woken, and only keeps time
designs/thread/mpi_thread.c|pthread_join(h->thread, NULL);|MPI_Finalize on that thread has a deadline (deadline.h)
designs/watch/watch.c|pthread_join(watch->thread, NULL);|the thread is woken, and waits for no rank
designs/kv/connections.c|pthread_join(connections->thread, NULL);|each connection is broken 5 s after it was cut
collectives/lasting.c|if (l->has_thread) pthread_join(l->thread, NULL);|the thread waits for no rank
collectives/boot.c|: MPI_Init_thread(NULL, NULL, levels[needed], &granted);|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|if (boot->initialised_here && !ended) MPI_Finalize();|a deadline (deadline.h)
collectives/boot.c|int code = MPI_Comm_split(|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|int code = MPI_Comm_split_type(|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|int code = MPI_Allreduce(|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|code = MPI_Allgather(|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|MPI_Comm_free(&host);|setup_timeout_s, or a deadline (deadline.h)
collectives/boot.c|if (boot->comm && !ended) MPI_Comm_free(boot->comm);|local in Open MPI and MPICH, as the standard expects
collectives/lasting.c|for (int i = 0; i < l->epochs; i++) MPI_Comm_free(&l->comm[i]);|only while no rank is lost; local in Open MPI
collectives/transport/mpi_open.c|if (t->lane[k] != MPI_COMM_NULL) MPI_Comm_free(&t->lane[k]);|not after a failure; local in Open MPI and MPICH
collectives/transport/nccl_close.c|if (n->lane[k]->stream) cudaStreamSynchronize(n->lane[k]->stream);|its communicator is aborted, which ends its kernels
collectives/transport/nccl_close.c|ncclCommDestroy(comm_of(n, k));|it is finalized, which had a deadline
collectives/transport/nccl_open.c|return status ? status : tutti_nccl_cuda(n, "memory", cudaDeviceSynchronize());|no collective has begun
dag/device/device_cuda.c|if (!error) error = cudaDeviceSynchronize();|kernels of this process; a failure aborts NCCL's (nccl_close.c)
dag/run/datum.c|if (data) starpu_data_unregister(data);|tutti_kv_close has waited, or has broken what the tasks wait for
dag/run/handle.c|starpu_data_unregister(data);|its users have ended: tutti_insert_wait_for, tutti_insert_ended
dag/run/insert.c|if (starpu_is_initialized()) starpu_data_unregister(c->token);|everything has ended: tutti_insert_ended
dag/run/collective_task.c|while (holds && !tutti_latch_wait(&ended, INFINITY))|tokens end after a failure, and the run's wait has a deadline
dag/run/ledger.c|while (ledger->handing) pthread_cond_wait(|a call of this process that is about to return
dag/run/blocker.c|return s->item[i].began_s > 0 ? s->item[i].began_s : INFINITY;|a time, no wait
dag/run/starpu.c|starpu_task_wait_for_all();|everything has ended: has_ended
dag/run/starpu.c|starpu_shutdown();|everything has ended: has_ended
dag/run/starpu.c|if (!status) starpu_shutdown();|no task was submitted
dag/run/tensor_handles.c|int rc = starpu_data_acquire_on_node(handle, (int)node, tutti_starpu_mode(mode));|everything has ended: tutti_wait_over
dag/step/times.c|*seconds = INFINITY;|a price, no wait
ENDS

what='(^|[^A-Z_])INFINITY|pthread_cond_wait\(|pthread_join\(|sem_wait\(|[^_a-z]poll\([^;]*, *-1\)|waitpid\([^;]*, *0\)|F_SETLKW|starpu_task_wait|starpu_data_(acquire|acquire_on_node|unregister)\(|starpu_shutdown\(|cuda(Stream|Device|Event)Synchronize\(|ncclCommDestroy\(|MPI_(Init_thread|Finalize|Barrier|Wait|Waitall|Waitany|Probe|Recv|Send|Ssend|Sendrecv|Bcast|Reduce|Allreduce|Gather|Allgather|Alltoall|Comm_(spawn|split|split_type|dup|create|free)|Intercomm_create)\('
bad=0
while IFS=: read -r file line text; do
    text=${text#"${text%%[![:space:]]*}"}
    case $text in '/*'* | '* '*) continue ;; esac
    for key in "${!ends[@]}"; do
        [ "${key%%|*}" = "$file" ] && [[ $text == "${key#*|}"* ]] && [ -z "${used[$key]:-}" ] || continue
        used[$key]=1
        continue 2
    done
    echo "$file:$line: may wait without end: give it a deadline, or say in tests/lint/waits.sh why it ends: $text"
    bad=1
done < <(find dag collectives designs apps/session -name '*.c' -type f ! -path 'dag/kernels/*' 2> /dev/null | LC_ALL=C sort |
    xargs -r grep -HnE -- "$what")
for key in "${!ends[@]}"; do
    [ -n "${used[$key]:-}" ] || [ ! -e "${key%%|*}" ] && continue
    echo "${key%%|*}: tests/lint/waits.sh has a reason for a line that is gone: ${key#*|}"
    bad=1
done
exit $bad
