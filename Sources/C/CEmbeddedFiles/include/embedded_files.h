#pragma once
#include <stddef.h>
#include <stdint.h>

/// A file that the binary contains; its memory is constant.
struct embedded_file {
    const char *path;
    const uint8_t *bytes;
    size_t count;
};

/// Sources/Registry/RegistryAPI/openapi.json.
struct embedded_file openapi_document(void);

/// The number of files in Sources/Registry/Console/Served that browsers get.
size_t console_files_count(void);

/// The file at an index below console_files_count(). Its path is relative to that folder.
struct embedded_file console_file_at(size_t index);
