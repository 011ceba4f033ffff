// The part of libcurl that a fetch uses, loaded at run time (dlopen(3)): libcurl depends on two dozen other libraries,
// which only a service that fetches key sets needs. The numbers are those of curl.h and part of the ABI of
// libcurl.so.4. libcurl-easy(3) and curl_easy_setopt(3) describe them.
#ifndef PUSH_REGISTRY_CCURL_SHIM_H
#define PUSH_REGISTRY_CCURL_SHIM_H

#include <dlfcn.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
    CURL_GLOBAL_ALL_ = 3,
    CURLE_OK_ = 0,
    CURLE_TOO_MANY_REDIRECTS_ = 47,
    CURLOPT_FOLLOWLOCATION_ = 52,
    CURLOPT_SSL_VERIFYPEER_ = 64,
    CURLOPT_MAXREDIRS_ = 68,
    CURLOPT_SSL_VERIFYHOST_ = 81,
    CURLOPT_NOSIGNAL_ = 99,
    CURLOPT_TIMEOUT_MS_ = 155,
    CURLOPT_PROTOCOLS_ = 181,
    CURLOPT_REDIR_PROTOCOLS_ = 182,
    CURLOPT_WRITEDATA_ = 10001,
    CURLOPT_URL_ = 10002,
    CURLOPT_PROXY_ = 10004,
    CURLOPT_USERPWD_ = 10005,
    CURLOPT_USERAGENT_ = 10018,
    CURLOPT_HEADERDATA_ = 10029,
    CURLOPT_OPENSOCKETDATA_ = 10164,
    CURLOPT_COPYPOSTFIELDS_ = 10165,
    CURLOPT_WRITEFUNCTION_ = 20011,
    CURLOPT_HEADERFUNCTION_ = 20079,
    CURLOPT_OPENSOCKETFUNCTION_ = 20163,
    CURLINFO_RESPONSE_CODE_ = 0x200002,
    CURLPROTO_HTTP_ = 1,
    CURLPROTO_HTTPS_ = 2,
};

static const int CURL_SOCKET_BAD_ = -1;

/// curl_sockaddr of curl.h: a resolved address of `length` bytes.
struct curl_sockaddr_ {
    int family;
    int kind;
    int protocol;
    unsigned int length;
    struct sockaddr address;
};

typedef size_t (*curl_data_callback_)(char *data, size_t size, size_t count, void *context);
typedef int (*curl_socket_callback_)(void *context, int purpose, struct curl_sockaddr_ *address);

/// The entry points. The functions below call those with variable arguments.
struct curl_library_ {
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    int (*easy_perform)(void *handle);
    void (*easy_cleanup)(void *handle);
    const char *(*easy_strerror)(int code);
    void *easy_setopt;
    void *easy_getinfo;
};

/// Loads the library for the life of the process.
///
/// @return NULL, or why it cannot be loaded.
static inline const char *curl_load_(struct curl_library_ *library) {
    void *image = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (image == NULL) return dlerror();
    *(void **)&library->global_init = dlsym(image, "curl_global_init");
    *(void **)&library->easy_init = dlsym(image, "curl_easy_init");
    *(void **)&library->easy_perform = dlsym(image, "curl_easy_perform");
    *(void **)&library->easy_cleanup = dlsym(image, "curl_easy_cleanup");
    *(void **)&library->easy_strerror = dlsym(image, "curl_easy_strerror");
    library->easy_setopt = dlsym(image, "curl_easy_setopt");
    library->easy_getinfo = dlsym(image, "curl_easy_getinfo");
    if (library->global_init == NULL || library->easy_init == NULL || library->easy_perform == NULL ||
        library->easy_cleanup == NULL || library->easy_strerror == NULL || library->easy_setopt == NULL ||
        library->easy_getinfo == NULL)
        return "libcurl.so.4 lacks a function";
    return library->global_init(CURL_GLOBAL_ALL_) == CURLE_OK_ ? NULL : "libcurl.so.4 cannot be initialised";
}

static inline int curl_set_number_(const struct curl_library_ *library, void *handle, int option, long value) {
    return ((int (*)(void *, int, ...))library->easy_setopt)(handle, option, value);
}

/// libcurl copies the text.
static inline int curl_set_text_(const struct curl_library_ *library, void *handle, int option, const char *text) {
    return ((int (*)(void *, int, ...))library->easy_setopt)(handle, option, text);
}

/// `context` is passed to the callbacks and must live until the handle is cleaned up.
static inline int curl_set_callbacks_(
    const struct curl_library_ *library, void *handle, void *context, curl_data_callback_ header,
    curl_data_callback_ body, curl_socket_callback_ open) {
    int (*set)(void *, int, ...) = (int (*)(void *, int, ...))library->easy_setopt;
    int code = set(handle, CURLOPT_HEADERFUNCTION_, header);
    if (code == CURLE_OK_) code = set(handle, CURLOPT_HEADERDATA_, context);
    if (code == CURLE_OK_) code = set(handle, CURLOPT_WRITEFUNCTION_, body);
    if (code == CURLE_OK_) code = set(handle, CURLOPT_WRITEDATA_, context);
    if (code == CURLE_OK_) code = set(handle, CURLOPT_OPENSOCKETFUNCTION_, open);
    if (code == CURLE_OK_) code = set(handle, CURLOPT_OPENSOCKETDATA_, context);
    return code;
}

static inline long curl_response_status_(const struct curl_library_ *library, void *handle) {
    long status = 0;
    ((int (*)(void *, int, ...))library->easy_getinfo)(handle, CURLINFO_RESPONSE_CODE_, &status);
    return status;
}

#endif
