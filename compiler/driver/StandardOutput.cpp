// Writes to descriptor 1.

#include "compiler/driver/StandardOutput.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace recipec::driver {

void reserveStandardDescriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0)
      continue;
    bool isInput = descriptor == STDIN_FILENO;
    // open() returns the lowest free descriptor, which is this one.
    int taken = open("/dev/null", isInput ? O_WRONLY : O_RDONLY);
    if (taken >= 0 && taken != descriptor)
      close(taken);
  }
}

StandardOutput::Buffer::int_type
StandardOutput::Buffer::overflow(int_type character) {
  if (sync() != 0)
    return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof()))
    sputc(traits_type::to_char_type(character));
  return traits_type::not_eof(character);
}

int StandardOutput::Buffer::sync() {
  for (const char* at = pbase(); at < pptr() && error == 0;) {
    ssize_t count = ::write(STDOUT_FILENO, at, size_t(pptr() - at));
    if (count >= 0)
      at += count;
    else if (errno != EINTR)
      error = errno;
  }
  reset();
  return error == 0 ? 0 : -1;
}

int StandardOutput::finish() {
  flush();
  return buffer.error;
}

} // namespace recipec::driver
