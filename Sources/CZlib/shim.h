#ifndef PUSH_REGISTRY_CZLIB_SHIM_H
#define PUSH_REGISTRY_CZLIB_SHIM_H

#include <zlib.h>

#endif
