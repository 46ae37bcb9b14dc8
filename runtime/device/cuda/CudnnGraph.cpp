// Builds cuDNN's graphs and compiles them:
//   1. each tensor and operation is a descriptor, finalised at once;
//   2. the operations make up an operation graph;
//   3. the library's heuristics suggest engines, best first;
//   4. the first that compiles for the device is the plan.

#include "runtime/device/cuda/CudnnGraph.h"

#include <cassert>
#include <utility>

namespace reciperun::device {

// ---- the library

CudnnLibrary::~CudnnLibrary() {
  if (properties)
    destroyDescriptor(properties);
  if (opened)
    destroy(opened);
}

Status CudnnLibrary::load() {
  RECIPERUN_TRY(file.open("libcudnn.so.9", "cuDNN 9 for CUDA 13"));
  decltype(&cudnnGetVersion) version = nullptr;
  RECIPERUN_TRY(file.find("cudnnGetVersion", version));
  RECIPERUN_TRY(checkMajorVersion("cuDNN", version(), CUDNN_VERSION));
  RECIPERUN_TRY(file.find("cudnnCreate", create));
  RECIPERUN_TRY(file.find("cudnnDestroy", destroy));
  RECIPERUN_TRY(file.find("cudnnSetStream", setStream));
  RECIPERUN_TRY(file.find("cudnnGetErrorString", errorString));
  RECIPERUN_TRY(file.find("cudnnGetLastErrorString", lastError));
  RECIPERUN_TRY(file.find("cudnnBackendCreateDescriptor", createDescriptor));
  RECIPERUN_TRY(file.find("cudnnBackendDestroyDescriptor", destroyDescriptor));
  RECIPERUN_TRY(file.find("cudnnBackendSetAttribute", setAttribute));
  RECIPERUN_TRY(file.find("cudnnBackendGetAttribute", getAttribute));
  RECIPERUN_TRY(file.find("cudnnBackendFinalize", finalize));
  return file.find("cudnnBackendExecute", execute);
}

Status CudnnLibrary::open() {
  if (opened)
    return Status::ok();
  RECIPERUN_TRY(load());
  return checked(create(&opened), "cudnnCreate");
}

Status CudnnLibrary::openFor(const std::string& device) {
  RECIPERUN_TRY(load());
  RECIPERUN_TRY(checked(
      createDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &properties),
      "a device"));
  RECIPERUN_TRY(checked(
      setAttribute(properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                   CUDNN_TYPE_CHAR, int64_t(device.size()), device.data()),
      "a device's description"));
  return checked(finalize(properties), "a device's description");
}

Status CudnnLibrary::checked(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return Status::ok();
  char details[512] = "";
  lastError(details, sizeof details);
  return Status::error(std::string("cuDNN refused ") + what + ": " +
                       errorString(status) +
                       (*details ? std::string(" (") + details + ")" : ""));
}

// ---- descriptors

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library,
                                 cudnnBackendDescriptorType_t type)
    : library(library),
      failure(library.checked(library.createDescriptor(type, &descriptor),
                              "a descriptor")) {}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library(other.library),
      descriptor(std::exchange(other.descriptor, nullptr)),
      failure(std::move(other.failure)) {}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    library.destroyDescriptor(descriptor);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      cudnnBackendAttributeType_t type,
                                      int64_t count, const void* values) {
  if (failure.isOk())
    failure = library.checked(
        library.setAttribute(descriptor, name, type, count, values),
        ("attribute " + std::to_string(int(name))).c_str());
  return *this;
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  if (failure.isOk())
    failure = library.checked(library.finalize(descriptor), "a descriptor");
  return *this;
}

// ---- the graph

void CudnnGraph::note(const CudnnDescriptor& made) {
  if (failure.isOk())
    failure = made.status();
}

CudnnDescriptor& CudnnGraph::make(cudnnBackendDescriptorType_t type) {
  descriptors.push_back(std::make_unique<CudnnDescriptor>(library, type));
  return *descriptors.back();
}

