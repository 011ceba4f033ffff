// Written by .ci/console-files: a test compares it with the folder.

#include "console_files.h"

// An array literal of Swift of 200 KiB takes the compiler half a minute; this takes it a fifth of a second.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t file_app_js[] = {
#embed "../ConsoleFiles/Files/app.js"
};

static const uint8_t file_index_html[] = {
#embed "../ConsoleFiles/Files/index.html"
};

static const struct console_file files[] = {
    {"app.js", file_app_js, sizeof file_app_js},
    {"index.html", file_index_html, sizeof file_index_html},
};

size_t console_files_count(void) { return sizeof files / sizeof *files; }

struct console_file console_file_at(size_t index) { return files[index]; }
