// Linux calls that the Glibc module leaves out (epoll, eventfd) or hides behind _GNU_SOURCE (accept4).
#ifndef PUSH_REGISTRY_CLINUX_SHIM_H
#define PUSH_REGISTRY_CLINUX_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#endif
