// Matmuls by cuBLASLt: C = alpha op(A) op(B), or C += alpha op(A) op(B).
//
// The counterpart of cpu/Gemm.h. Matrices are row-major and contiguous. The
// library is opened at run time (SharedLibrary.h) by the first matmul. An
// algorithm is chosen once for each shape: `prepare` takes it from a file or
// measures the library's first suggestions; a shape that was never prepared
// takes the first suggestion. Results do not depend on timing: each algorithm
// accumulates in a fixed order, and partial sums are in f32.

#ifndef RECIPERUN_DEVICE_CUDA_MATMULS_H
#define RECIPERUN_DEVICE_CUDA_MATMULS_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Op.h"

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class Matmuls {
public:
  /// The granularity of an fp8 matrix's scales: see ops/quantization.ops.
  enum class Scales { none, tensor, wholeRows, rows, squares, mx };

  struct Shape {
    int64_t m = 0, n = 0, k = 0;
    bool transposeA = false;                // A is stored [k,m], else [m,k]
    bool transposeB = false;                // B is stored [n,k], else [k,n]
    plan::DType input = plan::DType::bf16;  // of A and B
    plan::DType output = plan::DType::bf16; // of C [m,n]
    bool accumulate = false;
    // In fp8 A is [m,k] and B [n,k], the only layout that the hardware
    // supports.
    std::optional<plan::DType> inputB = std::nullopt; // if not the same
    Scales scalesA = Scales::none, scalesB = Scales::none;
    bool isFast = false; // fp8 may accumulate in fewer bits
    auto operator<=>(const Shape&) const = default;
  };

  /// Device addresses. An accumulating matmul may add to `base` instead of C.
  struct Operands {
    const void *a, *b;
    void* c;
    const void* base = nullptr; // null: C itself
    const void *scaleA = nullptr, *scaleB = nullptr;
  };

  /// The resources of matmuls: a stream, and a workspace that belongs to the
  /// work enqueued on it.
  struct Place {
    cudaStream_t stream = nullptr;
    void* workspace = nullptr;
    size_t bytes = 0;
    std::string device; // the GPU's name
  };

  Matmuls();
  ~Matmuls();

  void setPlace(const Place& place);
  /// The file of choices. The default is MatmulChoices::defaultFile(); choices
  /// are not stored when `file` is empty.
  void setFile(const std::filesystem::path& file);

  /// Restricts `prepare` to the shapes of a share from now on, and reloads the
  /// file that other ranks have written to.
  void takeShare(Share share);
  /// Chooses the algorithm for a shape by measuring, unless an earlier run has.
  /// Overwrites C and waits for the device, so it must be called before the
  /// first step.
  Status prepare(const Shape& shape, const Operands& operands);
  /// Writes new choices to the file.
  Status save();

  /// Enqueues a matmul. Types: f32 -> f32, multiplied in full precision; bf16
  /// -> bf16 or f32; f8e4m3 and f8e5m2, but not both f8e5m2 -> bf16 or f32.
  /// Accumulates in f32. Fails when cuBLASLt fails, and when the GPU does not
  /// support the scales.
  Status run(const Shape& shape, float alpha, const Operands& operands);

  /// A warning for the user, such as why the file is ignored; empty when there
  /// is none.
  const std::string& notice() const;

private:
  struct Library;
  std::unique_ptr<Library> library;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULS_H
