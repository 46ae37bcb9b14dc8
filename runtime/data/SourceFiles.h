// The files of a source that may have several.

#ifndef RECIPERUN_DATA_SOURCEFILES_H
#define RECIPERUN_DATA_SOURCEFILES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace reciperun::data {

/// Resolves the paths of a source, in the given order, to files: a path that
/// exists is that file, or all files of that folder and the folders in it; any
/// other is a pattern of glob(7). The files of a folder or pattern are ordered
/// by their names' bytes; those whose name begins with a dot or ends in
/// `ignoredSuffix` are left out. Fails for a path that leads to no file.
Expected<std::vector<std::string>>
filesOf(const std::vector<std::string>& paths,
        const std::string& ignoredSuffix = {});

/// How messages call them: "`a.txt`", "`a.txt` and 3 more files".
std::string filesText(const std::vector<std::string>& files);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_SOURCEFILES_H
