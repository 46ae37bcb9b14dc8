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

fs::path asideOf(fs::path path) {
  path += ".part-" + std::to_string(getpid());
  return path;
}

void discard(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

/// False, with a message, where there is an error.
bool finish(const std::string& path, const std::error_code& error,
            std::ostream& err) {
  if (!error)
    return true;
  err << "error: cannot write `" << path << "`: " << error.message() << '\n';
  return false;
}

} // namespace

bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  bool isDirect = fs::exists(status) && !fs::is_regular_file(status) &&
                  !fs::is_directory(status);
  if (isDirect)
    return finish(path, write(path, text), err);
  fs::path aside = asideOf(path);
  error = write(aside, text);
  if (!error)
    fs::rename(aside, path, error);
  if (error)
    discard(aside);
  return finish(path, error, err);
}

bool replaceFile(const std::string& path, const std::string& text,
                 std::ostream& err) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  fs::path aside = asideOf(target);
  if (!error)
    error = write(aside, text);
  if (!error)
    fs::permissions(aside, fs::status(target).permissions(), error);
  if (!error)
    fs::rename(aside, target, error);
  if (error && !target.empty())
    discard(aside);
  return finish(path, error, err);
}

} // namespace recipec::driver
