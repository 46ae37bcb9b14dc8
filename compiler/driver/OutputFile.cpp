// 1. Follow the links of the path to the file, which may not be there yet.
// 2. Write beside it, readable by nobody else until it has its permissions.
// 3. Rename.

#include "compiler/driver/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <unistd.h>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;
namespace file = llvm::sys::fs;

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

/// Writes all of the text and closes the file.
std::error_code writeAll(llvm::raw_fd_ostream& out, const std::string& text) {
  out << text;
  out.close();
  std::error_code error = out.error();
  out.clear_error(); // else its end would be the program's
  return error;
}

std::error_code writeDirectly(const std::string& path,
                              const std::string& text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error, file::CD_OpenExisting, file::FA_Write,
                           file::OF_None);
  return error ? error : writeAll(out, text);
}

/// The file keeps the permissions of the one that it replaces; a new one has
/// what the process gives to files.
std::error_code replace(const fs::path& target, const std::string& text) {
  const std::string aside =
      target.parent_path() / (".recipec-" + std::to_string(getpid()) + ".part");
  file::remove(aside); // of a process long gone that had this number
  const auto kept = file::getPermissions(target.string());
  const unsigned mode = kept ? file::owner_read | file::owner_write
                             : file::all_read | file::all_write;
  int descriptor = -1;
  std::error_code error = file::openFileForWrite(
      aside, descriptor, file::CD_CreateNew, file::OF_None, mode);
  if (error)
    return error;
  llvm::FileRemover remover(aside);
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  if (kept)
    error = file::setPermissions(descriptor, *kept);
  if (std::error_code written = writeAll(out, text); !error)
    error = written;
  if (!error)
    error = file::rename(aside, target.string());
  if (!error)
    remover.releaseFile();
  return error;
}

} // namespace

bool writeOutput(const std::string& path, const std::string& text,
                 std::ostream& err) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  bool isDirect = fs::exists(status) && !fs::is_regular_file(status);
  fs::path target = isDirect ? fs::path() : targetOf(path, error);
  if (isDirect)
    error = writeDirectly(path, text);
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
  file::file_status named, standard;
  return !file::status(path, named) && !file::status(STDOUT_FILENO, standard) &&
         file::equivalent(named, standard);
}

bool isSameFile(const std::string& left, const std::string& right) {
  return file::equivalent(left, right);
}

} // namespace recipec::driver
