# Settings and log: the base of the library.
weft_test(config_test LABELS quick TIMEOUT 30 SOURCES config_test.cc)
weft_test(config_parse_test LABELS quick TIMEOUT 30 SOURCES config_parse_test.cc)
weft_test(log_test LABELS quick TIMEOUT 60 SOURCES log_test.cc)
weft_test(settings_doc_test LABELS quick TIMEOUT 30 SOURCES settings_doc_test.cc)
target_compile_definitions(settings_doc_test PRIVATE SETTINGS_DOC="${PROJECT_SOURCE_DIR}/docs/settings.md")
