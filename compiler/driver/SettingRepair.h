// Corrects an argument of `--set` that is not `PATH=VALUE` in the syntax of the
// language.

#ifndef RECIPEC_DRIVER_SETTINGREPAIR_H
#define RECIPEC_DRIVER_SETTINGREPAIR_H

#include "compiler/driver/Loader.h"

namespace recipec::driver {

/// Reports the errors `found` in a wrong argument, the source `source`, with a
/// help that shows the corrected argument.
void reportWrongSetting(SourceMap& sources, SourceId source,
                        const diag::Engine& found, FileLoader& loader,
                        diag::Engine& engine);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SETTINGREPAIR_H
