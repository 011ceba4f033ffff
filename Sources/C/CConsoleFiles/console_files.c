// Written by .ci/console-files: a test compares it with the folder.

#include "console_files.h"

// An array literal of Swift of 200 KiB takes the compiler half a minute; this takes it a fifth of a second.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t file_app_js[] = {
#embed "../../Registry/ConsoleFiles/Files/app.js"
};

static const uint8_t file_builder_builder_js[] = {
#embed "../../Registry/ConsoleFiles/Files/builder/builder.js"
};

static const uint8_t file_builder_combobox_js[] = {
#embed "../../Registry/ConsoleFiles/Files/builder/combobox.js"
};

static const uint8_t file_builder_json_js[] = {
#embed "../../Registry/ConsoleFiles/Files/builder/json.js"
};

static const uint8_t file_builder_rows_js[] = {
#embed "../../Registry/ConsoleFiles/Files/builder/rows.js"
};

static const uint8_t file_builder_values_js[] = {
#embed "../../Registry/ConsoleFiles/Files/builder/values.js"
};

static const uint8_t file_core_audience_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/audience.js"
};

static const uint8_t file_core_client_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/client.js"
};

static const uint8_t file_core_dom_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/dom.js"
};

static const uint8_t file_core_panels_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/panels.js"
};

static const uint8_t file_core_router_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/router.js"
};

static const uint8_t file_core_screen_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/screen.js"
};

static const uint8_t file_core_screens_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/screens.js"
};

static const uint8_t file_core_session_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/session.js"
};

static const uint8_t file_core_shell_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/shell.js"
};

static const uint8_t file_core_text_js[] = {
#embed "../../Registry/ConsoleFiles/Files/core/text.js"
};

static const uint8_t file_filter_counting_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/counting.js"
};

static const uint8_t file_filter_edits_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/edits.js"
};

static const uint8_t file_filter_fields_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/fields.js"
};

static const uint8_t file_filter_labels_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/labels.js"
};

static const uint8_t file_filter_saving_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/saving.js"
};

static const uint8_t file_filter_suggestions_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/suggestions.js"
};

static const uint8_t file_filter_summary_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/summary.js"
};

static const uint8_t file_filter_tree_js[] = {
#embed "../../Registry/ConsoleFiles/Files/filter/tree.js"
};

static const uint8_t file_icon_svg[] = {
#embed "../../Registry/ConsoleFiles/Files/icon.svg"
};

static const uint8_t file_index_html[] = {
#embed "../../Registry/ConsoleFiles/Files/index.html"
};

static const uint8_t file_parts_bars_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/bars.js"
};

static const uint8_t file_parts_dialog_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/dialog.js"
};

static const uint8_t file_parts_facts_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/facts.js"
};

static const uint8_t file_parts_menu_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/menu.js"
};

static const uint8_t file_parts_table_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/table.js"
};

static const uint8_t file_parts_toast_js[] = {
#embed "../../Registry/ConsoleFiles/Files/parts/toast.js"
};

static const uint8_t file_screens_audience_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/audience.js"
};

static const uint8_t file_screens_breakdown_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/breakdown.js"
};

static const uint8_t file_screens_breakdown_picture_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/breakdown/picture.js"
};

static const uint8_t file_screens_breakdown_pivot_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/breakdown/pivot.js"
};

static const uint8_t file_screens_export_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/export.js"
};

static const uint8_t file_screens_lookup_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/lookup.js"
};

static const uint8_t file_screens_lookup_rules_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/lookup/rules.js"
};

static const uint8_t file_screens_lookup_views_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/lookup/views.js"
};

static const uint8_t file_screens_messages_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/messages.js"
};

static const uint8_t file_screens_operations_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/operations.js"
};

static const uint8_t file_screens_operations_keys_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/operations/keys.js"
};

static const uint8_t file_screens_operations_policy_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/operations/policy.js"
};

static const uint8_t file_screens_segments_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/segments.js"
};

static const uint8_t file_screens_signin_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/signin.js"
};

static const uint8_t file_screens_topics_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/topics.js"
};

static const uint8_t file_screens_waves_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/waves.js"
};

static const uint8_t file_screens_world_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/world.js"
};

static const uint8_t file_screens_world_coast_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/world/coast.js"
};

static const uint8_t file_screens_world_offsets_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/world/offsets.js"
};

static const uint8_t file_screens_world_zones_js[] = {
#embed "../../Registry/ConsoleFiles/Files/screens/world/zones.js"
};

static const uint8_t file_style_css[] = {
#embed "../../Registry/ConsoleFiles/Files/style.css"
};

static const uint8_t file_style_audiences_css[] = {
#embed "../../Registry/ConsoleFiles/Files/style/audiences.css"
};

static const uint8_t file_style_page_css[] = {
#embed "../../Registry/ConsoleFiles/Files/style/page.css"
};

static const uint8_t file_style_parts_css[] = {
#embed "../../Registry/ConsoleFiles/Files/style/parts.css"
};

static const uint8_t file_style_views_css[] = {
#embed "../../Registry/ConsoleFiles/Files/style/views.css"
};

static const uint8_t file_text_audience_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/audience.js"
};

static const uint8_t file_text_filter_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/filter.js"
};

static const uint8_t file_text_frame_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/frame.js"
};

static const uint8_t file_text_lookup_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/lookup.js"
};

static const uint8_t file_text_message_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/message.js"
};

static const uint8_t file_text_operations_js[] = {
#embed "../../Registry/ConsoleFiles/Files/text/operations.js"
};

