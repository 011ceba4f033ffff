#include "embedded_files.h"

// An array literal of Swift of 200 KiB takes the compiler half a minute; this takes it a fifth of a second.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t openapi[] = {
#embed "../../Registry/RegistryAPI/openapi.json"
};

static const uint8_t page[] = {
#embed "../../Registry/Console/Served/index.html"
};

static const uint8_t script[] = {
#embed "../../Registry/Console/Served/app.js"
};

static const uint8_t style[] = {
#embed "../../Registry/Console/Served/style.css"
};

static const uint8_t icon[] = {
#embed "../../Registry/Console/Served/icon.svg"
};

static const struct embedded_file console[] = {
    {"app.js", script, sizeof script},
    {"icon.svg", icon, sizeof icon},
    {"index.html", page, sizeof page},
    {"style.css", style, sizeof style},
};

struct embedded_file openapi_document(void) { return (struct embedded_file){"openapi.json", openapi, sizeof openapi}; }

size_t console_files_count(void) { return sizeof console / sizeof *console; }

struct embedded_file console_file_at(size_t index) { return console[index]; }
