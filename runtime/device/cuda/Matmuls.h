// Matrix products by cuBLASLt: C = alpha op(A) op(B), or C += that.
//
// The twin of cpu/Gemm.h. Matrices are row-major and contiguous. The library is
// opened at run time (SharedLibrary.h), when a product is first wanted. For
// each shape an algorithm is chosen once: `prepare` takes it from a file or
// measures the library's first suggestions; a shape that was never prepared
// takes the first of them. No result depends on timing: an algorithm adds in an
// order of its own that is the same each time, and partial sums are kept in
// f32.

#ifndef RECIPERUN_DEVICE_CUDA_MATMULS_H
#define RECIPERUN_DEVICE_CUDA_MATMULS_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

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
  /// What of a matrix in 8 bits has a scale: see ops/quantization.ops.
  enum class Scales { none, tensor, rows, squares, mx };

  struct Shape {
    int64_t m = 0, n = 0, k = 0;
    bool transposeA = false;                // A is stored [k,m], else [m,k]
    bool transposeB = false;                // B is stored [n,k], else [k,n]
    plan::DType input = plan::DType::bf16;  // of A and B
    plan::DType output = plan::DType::bf16; // of C [m,n]
    bool accumulate = false;
    // In 8 bits A is [m,k] and B [n,k], which the hardware multiplies alone.
    std::optional<plan::DType> inputB = std::nullopt; // where it is another
    Scales scalesA = Scales::none, scalesB = Scales::none;
    bool isFast = false; // sums of 8 bits may be kept in fewer bits
    auto operator<=>(const Shape&) const = default;
  };

  /// Addresses of the device. Where a product is added, it may be to what lies
  /// elsewhere than C: `base`.
  struct Operands {
    const void *a, *b;
    void* c;
    const void* base = nullptr; // C itself
    const void *scaleA = nullptr, *scaleB = nullptr;
  };

  /// Where products run: a stream, and a workspace that belongs to what is
  /// enqueued on it.
  struct Place {
    cudaStream_t stream = nullptr;
    void* workspace = nullptr;
    size_t bytes = 0;
    std::string device; // the GPU's name
  };

  Matmuls();
  ~Matmuls();

  void setPlace(const Place& place);
  /// Where choices are kept; MatmulChoices::defaultFile() unless told, none
  /// where empty.
  void setFile(const std::filesystem::path& file);

  /// From now on `prepare` chooses for the shapes of a share alone. What other
  /// ranks have written to the file by now counts.
  void takeShare(Share share);
  /// Chooses the algorithm for a shape by measuring, unless a run before has.
  /// What C holds is lost, and the device is waited for: a thing to do before
  /// the first step.
  Status prepare(const Shape& shape, const Operands& operands);
  /// Writes new choices to the file.
  Status save();

  /// Enqueues a product. Types: f32 -> f32, multiplied in full precision;
  /// bf16 -> bf16 or f32; f8e4m3 and f8e5m2, but not both f8e5m2 -> bf16 or
  /// f32. Sums are kept in f32. Fails where cuBLASLt does, and where a GPU does
  /// not have the scales.
  Status run(const Shape& shape, float alpha, const Operands& operands);

  /// What a user should know once, such as that the file is ignored and why;
  /// empty where all is well.
  const std::string& notice() const;

private:
  struct Library;
  std::unique_ptr<Library> library;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULS_H
