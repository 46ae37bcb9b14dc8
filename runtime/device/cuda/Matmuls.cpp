// cuBLASLt's matmuls, with one descriptor per shape.
//
// The library is column-major, and a row-major matrix is the transpose of a
// column-major one: C^T = op(B)^T op(A)^T, so B is passed first, without a
// copy.
//   1. describe the matmul and its three matrices;
//   2. ask for up to 8 algorithms that fit the workspace and never add partial
//      sums in a narrower type than f32;
//   3. choose: from the file (MatmulChoices.h), by time (MatmulComparison.h),
//      or the first;
//   4. enqueue.

#include "runtime/device/cuda/Matmuls.h"

#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/MatmulChoices.h"
#include "runtime/device/cuda/MatmulComparison.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace reciperun::device {
namespace {

using plan::DType;
using Shape = Matmuls::Shape;
using Operands = Matmuls::Operands;
using Scales = Matmuls::Scales;

constexpr int candidates = 8; // cuBLASLt 13.1 suggests no more

struct TypeInfo {
  cudaDataType_t type;
  const char* name;
};

TypeInfo infoOf(DType type) {
  switch (type) {
  case DType::f32:
    return {CUDA_R_32F, "f32"};
  case DType::f8e4m3:
    return {CUDA_R_8F_E4M3, "f8e4m3"};
  case DType::f8e5m2:
    return {CUDA_R_8F_E5M2, "f8e5m2"};
  default:
    assert(type == DType::bf16 && "no product of a type");
    return {CUDA_R_16BF, "bf16"};
  }
}

const char* typeName(DType type) {
  return infoOf(type).name;
}

DType typeOfB(const Shape& shape) {
  return shape.inputB.value_or(shape.input);
}

bool isScaled(const Shape& shape) {
  return shape.scalesA != Scales::none;
}

struct ScalesInfo {
  cublasLtMatmulMatrixScale_t mode;
  const char* name;
};

ScalesInfo infoOf(Scales scales) {
  switch (scales) {
  case Scales::wholeRows:
    return {CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, "whole rows"};
  case Scales::rows:
    return {CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, "rows"};
  case Scales::squares:
    return {CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F, "squares"};
  case Scales::mx:
    return {CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0, "mx"};
  default:
    return {CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, "tensor"};
  }
}

std::string typesText(const Shape& shape) {
  std::string text = typeName(shape.input);
  if (isScaled(shape))
    text = text + " by " + typeName(typeOfB(shape)) + ", scaled by " +
           infoOf(shape.scalesA).name + " and " + infoOf(shape.scalesB).name;
  return text + (shape.isFast ? ", fast" : "");
}

std::string describe(const Shape& shape) {
  return "a matrix product of " + std::to_string(shape.m) + " x " +
         std::to_string(shape.k) + " by " + std::to_string(shape.k) + " x " +
         std::to_string(shape.n) + " in " + typesText(shape);
}

/// Times a stream's work between two events.
class Stopwatch {
public:
  ~Stopwatch() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }

  Status open() {
    RECIPERUN_CUDA_TRY(cudaEventCreate, &begin);
    RECIPERUN_CUDA_TRY(cudaEventCreate, &end);
    return Status::ok();
  }
  bool start(cudaStream_t stream) const {
    return cudaEventRecord(begin, stream) == cudaSuccess;
  }
  /// Waits for the work and returns the ms since the start.
  std::optional<float> stop(cudaStream_t stream) const {
    float time = 0;
    if (cudaEventRecord(end, stream) != cudaSuccess ||
        cudaEventSynchronize(end) != cudaSuccess ||
        cudaEventElapsedTime(&time, begin, end) != cudaSuccess)
      return std::nullopt;
    return time;
  }

private:
  cudaEvent_t begin = nullptr, end = nullptr;
};

/// The largest power of two, up to 256, that divides all addresses.
uint32_t alignmentOf(const Operands& operands) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(operands.a) |
                        reinterpret_cast<uintptr_t>(operands.b) |
                        reinterpret_cast<uintptr_t>(operands.c) |
                        reinterpret_cast<uintptr_t>(operands.base) | 256;
  return uint32_t(1) << std::countr_zero(all);
}

} // namespace

struct Matmuls::Library {
  using Key = std::pair<Shape, uint32_t>; // and the operands' alignment

  /// The library's objects for a matmul. `first`, `second` are B and A.
  struct Matmul {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, out = nullptr;
    cublasLtMatmulAlgo_t algorithm = {};
    bool isMeasured = false;
  };

  CublasLt lt;
  Place place;
  std::filesystem::path choicesFile = MatmulChoices::defaultFile();
  MatmulChoices choices;
  MatmulComparison comparison;
  Share share;
  std::string notice;
  std::map<Key, Matmul> products;

