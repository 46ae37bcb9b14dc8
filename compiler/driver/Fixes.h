// Applies fix-its to texts, for `check --fix` and for trial compilations.

#ifndef RECIPEC_DRIVER_FIXES_H
#define RECIPEC_DRIVER_FIXES_H

#include "compiler/diag/Diagnostic.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::driver {

/// A text after edits, and the positions of the edits in it.
struct EditedText {
  std::string text;
  /// Each applied edit in the order of the text, with the range of its
  /// replacement. Of two overlapping edits only the first is applied.
  std::vector<std::pair<const diag::FixIt*, SourceRange>> made;
};

/// Applies edits to `text`. All edits must be of one source, the one of `text`.
EditedText edited(std::string_view text,
                  std::vector<const diag::FixIt*> fixIts);

/// The range in the text before edits, of which `places` has the ranges behind
/// them; nullopt inside of an edit.
std::optional<SourceRange>
beforeEdits(const std::map<const diag::FixIt*, SourceRange>& places,
            SourceRange range);

/// `text` with the one occurrence of a word replaced; empty where it occurs
/// several times, or never.
std::string replacedOnce(std::string text, const std::string& word,
                         const std::string& replacement);

/// A user's file after its fix-its.
struct FixedFile {
  std::string path;
  std::string text;
  /// `` FILE:LINE:COL: `before` -> `after` ``, in order of place.
  std::vector<std::string> changes;
};

/// Applies the safe fix-its of the diagnostics to the user's recipe files. Of
/// two overlapping ones the first is applied. The standard library, the command
/// line and imported data are not changed; all other bytes stay as they are.
std::vector<FixedFile> applySafeFixes(const diag::Engine& engine,
                                      const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_FIXES_H
