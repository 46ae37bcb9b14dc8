// Files that recipec writes: whole or not at all.

#ifndef RECIPEC_DRIVER_OUTPUTFILE_H
#define RECIPEC_DRIVER_OUTPUTFILE_H

#include <iosfwd>
#include <string>

namespace recipec::driver {

/// Writes `text` beside the file that `path` names, through links, and renames
/// it over: a file that is there keeps its permissions, a link its target.
/// False, with a message to `err`, where that fails; then nothing of it is
/// left. What is no regular file (a pipe, `/dev/null`) is written to directly.
bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err);

/// Whether the path is the standard output's: `-`, or a name of what descriptor
/// 1 has open, as `/dev/stdout`.
bool isStandardOutput(const std::string& path);

/// Whether both paths name one file, through any links.
bool isSameFile(const std::string& left, const std::string& right);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_OUTPUTFILE_H
