// See NcclGroup.h.

#include "runtime/comm/NcclGroup.h"

#include "runtime/device/cuda/CudaError.h"

namespace reciperun::comm {

Expected<const NcclGroup*> findGroup(const NcclGroups& groups, int number) {
  const auto found = groups.find(number);
  if (found == groups.end())
    return Status::error("group number " + std::to_string(number) +
                         " of the plan is not connected");
  return &found->second;
}

ncclDataType_t ncclType(plan::DType type) {
  switch (type) {
  case plan::DType::f64:
    return ncclFloat64;
  case plan::DType::f32:
    return ncclFloat32;
  case plan::DType::bf16:
    return ncclBfloat16;
  case plan::DType::i32:
    return ncclInt32;
  case plan::DType::i64:
    return ncclInt64;
  case plan::DType::u16:
    return ncclFloat16; // moved, never added
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
  case plan::DType::i8:
  case plan::DType::u8:
    return ncclUint8; // likewise
  }
  return ncclFloat32;
}

bool overlap(const device::Tensor& a, const device::Tensor& b) {
  return a.as<std::byte>() < b.as<std::byte>() + b.bytes() &&
         b.as<std::byte>() < a.as<std::byte>() + a.bytes();
}

Status copyOwn(const NcclGroup& commGroup, const void* from, void* to,
               int64_t bytes) {
  if (from != to)
    RECIPERUN_CUDA_TRY(cudaMemcpyAsync, to, from, size_t(bytes),
                       cudaMemcpyDeviceToDevice, commGroup.stream);
  return Status::ok();
}

Status exchangeParts(const NcclLibrary& nccl, const NcclGroup& commGroup,
                     const std::byte* in, std::byte* out, int64_t bytes) {
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupStart);
  for (int peer = 0; peer < commGroup.ranks; ++peer) {
    RECIPERUN_NCCL_TRY(nccl, commGroup, Send, in + peer * bytes, size_t(bytes),
                       ncclInt8, peer, commGroup.comm, commGroup.stream);
    RECIPERUN_NCCL_TRY(nccl, commGroup, Recv, out + peer * bytes, size_t(bytes),
                       ncclInt8, peer, commGroup.comm, commGroup.stream);
  }
  RECIPERUN_NCCL_TRY(nccl, commGroup, GroupEnd);
  return Status::ok();
}

} // namespace reciperun::comm
