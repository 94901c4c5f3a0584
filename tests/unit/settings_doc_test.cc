// docs/settings.md is made from the table of settings. This test fails when it is out of date; with
// WEFT_UPDATE_DOCS=1 it writes the file instead.
#include <gtest/gtest.h>

#include <cstdlib>

#include "config.h"
#include "scoped_log.h"

namespace weft {
namespace {

// A '|' would end a column.
std::string cell(const std::string& text) {
  std::string escaped;
  for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string document() {
  std::string text =
      "# Settings\n\n"
      "Made from the table in `src/config_table.cc`; do not edit (`WEFT_UPDATE_DOCS=1 ctest -R "
      "settings_doc_test`).\n\n"
      "A value comes from the environment, else from the file that `NCCL_CONF_FILE` names (without "
      "it `~/.rccl.conf`,\n"
      "then `~/.nccl.conf`), else from `/etc/rccl.conf`, else from `/etc/nccl.conf`. Files hold "
      "one `NAME=VALUE` a line.\n"
      "Settings of a communicator are read when it is created, so a later change reaches the next "
      "communicator. A value\n"
      "of another form is refused with `ncclInvalidUsage`; a number out of range is refused or "
      "brought into the range\n"
      "with a warning. `NCCL_DEBUG_SUBSYS=ENV` with `NCCL_DEBUG=INFO` shows what was read and from "
      "where.\n\n"
      "| Name | Type | Allowed | Default | Scope | |\n|---|---|---|---|---|---|\n";
  for (const SettingInfo& info : list_settings()) {
    std::string name = "`" + info.name + "`";
    if (!info.aliases.empty()) name += ", `" + info.aliases + "`";
    std::string standard = info.default_text.empty() ? "not set" : info.default_text;
    text += "| " + name + " | " + info.type + " | " + cell(info.range) + " | " + standard + " | " +
            info.scope + " | " + cell(info.help) + " |\n";
  }
  return text;
}

TEST(SettingsDoc, IsUpToDate) {
  if (getenv("WEFT_UPDATE_DOCS")) std::ofstream(SETTINGS_DOC) << document();
  EXPECT_EQ(read_text(SETTINGS_DOC), document()) << "run this test with WEFT_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace weft
