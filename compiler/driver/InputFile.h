// Reads input files.

#ifndef RECIPEC_DRIVER_INPUTFILE_H
#define RECIPEC_DRIVER_INPUTFILE_H

#include <cstddef>
#include <optional>
#include <string>

namespace recipec::driver {

/// The bytes of a file, or the reason why it cannot be read.
struct InputText {
  std::optional<std::string> text;
  bool isMissing = false; // the file does not exist
  std::string reason;     // for example "it is a folder"
};

/// Reads a file of at most `mostBytes` bytes. It does not read more than that,
/// because a device may never end. With `isStandardInput` it reads standard
/// input.
InputText readInput(const std::string& path, size_t mostBytes,
                    bool isStandardInput = false);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_INPUTFILE_H
