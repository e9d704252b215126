/* Loaded before the C library: files that are slow, give or take half of what is asked for and are
   interrupted, as over a network, and a clock on the wall that jumps. Counts what it has done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_uint halved, interrupted, synced, jumps;

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static void nap(long microseconds) {
    struct timespec t = {0, microseconds * 1000};
    nanosleep(&t, NULL);
}

/* Whether this call is interrupted before it has done anything; each thread counts for itself, so
   that one that tries again gets on. */
static int interrupt(void) {
    static _Thread_local unsigned calls;
    nap(100);
    if (++calls % 3 != 0)
        return 0;
    interrupted++;
    errno = EINTR;
    return 1;
}

static size_t half(size_t n) {
    if (n < 2)
        return n;
    halved++;
    return (n + 1) / 2;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t (*)(int, const void *, size_t), "write");
    if (fd <= 2)
        return real(fd, bytes, n);
    return interrupt() ? -1 : real(fd, bytes, half(n));
}

ssize_t read(int fd, void *bytes, size_t n) {
    ssize_t (*real)(int, void *, size_t) = REAL(ssize_t (*)(int, void *, size_t), "read");
    if (fd <= 2)
        return real(fd, bytes, n);
    return interrupt() ? -1 : real(fd, bytes, half(n));
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        REAL(ssize_t (*)(int, const void *, size_t, off64_t), "pwrite64");
    return interrupt() ? -1 : real(fd, bytes, half(n), at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at) {
    ssize_t (*real)(int, void *, size_t, off64_t) =
        REAL(ssize_t (*)(int, void *, size_t, off64_t), "pread64");
    return interrupt() ? -1 : real(fd, bytes, half(n), at);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return interrupt() ? -1 : REAL(int (*)(const char *, int, ...), "open64")(path, flags, mode);
}

int fsync(int fd) {
    nap(2000);
    synced++;
    return interrupt() ? -1 : REAL(int (*)(int), "fsync")(fd);
}

int rename(const char *from, const char *to) {
    nap(2000);
    return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

/* Today, the year 2100, and the year before 1970. */
int clock_gettime(clockid_t id, struct timespec *t) {
    int result = REAL(int (*)(clockid_t, struct timespec *), "clock_gettime")(id, t);
    if (id == CLOCK_REALTIME) {
        unsigned n = ++jumps;
        if (n % 3 == 1)
            t->tv_sec = 4102444800;
        if (n % 3 == 2)
            t->tv_sec = -1000000;
    }
    return result;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("SHIM_REPORT");
    if (path == NULL)
        return;
    FILE *f = fopen(path, "a");
    if (f != NULL) {
        fprintf(f, "halved %u\ninterrupted %u\nsynced %u\njumps %u\n", halved, interrupted, synced, jumps);
        fclose(f);
    }
}
