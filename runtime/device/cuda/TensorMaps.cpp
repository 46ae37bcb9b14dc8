// The driver's library makes the maps; a machine without GPUs does not have it.

#include "runtime/device/cuda/TensorMaps.h"
#include "runtime/device/cuda/SharedLibrary.h"

#include <string>

namespace reciperun::device {
namespace {

/// The driver's function, looked up once; calls may come from any thread.
struct Encoder {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  Status status;

  Encoder() {
    SharedLibrary driver;
    status = driver.open("libcuda.so.1", "the driver of the GPU");
    if (status.isOk())
      status = driver.find("cuTensorMapEncodeTiled", encode);
  }
};

} // namespace

Expected<CUtensorMap> mapMatrices(const void* data, int64_t count, int64_t rows,
                                  int64_t columns, int boxRows) {
  static const Encoder encoder;
  RECIPERUN_TRY(encoder.status);
  const auto rowBytes = cuuint64_t(columns) * 2;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows),
                              cuuint64_t(count)};
  const cuuint64_t strides[] = {rowBytes, rowBytes * cuuint64_t(rows)};
  const cuuint32_t box[] = {boxColumns, cuuint32_t(boxRows), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = encoder.encode(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(data), sizes,
      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    return Status::error("`cuTensorMapEncodeTiled` failed with " +
                         std::to_string(int(result)) + " for " +
                         std::to_string(count) + " x " + std::to_string(rows) +
                         " x " + std::to_string(columns) + " elements");
  return map;
}

} // namespace reciperun::device