  ~Library() {
    for (auto& [key, product] : products)
      release(product);
  }

  void release(Matmul& product) {
    if (product.desc)
      lt.descDestroy(product.desc);
    for (cublasLtMatrixLayout_t layout :
         {product.first, product.second, product.out})
      if (layout)
        lt.layoutDestroy(layout);
    product = {};
  }

  Status open() {
    if (lt.handle)
      return Status::ok();
    RECIPERUN_TRY(lt.open());
    load();
    return Status::ok();
  }

  void load() {
    if (Status status = choices.load(choicesFile); !status.isOk())
      notice = status.message();
  }

  void takeShare(Share ours) {
    share = ours;
    if (lt.handle)
      load();
  }

  /// A matmul and its accumulating twin are in the same share.
  bool isOurs(Shape shape, uint32_t alignment) const {
    shape.accumulate = false;
    return share.takes(std::hash<std::string>()(keyOf(shape, alignment)));
  }

  Status makeLayout(cublasLtMatrixLayout_t& layout, DType type, int64_t rows,
                    int64_t columns) const {
    return lt.checked(lt.layoutCreate(&layout, infoOf(type).type,
                                      uint64_t(columns), uint64_t(rows),
                                      columns),
                      "a matrix");
  }

  template <class T>
  Status set(const Matmul& product, cublasLtMatmulDescAttributes_t which,
             T value) const {
    return lt.checked(lt.descSet(product.desc, which, &value, sizeof value),
                      "a product");
  }

  Status describeScales(const Matmul& product, const Shape& shape) const {
    auto mode = [](Scales scales) { return int32_t(infoOf(scales).mode); };
    RECIPERUN_TRY(
        set(product, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode(shape.scalesB)));
    RECIPERUN_TRY(
        set(product, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode(shape.scalesA)));
    return set(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
               int8_t(shape.isFast ? 1 : 0));
  }

  /// Sets the addresses of the scales, which the library reads when the matmul
  /// is enqueued.
  Status setScales(const Matmul& product, const Shape& shape,
                   const Operands& operands) const {
    if (!isScaled(shape))
      return Status::ok();
    RECIPERUN_TRY(
        set(product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scaleB));
    return set(product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scaleA);
  }

  Status make(Matmul& product, const Shape& shape) const {
    // Full precision for f32: faster modes have compute types of their own.
    RECIPERUN_TRY(
        lt.checked(lt.descCreate(&product.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                   "a product"));
    auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool isSet) {
      const cublasOperation_t value = isSet ? CUBLAS_OP_T : CUBLAS_OP_N;
      return lt.checked(lt.descSet(product.desc, which, &value, sizeof value),
                        "a transpose");
    };
    RECIPERUN_TRY(transpose(CUBLASLT_MATMUL_DESC_TRANSA, shape.transposeB));
    RECIPERUN_TRY(transpose(CUBLASLT_MATMUL_DESC_TRANSB, shape.transposeA));
    auto layout = [&](cublasLtMatrixLayout_t& made, DType type, int64_t rows,
                      int64_t columns, bool isTransposed) {
      return isTransposed ? makeLayout(made, type, columns, rows)
                          : makeLayout(made, type, rows, columns);
    };
    if (isScaled(shape))
      RECIPERUN_TRY(describeScales(product, shape));
    RECIPERUN_TRY(layout(product.first, typeOfB(shape), shape.k, shape.n,
                         shape.transposeB));
    RECIPERUN_TRY(layout(product.second, shape.input, shape.m, shape.k,
                         shape.transposeA));
    return layout(product.out, shape.output, shape.m, shape.n, false);
  }

