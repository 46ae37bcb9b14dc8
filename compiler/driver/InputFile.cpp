// Reads whole files up to a limit.

#include "compiler/driver/InputFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace recipec::driver {
namespace {

InputText failure(int error) {
  return {std::nullopt, error == ENOENT || error == ENOTDIR,
          std::strerror(error)};
}

InputText readDescriptor(int descriptor, size_t mostBytes) {
  std::string text;
  char chunk[1 << 16];
  while (true) {
    ssize_t count = read(descriptor, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure(errno);
    if (count == 0)
      return {std::move(text), false, ""};
    text.append(chunk, size_t(count));
    if (text.size() > mostBytes)
      return {std::nullopt, false,
              "it has more than " + std::to_string(mostBytes >> 20) + " MiB"};
  }
}

bool isFolder(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

} // namespace

InputText readInput(const std::string& path, size_t mostBytes,
                    bool isStandardInput) {
  if (isStandardInput)
    return readDescriptor(STDIN_FILENO, mostBytes);
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failure(errno);
  InputText result = isFolder(descriptor)
                         ? InputText{std::nullopt, false, "it is a folder"}
                         : readDescriptor(descriptor, mostBytes);
  close(descriptor);
  return result;
}

} // namespace recipec::driver
