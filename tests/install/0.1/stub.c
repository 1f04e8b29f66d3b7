/* Replaces libtutti.so.0 when program.c is linked: its functions, none of which is called. */
#define FUNCTION(name)                                                                             \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }
FUNCTION(tutti_attach)
FUNCTION(tutti_detach)
FUNCTION(tutti_allreduce)
FUNCTION(tutti_wait)
FUNCTION(tutti_status_name)
