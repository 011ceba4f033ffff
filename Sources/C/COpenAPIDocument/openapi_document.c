#include "openapi_document.h"

// An array literal of Swift of this size takes the compiler more than a minute; this takes it a fifth of a second.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t document[] = {
#embed "../../Registry/OpenAPIDocument/openapi.json"
};

const uint8_t *openapi_document_bytes(void) { return document; }

size_t openapi_document_count(void) { return sizeof document; }
