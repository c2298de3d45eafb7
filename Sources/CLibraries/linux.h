// Linux calls that glibc's Swift module leaves out.
#pragma once
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <time.h>

// Declared here because _GNU_SOURCE would change types that Swift's own module of glibc was built with.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int pthread_setname_np(pthread_t, const char *);
extern int pipe2(int[2], int);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/// Names the calling thread (15 bytes are kept), so that `top -H` shows whose work it is.
static inline void holdfast_name_this_thread(const char *name) {
    char kept[16] = {0};
    strncpy(kept, name, 15);
    pthread_setname_np(pthread_self(), kept);
}

/// EPOLL flags are an enum in C; Swift wants plain numbers.
static const uint32_t HOLDFAST_EPOLLIN = EPOLLIN;
static const uint32_t HOLDFAST_EPOLLOUT = EPOLLOUT;
static const uint32_t HOLDFAST_EPOLLRDHUP = EPOLLRDHUP;
static const uint32_t HOLDFAST_EPOLLEXCLUSIVE = EPOLLEXCLUSIVE;
static const uint32_t HOLDFAST_EPOLLHUP = EPOLLHUP;
static const uint32_t HOLDFAST_EPOLLERR = EPOLLERR;

static inline int holdfast_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Times stay on this side: which Clang module owns `struct timespec` depends on what was compiled before, and with it
// whether Swift lets its members be seen.

/// Milliseconds since 1970 by CLOCK_REALTIME.
static inline int64_t holdfast_wall_clock_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Blocks the thread for so long, through interruptions.
static inline void holdfast_sleep(int64_t seconds, int64_t nanoseconds) {
    struct timespec left = {.tv_sec = seconds, .tv_nsec = nanoseconds};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/// Whether the kernel's clock is kept right by somebody (NTP).
static inline int holdfast_clock_is_synchronized(void) {
    struct timex state = {0};
    return adjtimex(&state) != TIME_ERROR;
}

/// What `stat` says of a path: its permissions, owner and kind; -1 and errno when it cannot.
static inline int holdfast_stat(const char *path, uint32_t *mode, uint32_t *owner) {
    struct stat found;
    if (stat(path, &found) != 0) return -1;
    *mode = found.st_mode;
    *owner = found.st_uid;
    return 0;
}

/// Bytes that we may still write to the file system of a path, and the system's kind (`f_type`); -1 and errno when it
/// cannot be asked.
static inline int holdfast_statfs(const char *path, uint64_t *available, uint64_t *total, uint64_t *kind) {
    struct statfs found;
    if (statfs(path, &found) != 0) return -1;
    *available = (uint64_t)found.f_bavail * (uint64_t)found.f_bsize;
    *total = (uint64_t)found.f_blocks * (uint64_t)found.f_bsize;
    *kind = (uint64_t)found.f_type;
    return 0;
}
