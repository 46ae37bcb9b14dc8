// How code of the host's reads and writes buffers, wherever they are.
//
// Where the host can address them it is given the buffer itself: nothing is
// copied. Elsewhere it is given memory of the host's, which is copied from the
// device before or to it afterwards, in pieces of bounded size where a buffer
// may be large.

#ifndef RECIPERUN_DEVICE_HOSTCOPY_H
#define RECIPERUN_DEVICE_HOSTCOPY_H

#include "runtime/device/Device.h"

#include <functional>
#include <vector>

namespace reciperun::device {

/// MemoryBudget for the host to write a whole buffer into.
class HostCopy {
public:
  /// What is there before the host writes is undefined. `target` may be absent.
  HostCopy(Device& device, const Tensor& target);

  /// The buffer itself or the copy; null where it is absent.
  template <class T> T* as() const { return view.as<T>(); }
  /// Puts what the host has written into the buffer.
  Status store();

private:
  Device& device;
  Tensor target;
  std::vector<std::byte> copy;
  Tensor view;
};

/// A part of a flat buffer, in memory that the host can address, from element
/// number `first` of the buffer on.
using VisitPiece = std::function<Status(const Tensor& piece, int64_t first)>;

/// Shows the whole of a buffer, piece by piece in order; nothing of one that is
/// absent. A failure of `visit` ends it.
Status readPieces(Device& device, const Tensor& from, const VisitPiece& visit);

/// Has the whole of a buffer written, piece by piece in order.
Status writePieces(Device& device, const Tensor& to, const VisitPiece& fill);

/// Element number `index` of a buffer of T.
template <class T>
Expected<T> readElement(Device& device, const Tensor& from, int64_t index = 0) {
  T value{};
  RECIPERUN_TRY(device.download(std::as_writable_bytes(std::span(&value, 1)),
                                from.as<T>() + index));
  return value;
}

/// Writes the only element of a buffer of T; nothing where it is absent.
template <class T>
Status writeElement(Device& device, const Tensor& to, T value) {
  if (!to.present())
    return Status::ok();
  return device.upload(to.data, std::as_bytes(std::span(&value, 1)));
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_HOSTCOPY_H
