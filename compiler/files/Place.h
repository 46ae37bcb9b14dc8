// A path of a recipe: where it is written, what it resolves to, and the
// messages about it.

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
  std::string resolved; // relative to the working folder
  std::string folder;   // the base of relative paths
  SourceRange range;    // of the user's value
};

/// Whether a path holds wildcards of glob(7).
bool isPattern(const std::string& path);

/// The range of the value of `setting`. In a list or a source, the range of the
/// string `written`.
SourceRange rangeOf(const recipe::Recipe& recipe, const std::string& setting,
                    const std::string& written);

/// The folder of the recipe file, if a relative path leads to an existing file
/// from there and this folder is not the base of relative paths; else empty.
std::string folderOfFile(const Place& place, const SourceMap& sources);

/// Reports that a path cannot be read because of `cause`. The helps name the
/// folder that was searched and a similar name, and say what to write in place
/// of `~`, a name on the Hugging Face Hub, or a tokenizer's folder.
void reportMissing(diag::Engine& engine, const Place& place,
                   const std::string& cause);

/// How transformers writes a `tokenizer.json` into a folder that lacks it.
std::string writesTokenizer(const std::string& folder);

/// How to download a file from an address on the Internet.
std::string helpWithAddress(const Place& place);

/// The existing path that differs from a missing one in one similar name, spelt
/// as the user would write it. Empty if no name is similar.
std::string nearestPath(const Place& place);

} // namespace recipec::files

#endif // RECIPEC_FILES_PLACE_H
