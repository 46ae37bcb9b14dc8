// Texts that recipec reads.

#ifndef RECIPEC_DRIVER_INPUTFILE_H
#define RECIPEC_DRIVER_INPUTFILE_H

#include <cstddef>
#include <optional>
#include <string>

namespace recipec::driver {

/// The bytes of a file, or why there are none.
struct InputText {
  std::optional<std::string> text;
  bool isMissing = false; // there is no such file
  std::string reason;     // as "it is a folder"
};

/// Reads a file of at most so many bytes; more are not taken into memory, since
/// a device may never end. `-` is the standard input where the caller says so.
InputText readInput(const std::string& path, size_t mostBytes,
                    bool isStandardInput = false);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_INPUTFILE_H
