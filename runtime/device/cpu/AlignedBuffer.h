// A growing buffer aligned to a cache line.

#ifndef RECIPERUN_DEVICE_CPU_ALIGNEDBUFFER_H
#define RECIPERUN_DEVICE_CPU_ALIGNEDBUFFER_H

#include <cstddef>
#include <memory>
#include <new>

namespace reciperun::device {

class AlignedBuffer {
public:
  static constexpr std::align_val_t alignment{64};

  /// At least `bytes` bytes. Growing drops the contents.
  void* reserve(size_t bytes) {
    if (bytes <= capacity)
      return data.get();
    data.reset(); // first, so that both never coexist
    data.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
    capacity = bytes;
    return data.get();
  }

private:
  struct Free {
    void operator()(std::byte* bytes) const {
      ::operator delete(bytes, alignment);
    }
  };
  std::unique_ptr<std::byte, Free> data;
  size_t capacity = 0;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_ALIGNEDBUFFER_H