cudnnBackendDescriptor_t CudnnGraph::numbered(int64_t number) const {
  assert(number >= 0 && "a tensor of this graph");
  return tensors[size_t(number)];
}

cudnnBackendDescriptor_t CudnnGraph::of(Tensor tensor) const {
  return numbered(tensor.number);
}

CudnnGraph::Tensor CudnnGraph::add(Four shape, Four strides,
                                   cudnnDataType_t type, bool isVirtual,
                                   bool isScalar, int64_t offsets) {
  const auto number = int64_t(tensors.size());
  CudnnDescriptor& made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape.data())
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data())
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16))
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, isVirtual)
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, isScalar);
  if (offsets >= 0)
    made.set(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC,
             CUDNN_TYPE_BACKEND_DESCRIPTOR, numbered(offsets));
  made.finalize();
  note(made);
  tensors.push_back(made.get());
  return {number, shape, strides, offsets};
}

CudnnGraph::Tensor CudnnGraph::tensor(Four shape, Four strides,
                                      cudnnDataType_t type, Tensor offsets) {
  return add(shape, strides, type, false, false, offsets.number);
}

CudnnGraph::Tensor CudnnGraph::scalar(float value) {
  const Tensor made =
      add({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true);
  scalars[made.number] = value;
  return made;
}

CudnnGraph::Tensor CudnnGraph::virtualTensor(Four shape, cudnnDataType_t type) {
  const Four packed = {shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                       shape[3], 1};
  return add(shape, packed, type, true, false);
}

void CudnnGraph::operation(CudnnDescriptor& made) {
  made.finalize();
  note(made);
  operations.push_back(made.get());
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor y,
                           Tensor out, cudnnDataType_t math) {
  CudnnDescriptor& kind = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, math)
      .finalize();
  note(kind);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, kind.get())
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(x));
  if (y.isThere())
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
             CUDNN_TYPE_BACKEND_DESCRIPTOR, of(y));
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  operation(made);
}

CudnnGraph::Tensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x,
                                         Tensor y, cudnnDataType_t type) {
  const Tensor out = virtualTensor(x.shape, type);
  pointwise(mode, x, y, out,
            type == CUDNN_DATA_BOOLEAN ? type : CUDNN_DATA_FLOAT);
  return out;
}

CudnnGraph::Tensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x,
                                         cudnnDataType_t type) {
  return pointwise(mode, x, Tensor(), type);
}

void CudnnGraph::identity(Tensor x, Tensor out) {
  pointwise(CUDNN_POINTWISE_IDENTITY, x, Tensor(), out);
}

CudnnGraph::Tensor CudnnGraph::select(Tensor condition, Tensor x, Tensor y) {
  const Tensor out = virtualTensor(x.shape, CUDNN_DATA_FLOAT);
  CudnnDescriptor& kind = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
           CUDNN_POINTWISE_BINARY_SELECT)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
           CUDNN_DATA_FLOAT)
      .finalize();
  note(kind);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, kind.get())
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(x))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(y))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(condition))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  operation(made);
  return out;
}

CudnnGraph::Tensor CudnnGraph::index(Tensor like, int64_t dimension) {
  const Tensor out = virtualTensor(like.shape, CUDNN_DATA_INT32);
  CudnnDescriptor& kind = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
           CUDNN_POINTWISE_GEN_INDEX)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
           CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, dimension)
      .finalize();
  note(kind);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, kind.get())
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(like))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  operation(made);
  return out;
}

void CudnnGraph::reduceTo(cudnnReduceTensorOp_t op, Tensor x, Tensor out) {
  CudnnDescriptor& kind = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
           op)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           CUDNN_DATA_FLOAT)
      .finalize();
  note(kind);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           kind.get())
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(x))
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  operation(made);
}

CudnnGraph::Tensor CudnnGraph::reduce(cudnnReduceTensorOp_t op, Tensor x,
                                      Four shape) {
  const Tensor out = virtualTensor(shape, CUDNN_DATA_FLOAT);
  reduceTo(op, x, out);
  return out;
}

