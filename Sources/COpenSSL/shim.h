// The parts of libssl that are macros, which Swift does not import, as functions of the same name with a suffix.
#ifndef PUSH_REGISTRY_COPENSSL_SHIM_H
#define PUSH_REGISTRY_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
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

/// The bytes waiting in a memory BIO, without taking them.
static inline long BIO_get_mem_data_(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

/// Empties a memory BIO.
static inline int BIO_reset_(BIO *bio) {
    return BIO_reset(bio);
}

#endif
