// Host access to buffers of any device.
//
// A buffer in memory that the host can address is passed without a copy. The
// data of other buffers passes through host memory and is copied from the
// device before the access or to the device after it, in pieces of bounded size
// when a buffer may be large.

#ifndef RECIPERUN_DEVICE_HOSTCOPY_H
#define RECIPERUN_DEVICE_HOSTCOPY_H

#include "runtime/device/Device.h"

#include <functional>
#include <vector>

namespace reciperun::device {

/// Host memory for the host to write a whole buffer into.
class HostCopy {
public:
  /// The contents before the host writes are undefined. `target` may be absent.
  HostCopy(Device& device, const Tensor& target);

  /// The buffer itself or the copy; null when the buffer is absent.
  template <class T> T* as() const { return view.as<T>(); }
  /// Copies to the buffer what the host has written.
  Status store();

private:
  Device& device;
  Tensor target;
  std::vector<std::byte> copy;
  Tensor view;
};

/// Visits a piece of a flat buffer in host memory; the piece starts at element
/// `first` of the buffer.
using VisitPiece = std::function<Status(const Tensor& piece, int64_t first)>;

/// Visits a whole buffer piece by piece in order; visits nothing when the
/// buffer is absent. Stops when `visit` fails.
Status readPieces(Device& device, const Tensor& from, const VisitPiece& visit);

/// Fills a whole buffer piece by piece in order.
Status writePieces(Device& device, const Tensor& to, const VisitPiece& fill);

/// Reads element `index` of a buffer of T.
template <class T>
Expected<T> readElement(Device& device, const Tensor& from, int64_t index = 0) {
  T value{};
  RECIPERUN_TRY(device.download(std::as_writable_bytes(std::span(&value, 1)),
                                from.as<T>() + index));
  return value;
}

/// Writes the only element of a buffer of T; does nothing when the buffer is
/// absent.
template <class T>
Status writeElement(Device& device, const Tensor& to, T value) {
  if (!to.present())
    return Status::ok();
  return device.upload(to.data, std::as_bytes(std::span(&value, 1)));
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_HOSTCOPY_H
