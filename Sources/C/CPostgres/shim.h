#ifndef PUSH_REGISTRY_CPOSTGRES_SHIM_H
#define PUSH_REGISTRY_CPOSTGRES_SHIM_H

#include <libpq-fe.h>

#endif