static const struct console_file files[] = {
    {"app.js", file_app_js, sizeof file_app_js},
    {"builder/builder.js", file_builder_builder_js, sizeof file_builder_builder_js},
    {"builder/combobox.js", file_builder_combobox_js, sizeof file_builder_combobox_js},
    {"builder/json.js", file_builder_json_js, sizeof file_builder_json_js},
    {"builder/rows.js", file_builder_rows_js, sizeof file_builder_rows_js},
    {"builder/values.js", file_builder_values_js, sizeof file_builder_values_js},
    {"core/audience.js", file_core_audience_js, sizeof file_core_audience_js},
    {"core/client.js", file_core_client_js, sizeof file_core_client_js},
    {"core/dom.js", file_core_dom_js, sizeof file_core_dom_js},
    {"core/panels.js", file_core_panels_js, sizeof file_core_panels_js},
    {"core/router.js", file_core_router_js, sizeof file_core_router_js},
    {"core/screen.js", file_core_screen_js, sizeof file_core_screen_js},
    {"core/screens.js", file_core_screens_js, sizeof file_core_screens_js},
    {"core/session.js", file_core_session_js, sizeof file_core_session_js},
    {"core/shell.js", file_core_shell_js, sizeof file_core_shell_js},
    {"core/text.js", file_core_text_js, sizeof file_core_text_js},
    {"filter/counting.js", file_filter_counting_js, sizeof file_filter_counting_js},
    {"filter/edits.js", file_filter_edits_js, sizeof file_filter_edits_js},
    {"filter/fields.js", file_filter_fields_js, sizeof file_filter_fields_js},
    {"filter/labels.js", file_filter_labels_js, sizeof file_filter_labels_js},
    {"filter/saving.js", file_filter_saving_js, sizeof file_filter_saving_js},
    {"filter/suggestions.js", file_filter_suggestions_js, sizeof file_filter_suggestions_js},
    {"filter/summary.js", file_filter_summary_js, sizeof file_filter_summary_js},
    {"filter/tree.js", file_filter_tree_js, sizeof file_filter_tree_js},
    {"icon.svg", file_icon_svg, sizeof file_icon_svg},
    {"index.html", file_index_html, sizeof file_index_html},
    {"parts/bars.js", file_parts_bars_js, sizeof file_parts_bars_js},
    {"parts/dialog.js", file_parts_dialog_js, sizeof file_parts_dialog_js},
    {"parts/facts.js", file_parts_facts_js, sizeof file_parts_facts_js},
    {"parts/menu.js", file_parts_menu_js, sizeof file_parts_menu_js},
    {"parts/table.js", file_parts_table_js, sizeof file_parts_table_js},
    {"parts/toast.js", file_parts_toast_js, sizeof file_parts_toast_js},
    {"screens/audience.js", file_screens_audience_js, sizeof file_screens_audience_js},
    {"screens/breakdown.js", file_screens_breakdown_js, sizeof file_screens_breakdown_js},
    {"screens/breakdown/picture.js", file_screens_breakdown_picture_js, sizeof file_screens_breakdown_picture_js},
    {"screens/breakdown/pivot.js", file_screens_breakdown_pivot_js, sizeof file_screens_breakdown_pivot_js},
    {"screens/export.js", file_screens_export_js, sizeof file_screens_export_js},
    {"screens/lookup.js", file_screens_lookup_js, sizeof file_screens_lookup_js},
    {"screens/lookup/rules.js", file_screens_lookup_rules_js, sizeof file_screens_lookup_rules_js},
    {"screens/lookup/views.js", file_screens_lookup_views_js, sizeof file_screens_lookup_views_js},
    {"screens/messages.js", file_screens_messages_js, sizeof file_screens_messages_js},
    {"screens/operations.js", file_screens_operations_js, sizeof file_screens_operations_js},
    {"screens/operations/keys.js", file_screens_operations_keys_js, sizeof file_screens_operations_keys_js},
    {"screens/operations/policy.js", file_screens_operations_policy_js, sizeof file_screens_operations_policy_js},
    {"screens/segments.js", file_screens_segments_js, sizeof file_screens_segments_js},
    {"screens/signin.js", file_screens_signin_js, sizeof file_screens_signin_js},
    {"screens/topics.js", file_screens_topics_js, sizeof file_screens_topics_js},
    {"screens/waves.js", file_screens_waves_js, sizeof file_screens_waves_js},
    {"screens/world.js", file_screens_world_js, sizeof file_screens_world_js},
    {"screens/world/coast.js", file_screens_world_coast_js, sizeof file_screens_world_coast_js},
    {"screens/world/offsets.js", file_screens_world_offsets_js, sizeof file_screens_world_offsets_js},
    {"screens/world/zones.js", file_screens_world_zones_js, sizeof file_screens_world_zones_js},
    {"style.css", file_style_css, sizeof file_style_css},
    {"style/audiences.css", file_style_audiences_css, sizeof file_style_audiences_css},
    {"style/page.css", file_style_page_css, sizeof file_style_page_css},
    {"style/parts.css", file_style_parts_css, sizeof file_style_parts_css},
    {"style/views.css", file_style_views_css, sizeof file_style_views_css},
    {"text/audience.js", file_text_audience_js, sizeof file_text_audience_js},
    {"text/filter.js", file_text_filter_js, sizeof file_text_filter_js},
    {"text/frame.js", file_text_frame_js, sizeof file_text_frame_js},
    {"text/lookup.js", file_text_lookup_js, sizeof file_text_lookup_js},
    {"text/message.js", file_text_message_js, sizeof file_text_message_js},
    {"text/operations.js", file_text_operations_js, sizeof file_text_operations_js},
};

size_t console_files_count(void) { return sizeof files / sizeof *files; }

struct console_file console_file_at(size_t index) { return files[index]; }
