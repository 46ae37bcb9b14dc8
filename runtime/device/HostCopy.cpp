// Pieces of a buffer: the buffer itself, or copies in host memory of bounded
// size.

#include "runtime/device/HostCopy.h"

#include <algorithm>

namespace reciperun::device {
namespace {

constexpr int64_t pieceBytes = int64_t(16) << 20;

/// Calls visit(element, count) for consecutive ranges that cover a tensor.
template <class Visit>
Status forEachRun(const Tensor& tensor, const Visit& visit) {
  const int64_t most = pieceBytes / plan::byteSize(tensor.type);
  const int64_t elements = tensor.elements();
  for (int64_t first = 0; first < elements; first += most)
    RECIPERUN_TRY(visit(first, std::min(most, elements - first)));
  return Status::ok();
}

std::byte* addressOf(const Tensor& tensor, int64_t element) {
  return tensor.as<std::byte>() + element * plan::byteSize(tensor.type);
}

/// Visits a tensor that the host can address in one piece.
Status visitWhole(const Tensor& tensor, const VisitPiece& visit) {
  const int64_t shape[] = {tensor.elements()};
  return visit({tensor.data, tensor.type, shape}, 0);
}

} // namespace

HostCopy::HostCopy(Device& device, const Tensor& target)
    : device(device), target(target), view(target) {
  if (device.isHost() || !target.present())
    return;
  copy.resize(size_t(target.bytes()));
  view.data = copy.data();
}

Status HostCopy::store() {
  if (copy.empty())
    return Status::ok();
  return device.upload(target.data, copy);
}

Status readPieces(Device& device, const Tensor& from, const VisitPiece& visit) {
  if (!from.present())
    return Status::ok();
  if (device.isHost())
    return visitWhole(from, visit);
  std::vector<std::byte> copy;
  return forEachRun(from, [&](int64_t first, int64_t count) -> Status {
    copy.resize(size_t(count * plan::byteSize(from.type)));
    RECIPERUN_TRY(device.download(copy, addressOf(from, first)));
    const int64_t shape[] = {count};
    return visit({copy.data(), from.type, shape}, first);
  });
}

Status writePieces(Device& device, const Tensor& to, const VisitPiece& fill) {
  if (!to.present())
    return Status::ok();
  if (device.isHost())
    return visitWhole(to, fill);
  std::vector<std::byte> copy;
  return forEachRun(to, [&](int64_t first, int64_t count) -> Status {
    copy.resize(size_t(count * plan::byteSize(to.type)));
    const int64_t shape[] = {count};
    RECIPERUN_TRY(fill({copy.data(), to.type, shape}, first));
    return device.upload(addressOf(to, first), copy);
  });
}

} // namespace reciperun::device