  /// The library's suggestions for a matmul, best first by its own estimate.
  Expected<std::vector<cublasLtMatmulAlgo_t>>
  suggest(const Matmul& product, const Shape& shape, uint32_t alignment) const {
    cublasLtMatmulPreference_t preference = nullptr;
    RECIPERUN_TRY(lt.checked(lt.preferenceCreate(&preference), "a preference"));
    auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
      return lt.checked(
          lt.preferenceSet(preference, which, &value, sizeof value),
          "a preference");
    };
    cublasLtMatmulHeuristicResult_t results[candidates];
    int count = 0;
    auto ask = [&]() -> Status {
      RECIPERUN_TRY(
          set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(place.bytes)));
      RECIPERUN_TRY(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                        uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
      for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        RECIPERUN_TRY(set(which, alignment));
      return lt.checked(lt.heuristic(lt.handle, product.desc, product.first,
                                     product.second, product.out, product.out,
                                     preference, candidates, results, &count),
                        describe(shape));
    };
    const Status status = ask();
    lt.preferenceDestroy(preference);
    RECIPERUN_TRY(status);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < count; ++i)
      if (results[i].state == CUBLAS_STATUS_SUCCESS)
        algorithms.push_back(results[i].algo);
    if (algorithms.empty())
      return Status::error("cuBLASLt has no algorithm for " + describe(shape));
    return algorithms;
  }

  Status enqueue(const Matmul& product, const Shape& shape, float alpha,
                 const Operands& operands,
                 const cublasLtMatmulAlgo_t& algorithm) const {
    const float beta = shape.accumulate ? 1.0f : 0.0f;
    const void* base = operands.base ? operands.base : operands.c;
    RECIPERUN_TRY(setScales(product, shape, operands));
    return lt.checked(lt.matmul(lt.handle, product.desc, &alpha, operands.b,
                                product.first, operands.a, product.second,
                                &beta, base, product.out, operands.c,
                                product.out, &algorithm, place.workspace,
                                place.bytes, place.stream),
                      describe(shape));
  }

  /// cuBLASLt supports scales of blocks of 32 on Blackwell and later GPUs, and
  /// scales of blocks of 128 and of whole rows only on Hopper.
  static Status checkScales(const Shape& shape) {
    if (!isScaled(shape) || shape.scalesA == Scales::tensor)
      return Status::ok();
    int device = 0, generation = 0;
    RECIPERUN_CUDA_TRY(cudaGetDevice, &device);
    RECIPERUN_CUDA_TRY(cudaDeviceGetAttribute, &generation,
                       cudaDevAttrComputeCapabilityMajor, device);
    const bool isMx = shape.scalesA == Scales::mx;
    if (isMx ? generation >= 10 : generation == 9)
      return Status::ok();
    const std::string wanted =
        isMx ? "mxfp8 need a GPU of compute capability 10.0 or above (B200)"
             : "blocks of 128 or of rows need a GPU of compute capability 9.0 "
               "(H100)";
    return Status::error("products in " + wanted + ", and this one is of " +
                         std::to_string(generation) +
                         ".x: compile the recipe for the GPU that it runs on");
  }

  /// The matmul of a shape; a new one gets the algorithm that is suggested
  /// first.
  Expected<Matmul*> find(const Shape& shape, const Operands& operands) {
    const uint32_t alignment = alignmentOf(operands);
    const Key key{shape, alignment};
    const auto known = products.find(key);
    if (known != products.end())
      return &known->second;
    RECIPERUN_TRY(checkScales(shape));
    RECIPERUN_TRY(open());
    Matmul product;
    auto choose = [&]() -> Status {
      RECIPERUN_TRY(make(product, shape));
      RECIPERUN_TRY(setScales(product, shape, operands));
      auto suggested = suggest(product, shape, alignment);
      RECIPERUN_TRY(suggested);
      product.algorithm = suggested->front();
      return Status::ok();
    };
    if (Status status = choose(); !status.isOk()) {
      release(product);
      return status;
    }
    return &products.emplace(key, product).first->second;
  }

  std::string keyOf(const Shape& shape, uint32_t alignment) const {
    return place.device + " | cublasLt " + std::to_string(lt.version()) +
           " | " + std::to_string(shape.m) + " " + std::to_string(shape.n) +
           " " + std::to_string(shape.k) + " " +
           (shape.transposeA ? "t" : "n") + (shape.transposeB ? "t" : "n") +
           " " + typesText(shape) + " " + typeName(shape.output) +
           (shape.accumulate ? " added" : " set") + " aligned " +
           std::to_string(alignment);
  }

  bool canRun(const Matmul& product,
              const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result;
    return lt.check(lt.handle, product.desc, product.first, product.second,
                    product.out, product.out, &algorithm,
                    &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= place.bytes;
  }

  /// The algorithm in the file, or nullopt when there is none or the library no
  /// longer accepts it.
  std::optional<cublasLtMatmulAlgo_t> remembered(const Matmul& product,
                                                 const std::string& key) const {
    const auto words = choices.find(key);
    if (!words)
      return std::nullopt;
    cublasLtMatmulAlgo_t algorithm;
    static_assert(sizeof algorithm == sizeof *words);
    std::memcpy(&algorithm, words->data(), sizeof algorithm);
    if (!canRun(product, algorithm))
      return std::nullopt;
    return algorithm;
  }

  /// The suggestions, followed by the same algorithms with another thread block
  /// order (swizzling), which reads operands with more locality.
  Expected<std::vector<cublasLtMatmulAlgo_t>>
  candidatesOf(const Matmul& product, const Shape& shape,
               uint32_t alignment) const {
    constexpr uint32_t byTwos = 2;
    auto all = suggest(product, shape, alignment);
    RECIPERUN_TRY(all);
    for (size_t i = 0, count = all->size(); i < count; ++i) {
      cublasLtMatmulAlgo_t other = (*all)[i];
      if (lt.configure(&other, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &byTwos,
                       sizeof byTwos) == CUBLAS_STATUS_SUCCESS &&
          std::memcmp(&other, &(*all)[i], sizeof other) != 0 &&
          canRun(product, other))
        all->push_back(other);
    }
    return all;
  }

  /// The time of `repetitions` matmuls in ms, after `before` untimed ones;
  /// nullopt when the algorithm cannot run.
  std::optional<float> measure(const Matmul& product, const Shape& shape,
                               const Operands& operands,
                               const cublasLtMatmulAlgo_t& algorithm,
                               const Stopwatch& watch, int repetitions,
                               int before) const {
    for (int i = -before; i < repetitions; ++i) {
      if (i == 0 && !watch.start(place.stream))
        return std::nullopt;
      if (!enqueue(product, shape, 1, operands, algorithm).isOk())
        return std::nullopt;
    }
    return watch.stop(place.stream);
  }

  Status chooseByTime(Matmul& product, const Shape& shape,
                      const Operands& operands, uint32_t alignment) {
    auto candidates = candidatesOf(product, shape, alignment);
    RECIPERUN_TRY(candidates);
    Stopwatch watch;
    RECIPERUN_TRY(watch.open());
    const auto fastest = comparison.fastest(
        candidates->size(), [&](size_t i, int repetitions, int before) {
          return measure(product, shape, operands, (*candidates)[i], watch,
                         repetitions, before);
        });
    if (!fastest)
      return Status::error("none of cuBLASLt's algorithms runs for " +
                           describe(shape));
    product.algorithm = (*candidates)[*fastest];
    return Status::ok();
  }

  /// The measured algorithm of the accumulating or overwriting twin of a
  /// matmul, if any: reading C takes little time.
  std::optional<cublasLtMatmulAlgo_t> chosenForTwin(Shape shape,
                                                    uint32_t alignment) const {
    shape.accumulate = !shape.accumulate;
    const auto twin = products.find({shape, alignment});
    if (twin == products.end() || !twin->second.isMeasured)
      return std::nullopt;
    return twin->second.algorithm;
  }

  Status prepare(const Shape& shape, const Operands& operands) {
    const uint32_t alignment = alignmentOf(operands);
    const Expected<Matmul*> found = find(shape, operands);
    RECIPERUN_TRY(found);
    Matmul& product = **found;
    if (product.isMeasured)
      return Status::ok();
    const std::string key = keyOf(shape, alignment);
    if (const auto algorithm = remembered(product, key)) {
      product.algorithm = *algorithm;
    } else {
      if (!isOurs(shape, alignment))
        return Status::ok();
      if (const auto same = chosenForTwin(shape, alignment))
        product.algorithm = *same;
      else
        RECIPERUN_TRY(chooseByTime(product, shape, operands, alignment));
      MatmulChoices::Algorithm words;
      std::memcpy(words.data(), &product.algorithm, sizeof words);
      choices.keep(key, words);
    }
    product.isMeasured = true;
    return Status::ok();
  }
};

