// Files that recipec writes: whole or not at all.

#ifndef RECIPEC_DRIVER_OUTPUTFILE_H
#define RECIPEC_DRIVER_OUTPUTFILE_H

#include <iosfwd>
#include <string>

namespace recipec::driver {

/// Writes `text` beside `path` and renames it over. False, with a message to
/// `err`, where that fails; then nothing of it is left. What is no regular file
/// (a pipe, `/dev/null`) is written to directly.
bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err);

/// The same for a file of the user that is there: it keeps its permissions, and
/// a link its target.
bool replaceFile(const std::string& path, const std::string& text,
                 std::ostream& err);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_OUTPUTFILE_H
