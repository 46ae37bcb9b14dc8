// The settings that clients read and change, one store for all protocols.

#ifndef RECIPERUN_SERVER_SETTINGS_SETTINGSTORE_H
#define RECIPERUN_SERVER_SETTINGS_SETTINGSTORE_H

#include "runtime/server/settings/LogSettings.h"
#include "runtime/server/settings/TraceSettings.h"

namespace reciperun::server {

/// Belongs to the server's thread.
struct SettingStore {
  TraceSettings traces;
  LogStore log;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SETTINGS_SETTINGSTORE_H
