// 1. Follow the links of the path to the file, which may not be there yet.
// 2. Write beside it, readable by nobody else until it has its permissions.
// 3. Rename.

#include "compiler/driver/OutputFile.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <ostream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

std::error_code lastError() {
  return {errno, std::generic_category()};
}

/// The file that a path stands for: links are followed also where the last of
/// them leads to nothing.
fs::path targetOf(fs::path path, std::error_code& error) {
  constexpr int mostLinks = 40; // as many as Linux follows
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error));
       ++links) {
    if (links == mostLinks) {
      error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
      return path;
    }
    fs::path next = fs::read_symlink(path, error);
    if (error)
      return path;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  error.clear(); // of a file that is not there
  return path;
}

/// Writes all of the text and closes the descriptor.
std::error_code writeAll(int descriptor, const std::string& text) {
  std::error_code error;
  for (size_t at = 0; at < text.size() && !error;) {
    ssize_t count = write(descriptor, text.data() + at, text.size() - at);
    if (count >= 0)
      at += size_t(count);
    else if (errno != EINTR)
      error = lastError();
  }
  if (close(descriptor) != 0 && !error)
    error = lastError();
  return error;
}

std::error_code writeDirectly(const fs::path& path, const std::string& text) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  return descriptor < 0 ? lastError() : writeAll(descriptor, text);
}

/// The permissions of the file that is replaced, of a new one what the process
/// gives to files.
mode_t modeFor(const fs::path& target) {
  struct stat status {};
  if (stat(target.c_str(), &status) == 0)
    return status.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

std::error_code replace(const fs::path& target, const std::string& text) {
  fs::path aside =
      target.parent_path() / (".recipec-" + std::to_string(getpid()) + ".part");
  unlink(aside.c_str()); // of a process long gone that had this number
  int descriptor = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        S_IRUSR | S_IWUSR);
  if (descriptor < 0)
    return lastError();
  std::error_code error;
  if (fchmod(descriptor, modeFor(target)) != 0)
    error = lastError();
  if (std::error_code written = writeAll(descriptor, text); !error)
    error = written;
  if (!error && rename(aside.c_str(), target.c_str()) != 0)
    error = lastError();
  if (error)
    unlink(aside.c_str());
  return error;
}

} // namespace

bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  bool isDirect = fs::exists(status) && !fs::is_regular_file(status);
  fs::path target = isDirect ? fs::path(path) : targetOf(path, error);
  if (isDirect)
    error = writeDirectly(target, text);
  else if (!error)
    error = replace(target, text);
  if (!error)
    return true;
  err << "error: cannot write `" << path << "`: " << error.message() << '\n';
  return false;
}

bool isStandardOutput(const std::string& path) {
  if (path == "-")
    return true;
  struct stat named {
  }, standard{};
  return stat(path.c_str(), &named) == 0 &&
         fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

bool isSameFile(const std::string& left, const std::string& right) {
  std::error_code error;
  return fs::equivalent(left, right, error) && !error;
}

} // namespace recipec::driver
