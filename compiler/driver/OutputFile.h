// Writes output files atomically.

#ifndef RECIPEC_DRIVER_OUTPUTFILE_H
#define RECIPEC_DRIVER_OUTPUTFILE_H

#include <iosfwd>
#include <string>

namespace recipec::driver {

/// Writes `text` to a temporary file in the target's folder and renames it over
/// the target. An existing file keeps its permissions; a symbolic link keeps
/// pointing to its target. On failure returns false with a message in `err`,
/// and removes the temporary file. Pipes, devices and other special files are
/// written directly.
bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err);

/// Whether the path is standard output: `-`, or a name of the file that
/// descriptor 1 has open, for example `/dev/stdout`.
bool isStandardOutput(const std::string& path);

/// Whether both paths name one file, after following symbolic links.
bool isSameFile(const std::string& left, const std::string& right);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_OUTPUTFILE_H