void CudnnGraph::matmulTo(Tensor a, Tensor b, Tensor out, Extents extents) {
  CudnnDescriptor& kind = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .finalize();
  note(kind);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           kind.get())
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(a))
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(b))
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  for (auto [name, extent] :
       {std::pair{CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, extents.m},
        {CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, extents.n},
        {CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, extents.k}})
    if (extent.isThere())
      made.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, of(extent));
  operation(made);
}

CudnnGraph::Tensor CudnnGraph::matmul(Tensor a, Tensor b, cudnnDataType_t type,
                                      Extents extents) {
  const Tensor out =
      virtualTensor({a.shape[0], a.shape[1], a.shape[2], b.shape[3]}, type);
  matmulTo(a, b, out, extents);
  return out;
}

CudnnGraph::Tensor CudnnGraph::transpose(Tensor x, cudnnDataType_t type) {
  Four shape = x.shape, strides = x.strides;
  std::swap(shape[2], shape[3]);
  std::swap(strides[2], strides[3]);
  const Tensor out = add(shape, strides, type, true, false, x.offsets);
  CudnnDescriptor& made = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(x))
      .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           of(out));
  operation(made);
  return out;
}

// ---- its plan

Expected<std::unique_ptr<CudnnPlan>>
CudnnGraph::compile(cudnnBackendDescriptor_t configuration) {
  CudnnDescriptor made(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, configuration);
  if (library.device())
    made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
             CUDNN_TYPE_BACKEND_DESCRIPTOR, library.device());
  else
    made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
             library.handle());
  made.finalize();
  RECIPERUN_TRY(made.status());
  int64_t bytes = 0, count = 0;
  RECIPERUN_TRY(library.checked(
      library.getAttribute(made.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                           CUDNN_TYPE_INT64, 1, &count, &bytes),
      "the size of a workspace"));
  return std::make_unique<CudnnPlan>(library, std::move(made), scalars, bytes);
}

Expected<std::unique_ptr<CudnnPlan>> CudnnGraph::plan() {
  RECIPERUN_TRY(failure);
  CudnnDescriptor graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            int64_t(operations.size()), operations.data());
  if (library.handle())
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
              library.handle());
  graph.finalize();
  RECIPERUN_TRY(graph.status().withContext("the graph"));

  CudnnDescriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics
      .set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           graph.get())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (library.device())
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                   CUDNN_TYPE_BACKEND_DESCRIPTOR, library.device());
  heuristics.finalize();
  RECIPERUN_TRY(heuristics.status().withContext("its heuristics"));

  int64_t count = 0;
  RECIPERUN_TRY(library.checked(
      library.getAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
      "a count of engines"));
  std::vector<CudnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < count; ++i) {
    configurations.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    pointers.push_back(configurations.back().get());
  }
  RECIPERUN_TRY(library.checked(
      library.getAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                           pointers.data()),
      "engines"));
  Status last = Status::error("cuDNN has no engine for this attention");
  for (int64_t i = 0; i < count; ++i) {
    auto made = compile(pointers[size_t(i)]);
    if (made)
      return made;
    last = made.status();
  }
  return last;
}

Status CudnnPlan::run(std::map<int64_t, void*> data, void* room,
                      cudaStream_t stream) {
  for (auto& [number, value] : scalars)
    data[number] = &value;
  std::vector<int64_t> numbers;
  std::vector<void*> addresses;
  for (const auto& [number, address] : data) {
    numbers.push_back(number);
    addresses.push_back(address);
  }
  CudnnDescriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
           int64_t(numbers.size()), numbers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           int64_t(addresses.size()), addresses.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, room)
      .finalize();
  RECIPERUN_TRY(pack.status());
  RECIPERUN_TRY(
      library.checked(library.setStream(library.handle(), stream), "a stream"));
  return library.checked(
      library.execute(library.handle(), plan.get(), pack.get()), "to run");
}

} // namespace reciperun::device
