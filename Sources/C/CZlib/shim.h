#ifndef PUSH_REGISTRY_CZLIB_SHIM_H
#define PUSH_REGISTRY_CZLIB_SHIM_H

#include <dlfcn.h>
#include <stdint.h>
#include <zlib.h>

// The part of ISA-L that compresses, loaded at run time (dlopen(3)) where it is installed. The layout and the numbers
// are those of igzip_lib.h and part of the ABI of libisal.so.2.

enum {
    ISAL_NO_FLUSH_ = 0,
    ISAL_SYNC_FLUSH_ = 1,
    ISAL_COMP_OK_ = 0,
    ISAL_GZIP_ = 1,
    /// The level that builds its codes from the input.
    ISAL_LEVEL_ = 1,
    /// ISAL_DEF_LVL1_MEDIUM: the buffer of level 1.
    ISAL_LEVEL_BUFFER_BYTES_ = 151552,
};

/// The public part of isal_zstream.
struct isal_stream_ {
    const uint8_t *next_in;
    uint32_t avail_in;
    uint32_t total_in;
    uint8_t *next_out;
    uint32_t avail_out;
    uint32_t total_out;
    void *hufftables;
    uint32_t level;
    uint32_t level_buf_size;
    uint8_t *level_buf;
    uint16_t end_of_stream;
    uint16_t flush;
    uint16_t gzip_flag;
    uint16_t hist_bits;
};

/// Memory for isal_zstream, which has 82,384 bytes in version 2.30: its public part, and its own.
enum { ISAL_STREAM_BYTES_ = 131072 };

struct isal_library_ {
    void (*deflate_init)(struct isal_stream_ *stream);
    int (*deflate)(struct isal_stream_ *stream);
};

/// Loads the library for the life of the process.
///
/// @return whether it can be used.
static inline int isal_load_(struct isal_library_ *library) {
    void *image = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (image == NULL) return 0;
    *(void **)&library->deflate_init = dlsym(image, "isal_deflate_init");
    *(void **)&library->deflate = dlsym(image, "isal_deflate");
    return library->deflate_init != NULL && library->deflate != NULL;
}

#endif
