// `check --fix`: the fix-its that surely do what was meant.

#ifndef RECIPEC_DRIVER_FIXES_H
#define RECIPEC_DRIVER_FIXES_H

#include "compiler/diag/Diagnostic.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// A file of the user with its fix-its applied.
struct FixedFile {
  std::string path;
  std::string text;
  /// `` FILE:LINE:COL: `before` -> `after` ``, in order of place.
  std::vector<std::string> changes;
};

/// The texts that the safe fix-its of the diagnostics make. Of two that overlap
/// the first is applied. Neither the standard library nor the command line nor
/// imported data is touched; all other bytes stay as they are.
std::vector<FixedFile> applySafeFixes(const diag::Engine& engine,
                                      const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_FIXES_H
