#pragma once
#include <stddef.h>
#include <stdint.h>

/// A file of Sources/Registry/ConsoleFiles/Files. Its path is relative to that folder.
struct console_file {
    const char *path;
    const uint8_t *bytes;
    size_t count;
};

size_t console_files_count(void);

/// The file at an index below console_files_count(); its memory is constant.
struct console_file console_file_at(size_t index);
