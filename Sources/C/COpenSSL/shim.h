// The parts of libssl that are macros, which Swift does not import, as functions of the same name with a suffix.
#ifndef PUSH_REGISTRY_COPENSSL_SHIM_H
#define PUSH_REGISTRY_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

static inline long SSL_CTX_set_min_proto_version_(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline long SSL_CTX_set_mode_(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline long SSL_CTX_set_read_ahead_(SSL_CTX *context, int isOn) {
    return SSL_CTX_set_read_ahead(context, isOn);
}

static const uint64_t SSL_OP_NO_RENEGOTIATION_ = SSL_OP_NO_RENEGOTIATION;
static const uint64_t SSL_OP_NO_COMPRESSION_ = SSL_OP_NO_COMPRESSION;
static const uint64_t SSL_OP_CIPHER_SERVER_PREFERENCE_ = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t SSL_OP_PRIORITIZE_CHACHA_ = SSL_OP_PRIORITIZE_CHACHA;

static inline long SSL_CTX_set1_groups_list_(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, groups);
}

/// The certificate, key and chain of `from`, for `to`.
static inline int SSL_CTX_copy_identity_(SSL_CTX *to, SSL_CTX *from) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(from, &chain);
    return SSL_CTX_use_cert_and_key(to, SSL_CTX_get0_certificate(from), SSL_CTX_get0_privatekey(from), chain, 1);
}

#endif
