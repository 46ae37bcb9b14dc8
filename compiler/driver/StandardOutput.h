// The standard output, which may fail like any file.

#ifndef RECIPEC_DRIVER_STANDARDOUTPUT_H
#define RECIPEC_DRIVER_STANDARDOUTPUT_H

#include <ostream>
#include <streambuf>
#include <vector>

namespace recipec::driver {

/// Gives descriptors 0 to 2 that are closed to `/dev/null`, opened so that
/// using them fails as before: else a file that is opened later would take the
/// number, and messages would be written into it.
void reserveStandardDescriptors();

/// A stream to descriptor 1 that keeps why it failed, which std::cout does not.
class StandardOutput : public std::ostream {
public:
  StandardOutput() : std::ostream(nullptr) { rdbuf(&buffer); }

  /// Writes what is left; gives the `errno` of the first write that failed, or
  /// 0.
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
