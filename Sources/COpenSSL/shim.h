#ifndef PUSH_REGISTRY_COPENSSL_SHIM_H
#define PUSH_REGISTRY_COPENSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/ssl.h>

#endif
