// The files of a source that may have several.

#ifndef RECIPERUN_DATA_SOURCEFILES_H
#define RECIPERUN_DATA_SOURCEFILES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace reciperun::data {

/// Resolves the paths of a source, in the given order, to files. A path that
/// exists is that file, or all files of that folder and its subfolders; any
/// other path is a pattern of glob(7). The files of a folder or pattern are
/// sorted by their names' bytes; names that begin with a dot or end in
/// `ignoredSuffix` are skipped. Fails for a path without files.
Expected<std::vector<std::string>>
filesOf(const std::vector<std::string>& paths,
        const std::string& ignoredSuffix = {});

/// The files as in messages: "`a.txt`", "`a.txt` and 3 more files".
std::string filesText(const std::vector<std::string>& files);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_SOURCEFILES_H
