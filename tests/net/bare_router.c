/* A ROUTER of libzmq that says back what it hears, and nothing else: less than what it costs its
 * peers that others come and go, no program on libzmq can cost them.
 *
 *   bare-router ADDRESS
 *
 * Says its address when it listens; ends by a signal. */
#include <stdio.h>
#include <zmq.h>

static char who[256], what[1 << 16];

int main(int argc, char **argv)
{
    void *router = zmq_socket(zmq_ctx_new(), ZMQ_ROUTER);
    const int backlog = 1024;
    size_t size = sizeof(what);
    if (argc != 2 || zmq_setsockopt(router, ZMQ_BACKLOG, &backlog, sizeof(backlog)) < 0 ||
        zmq_bind(router, argv[1]) < 0 || zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, what, &size) < 0)
        return 2;
    puts(what);
    fflush(stdout);
    for (;;) {
        int id = zmq_recv(router, who, sizeof(who), 0);
        int length = zmq_recv(router, what, sizeof(what), 0);
        zmq_send(router, who, (size_t)id, ZMQ_SNDMORE);
        zmq_send(router, what, (size_t)length, 0);
    }
}
