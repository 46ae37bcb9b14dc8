// Writes aside and renames.

#include "compiler/driver/OutputFile.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>
#include <unistd.h>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

std::error_code write(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (stream)
    return {};
  return {errno ? errno : EIO, std::generic_category()};
}

} // namespace

bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  bool isDirect = fs::exists(status) && !fs::is_regular_file(status) &&
                  !fs::is_directory(status);
  if (isDirect) {
    error = write(path, text);
  } else {
    fs::path aside = path;
    aside += ".part-" + std::to_string(getpid());
    error = write(aside, text);
    if (!error)
      fs::rename(aside, path, error);
    if (error) {
      std::error_code ignored;
      fs::remove(aside, ignored);
    }
  }
  if (!error)
    return true;
  err << "error: cannot write `" << path << "`: " << error.message() << '\n';
  return false;
}

} // namespace recipec::driver
