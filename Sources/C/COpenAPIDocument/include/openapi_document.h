#pragma once
#include <stddef.h>
#include <stdint.h>

/// The content of Sources/Registry/OpenAPIDocument/openapi.json; its memory is constant.
const uint8_t *openapi_document_bytes(void);

size_t openapi_document_count(void);
