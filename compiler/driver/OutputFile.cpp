// 1. Follow the symbolic links of the path to the file, which may not exist
//    yet.
// 2. Write a temporary file in the same folder, with access only for the owner
//    until it gets its permissions.
// 3. Rename it.

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

/// The file that a path names after following symbolic links. The last link may
/// lead to a missing file.
fs::path targetOf(fs::path path, std::error_code& error) {
  constexpr int mostLinks = 40; // the limit of Linux
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
  error.clear(); // the target does not exist
  return path;
}

/// Writes all of the text and closes the file.
std::error_code writeAll(llvm::raw_fd_ostream& out, const std::string& text) {
  out << text;
  out.close();
  std::error_code error = out.error();
  out.clear_error(); // an unhandled error would abort the program
  return error;
}

std::error_code writeDirectly(const std::string& path,
                              const std::string& text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error, file::CD_OpenExisting, file::FA_Write,
                           file::OF_None);
  return error ? error : writeAll(out, text);
}

/// The file keeps the permissions of the one that it replaces. A new file gets
/// the process's default permissions.
std::error_code replace(const fs::path& target, const std::string& text) {
  const std::string aside =
      target.parent_path() / (".recipec-" + std::to_string(getpid()) + ".part");
  file::remove(aside); // left by an earlier process with the same id
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
  const std::string folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !fs::exists(folder, ignored))
    err << "help: there is no folder `" << folder
        << "`: make it first, `mkdir -p " << folder << "`\n";
  else if (error == std::errc::permission_denied ||
           error == std::errc::read_only_file_system)
    err << "help: name a file in a folder that you may write to\n";
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