Matmuls::Matmuls() : library(std::make_unique<Library>()) {}
Matmuls::~Matmuls() = default;

void Matmuls::setPlace(const Place& place) {
  library->place = place;
}

void Matmuls::setFile(const std::filesystem::path& file) {
  library->choicesFile = file;
}

void Matmuls::takeShare(Share share) {
  library->takeShare(share);
}

Status Matmuls::prepare(const Shape& shape, const Operands& operands) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0)
    return Status::ok();
  return library->prepare(shape, operands);
}

Status Matmuls::save() {
  return library->choices.save();
}

Status Matmuls::run(const Shape& shape, float alpha, const Operands& operands) {
  if (shape.m == 0 || shape.n == 0)
    return Status::ok();
  if (shape.k == 0) { // the library does not support k = 0
    const size_t bytes =
        size_t(shape.m * shape.n * plan::byteSize(shape.output));
    if (!shape.accumulate)
      RECIPERUN_CUDA_TRY(cudaMemsetAsync, operands.c, 0, bytes,
                         library->place.stream);
    else if (operands.base)
      RECIPERUN_CUDA_TRY(cudaMemcpyAsync, operands.c, operands.base, bytes,
                         cudaMemcpyDeviceToDevice, library->place.stream);
    return Status::ok();
  }
  const auto product = library->find(shape, operands);
  RECIPERUN_TRY(product);
  return library->enqueue(**product, shape, alpha, operands,
                          (*product)->algorithm);
}

const std::string& Matmuls::notice() const {
  return library->notice;
}

} // namespace reciperun::device
