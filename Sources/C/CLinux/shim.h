// Linux calls that the Glibc module leaves out (epoll, eventfd) or hides behind _GNU_SOURCE (accept4,
// pthread_setname_np). Defining _GNU_SOURCE here would give the C library's types a second shape.
#ifndef PUSH_REGISTRY_CLINUX_SHIM_H
#define PUSH_REGISTRY_CLINUX_SHIM_H

#include <linux/sockios.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
int pthread_setname_np(pthread_t thread, const char *name);

// ioctl takes variable arguments, which Swift does not import. tcp(7).
static inline int unacknowledged_bytes(int descriptor, int *count) {
    return ioctl(descriptor, SIOCOUTQ, count);
}

static inline int unread_bytes(int descriptor, int *count) {
    return ioctl(descriptor, FIONREAD, count);
}

#endif
