// Standard output with error checks.

#ifndef RECIPEC_DRIVER_STANDARDOUTPUT_H
#define RECIPEC_DRIVER_STANDARDOUTPUT_H

#include <ostream>
#include <streambuf>
#include <vector>

namespace recipec::driver {

/// Opens `/dev/null` on each of the descriptors 0 to 2 that is closed, in a
/// mode in which using it fails as before. Otherwise a file opened later would
/// get the number, and messages would go into the file.
void reserveStandardDescriptors();

/// A stream to descriptor 1 that keeps the cause of a failure, unlike
/// std::cout.
class StandardOutput : public std::ostream {
public:
  StandardOutput() : std::ostream(nullptr) { rdbuf(&buffer); }

  /// Flushes the buffer. Returns the `errno` of the first failed write, or 0.
  int finish();

private:
  class Buffer : public std::streambuf {
  public:
    Buffer() : bytes(size_t(1) << 16) { reset(); }
    int error = 0;

  protected:
    int_type overflow(int_type character) override;
    int sync() override;

  private:
    void reset() { setp(bytes.data(), bytes.data() + bytes.size()); }
    std::vector<char> bytes;
  };
  Buffer buffer;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_STANDARDOUTPUT_H
