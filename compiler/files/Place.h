// A path of a recipe: where it is written, where it leads, and what to say of
// it.

#ifndef RECIPEC_FILES_PLACE_H
#define RECIPEC_FILES_PLACE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

#include <string>

namespace recipec::files {

/// A setting of a recipe that names a path.
struct Place {
  std::string setting;  // `data.train`
  std::string written;  // as the user wrote it
  std::string resolved; // as seen from the working folder
  std::string folder;   // in which relative paths start
  SourceRange range;    // of the user's value
};

/// Whether a path holds characters of a pattern of glob(7).
bool isPattern(const std::string& path);

/// The value of `setting`, or of its field `path`; of a list the element that
/// is `written`.
SourceRange rangeOf(const recipe::Recipe& recipe, const std::string& setting,
                    const std::string& written);

/// Reports that the path cannot be read, for `cause`: in which folder it was
/// looked for, which name there is near, and what to write for `~`, a name of
/// the Hugging Face Hub or the folder of a tokenizer.
void reportMissing(diag::Engine& engine, const Place& place,
                   const std::string& cause);

/// The existing path nearest to one that does not exist, as it would be
/// written: one of its names replaced. Empty where none is near.
std::string nearestPath(const Place& place);

} // namespace recipec::files

#endif // RECIPEC_FILES_PLACE_H
