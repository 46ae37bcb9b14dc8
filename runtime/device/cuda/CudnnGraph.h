// Computations for cuDNN: a graph of operations on tensors, and the plan that
// cuDNN makes of it (the backend API of cudnn_graph.h).
//
// The library is opened at run time (SharedLibrary.h). A graph keeps its first
// failure, so that building one needs no checks; `plan` returns it.

#ifndef RECIPERUN_DEVICE_CUDA_CUDNNGRAPH_H
#define RECIPERUN_DEVICE_CUDA_CUDNNGRAPH_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/SharedLibrary.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <cudnn.h>

namespace reciperun::device {

/// The cuDNN functions in use, and the handle.
class CudnnLibrary {
public:
  ~CudnnLibrary();
  /// Opens libcudnn.so.9 and a handle on the calling thread's device.
  Status open();
  /// Opens the library for a device that is not present, given by cuDNN's
  /// serialised description. The plans cannot be run.
  Status openFor(const std::string& device);

  Status checked(cudnnStatus_t status, const char* what) const;
  cudnnHandle_t handle() const { return opened; }
  /// The descriptor of the device passed to openFor; null after `open`.
  cudnnBackendDescriptor_t device() const { return properties; }

  decltype(&::cudnnSetStream) setStream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) createDescriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroyDescriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) setAttribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) getAttribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;

private:
  Status load();

  SharedLibrary file;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnGetErrorString) errorString = nullptr;
  decltype(&::cudnnGetLastErrorString) lastError = nullptr;
  cudnnHandle_t opened = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// A descriptor of the backend API, destroyed with its owner.
class CudnnDescriptor {
public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
  ~CudnnDescriptor();

  cudnnBackendDescriptor_t get() const { return descriptor; }
  const Status& status() const { return failure; }

  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, const T& value) {
    return set(name, type, 1, &value);
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t count,
                       const void* values);
  CudnnDescriptor& finalize();

private:
  const CudnnLibrary& library;
  cudnnBackendDescriptor_t descriptor = nullptr;
  Status failure;
};

/// A graph that cuDNN has compiled for the device.
class CudnnPlan {
public:
  CudnnPlan(const CudnnLibrary& library, CudnnDescriptor plan,
            std::map<int64_t, float> scalars, int64_t workspaceBytes)
      : library(library), plan(std::move(plan)), scalars(std::move(scalars)),
        workspace(workspaceBytes) {}

  int64_t workspaceBytes() const { return workspace; }

  /// Enqueues the plan. `data` are the addresses of all tensors that are not
  /// virtual, by tensor number.
  Status run(std::map<int64_t, void*> data, void* workspace,
             cudaStream_t stream);

private:
  const CudnnLibrary& library;
  CudnnDescriptor plan;
  std::map<int64_t, float> scalars; // by their tensors' numbers
  int64_t workspace;
};

/// A tensor of a graph, identified by its number. All tensors of attention have
/// four dimensions.
struct CudnnTensor {
  int64_t number = -1;
  std::array<int64_t, 4> shape = {}, strides = {};
  int64_t offsets = -1; // number of the tensor with the offsets

  bool isThere() const { return number >= 0; }
};

/// Limits the rows, columns or reduction depth of each matrix of a batch to
/// less than its shape: i32 [batch, 1, 1, 1].
struct CudnnExtents {
  CudnnTensor m, n, k;
};

class CudnnGraph {
public:
  using Four = std::array<int64_t, 4>;
  using Tensor = CudnnTensor;
  using Extents = CudnnExtents;

  explicit CudnnGraph(const CudnnLibrary& library)
      : library(library), tensors(1, nullptr) {}

  /// A tensor in memory, aligned to 16 bytes. With `offsets`, i64 [batch + 1,
  /// 1, 1, 1] in elements, batch entry i begins at offset i.
  Tensor tensor(Four shape, Four strides, cudnnDataType_t type,
                Tensor offsets = {});
  /// A constant that the graph stores.
  Tensor scalar(float value);

  // Results are virtual tensors, which have no memory. They are packed unless
  // strides are given.
  Tensor pointwise(cudnnPointwiseMode_t mode, Tensor x,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT);
  Tensor pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor y,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT);
  void pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor y, Tensor out,
                 cudnnDataType_t math = CUDNN_DATA_FLOAT);
  void identity(Tensor x, Tensor out);
  /// Selects x where `condition` is true, otherwise y.
  Tensor select(Tensor condition, Tensor x, Tensor y);
  /// The index of each element along a dimension, int32.
  Tensor index(Tensor like, int64_t dimension);
  /// Reduces the dimensions in which `shape` is 1 or a divisor of x's size.
  Tensor reduce(cudnnReduceTensorOp_t op, Tensor x, Four shape);
  void reduceTo(cudnnReduceTensorOp_t op, Tensor x, Tensor out);
  Tensor matmul(Tensor a, Tensor b, cudnnDataType_t type = CUDNN_DATA_FLOAT,
                Extents extents = {});
  void matmulTo(Tensor a, Tensor b, Tensor out, Extents extents = {});
  /// Swaps the last two dimensions.
  Tensor transpose(Tensor x, cudnnDataType_t type);

  /// Compiles the graph with the first engine suggested by the library that
  /// supports it.
  Expected<std::unique_ptr<CudnnPlan>> plan();

private:
  Tensor add(Four shape, Four strides, cudnnDataType_t type, bool isVirtual,
             bool isScalar, int64_t offsets = -1);
  Tensor virtualTensor(Four shape, cudnnDataType_t type);
  CudnnDescriptor& make(cudnnBackendDescriptorType_t type);
  void operation(CudnnDescriptor& made);
  cudnnBackendDescriptor_t of(Tensor tensor) const;
  cudnnBackendDescriptor_t numbered(int64_t number) const;
  Expected<std::unique_ptr<CudnnPlan>>
  compile(cudnnBackendDescriptor_t configuration);
  void note(const CudnnDescriptor& made);

  const CudnnLibrary& library;
  std::vector<std::unique_ptr<CudnnDescriptor>> descriptors;
  std::vector<cudnnBackendDescriptor_t> tensors; // numbered from 1
  std::vector<cudnnBackendDescriptor_t> operations;
  std::map<int64_t, float> scalars;
  Status failure;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDNNGRAPH_H
