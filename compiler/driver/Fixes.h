// Fix-its in texts: those that `check --fix` makes, and those that are tried.

#ifndef RECIPEC_DRIVER_FIXES_H
#define RECIPEC_DRIVER_FIXES_H

#include "compiler/diag/Diagnostic.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::driver {

/// A text with edits made, and where they stand in it.
struct EditedText {
  std::string text;
  /// Each edit that was made, in the order of the text, and the range of its
  /// replacement. Of two that overlap only the first is made.
  std::vector<std::pair<const diag::FixIt*, SourceRange>> made;
};

/// Edits that are all of one source, whose text is given.
EditedText edited(std::string_view text,
                  std::vector<const diag::FixIt*> fixIts);

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
