/* The floor below every RPC: two processes, one TCP connection over loopback, one message there and
 * one back at a time.  Prints the median round trip in microseconds.
 *
 *   cc -O2 -o tcp_pingpong tcp_pingpong.c && ./tcp_pingpong [rounds [bytes]]
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void all(int fd, char *data, int size, int out) {
    while (size > 0) {
        ssize_t n = out ? write(fd, data, size) : read(fd, data, size);
        if (n <= 0) exit(out ? 2 : 0);
        data += n;
        size -= n;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20000, size = argc > 2 ? atoi(argv[2]) : 100, one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    char *data = calloc(1, size);
    double *times = malloc(rounds * sizeof *times);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) return 1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    if (fork() == 0) {
        int fd = accept(listener, 0, 0);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        for (;;) {
            all(fd, data, size, 0);
            all(fd, data, size, 1);
        }
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) return 1;
    for (int i = 0; i < rounds; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        all(fd, data, size, 1);
        all(fd, data, size, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        times[i] = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
    }
    close(fd);
    wait(0);
    qsort(times, rounds, sizeof *times, by_value);
    printf("%.1f\n", times[rounds / 2]);
    return 0;
}
