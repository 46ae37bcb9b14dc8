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

/// Applies edits to `text`. All edits must be of the source of `text`.
EditedText edited(std::string_view text,
                  std::vector<const diag::FixIt*> fixIts);

/// Maps a range after the edits back to the text before them. `places` has the
/// ranges of the edits after they are applied. Returns nullopt for a range
/// inside an edit.
std::optional<SourceRange>
beforeEdits(const std::map<const diag::FixIt*, SourceRange>& places,
            SourceRange range);

/// `text` with the only occurrence of a word replaced; empty if the word does
/// not occur exactly once.
std::string replacedOnce(std::string text, const std::string& word,
                         const std::string& replacement);

/// A user's file after its fix-its.
struct FixedFile {
  std::string path;
  std::string text;
  /// `` FILE:LINE:COL: `before` -> `after` ``, in order of place.
  std::vector<std::string> changes;
};

/// Applies the safe fix-its of the diagnostics to the user's recipe files. If
/// two overlap, applies only the first. Does not change the standard library,
/// the command line and imported data.
std::vector<FixedFile> applySafeFixes(const diag::Engine& engine,
                                      const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_FIXES_H
