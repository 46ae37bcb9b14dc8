// Runs kernels on arrays that a test fills.

#include "test/runtime/kernels/Harness.h"

#include "runtime/device/Float8.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {

using plan::DType;

Array::Array(DType type, std::vector<int64_t> shape)
    : type(type), dims(std::move(shape)),
      bytes(size_t(plan::elementCount(dims) * plan::byteSize(type))) {}

Array Array::random(DType type, std::vector<int64_t> shape, unsigned seed,
                    double scale) {
  Array result(type, std::move(shape));
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, normal(generator));
  return result;
}

Array Array::integers(std::vector<int64_t> shape,
                      const std::vector<int64_t>& values, DType type) {
  Array result(type, std::move(shape));
  assert(int64_t(values.size()) == result.size());
  for (size_t i = 0; i < values.size(); ++i)
    result.set(int64_t(i), double(values[i]));
  return result;
}

Array Array::cast(DType to) const {
  Array result(to, dims);
  for (int64_t i = 0; i < size(); ++i)
    result.set(i, get(i));
  return result;
}

double Array::get(int64_t i) const {
  const void* data = bytes.data();
  switch (type) {
  case DType::f64:
    return static_cast<const double*>(data)[i];
  case DType::f32:
    return static_cast<const float*>(data)[i];
  case DType::bf16:
    return double(static_cast<const device::bf16*>(data)[i]);
  case DType::i32:
    return static_cast<const int32_t*>(data)[i];
  case DType::i64:
    return double(static_cast<const int64_t*>(data)[i]);
  case DType::u16:
    return static_cast<const uint16_t*>(data)[i];
  case DType::f8e4m3:
    return double(float(static_cast<const device::f8e4m3*>(data)[i]));
  case DType::f8e5m2:
    return double(float(static_cast<const device::f8e5m2*>(data)[i]));
  case DType::f8e8m0:
    return double(float(static_cast<const device::f8e8m0*>(data)[i]));
  case DType::i8:
    return static_cast<const int8_t*>(data)[i];
  case DType::u8:
    return static_cast<const uint8_t*>(data)[i];
  }
  return 0;
}

void Array::set(int64_t i, double value) {
  void* data = bytes.data();
  switch (type) {
  case DType::f64:
    static_cast<double*>(data)[i] = value;
    return;
  case DType::f32:
    static_cast<float*>(data)[i] = float(value);
    return;
  case DType::bf16:
    static_cast<device::bf16*>(data)[i] = device::bf16(value);
    return;
  case DType::i32:
    static_cast<int32_t*>(data)[i] = int32_t(value);
    return;
  case DType::i64:
    static_cast<int64_t*>(data)[i] = int64_t(value);
    return;
  case DType::u16:
    static_cast<uint16_t*>(data)[i] = uint16_t(value);
    return;
  case DType::f8e4m3:
    static_cast<device::f8e4m3*>(data)[i] = device::f8e4m3(float(value));
    return;
  case DType::f8e5m2:
    static_cast<device::f8e5m2*>(data)[i] = device::f8e5m2(float(value));
    return;
  case DType::f8e8m0: // a power of two stays one
    static_cast<device::f8e8m0*>(data)[i] =
        device::f8e8m0::above(float(value), 0);
    return;
  case DType::i8:
    static_cast<int8_t*>(data)[i] = int8_t(value);
    return;
  case DType::u8:
    static_cast<uint8_t*>(data)[i] = uint8_t(value);
    return;
  }
}

Array real(std::vector<int64_t> shape, unsigned seed) {
  return Array::random(DType::f64, std::move(shape), seed);
}

Array like(const Array& other) {
  return Array(other.dtype(), other.shape());
}

plan::Mesh meshOf(const char* axis, int size) {
  plan::Mesh mesh;
  mesh.axes = {{axis, size}};
  mesh.ranks = size;
  return mesh;
}

void call(plan::OpKind kind, std::vector<Array*> inputs,
          std::vector<Array*> outputs, const Attributes& attributes,
          const Place& place, Array* workspace) {
  plan::Op op;
  op.kind = kind;
  op.name = "under test";
  op.attributes = attributes;
  auto views = [](const std::vector<Array*>& arrays) {
    std::vector<device::Tensor> result;
    for (Array* array : arrays)
      result.push_back(array ? array->tensor() : device::Tensor{});
    return result;
  };
  const std::vector<device::Tensor> in = views(inputs), out = views(outputs);
  device::CpuContext context(place.threads);
  const device::KernelArgs args{
      op,         in,
      out,        workspace ? workspace->tensor() : device::Tensor{},
      place.mesh, place.rank,
      context};
  const Status status = findKernel(kind)(args);
  ASSERT_TRUE(status.isOk()) << status.message();
}

Array placesOf(int64_t batch, int64_t sequence) {
  Array result(plan::DType::i32, {batch, sequence});
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, double(i % sequence));
  return result;
}

DType accumulatorOf(DType type) {
  return type == DType::f64 ? DType::f64 : DType::f32;
}

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    sum += a.get(i) * b.get(i);
  return sum;
}

double relativeError(const Array& a, const Array& b) {
  EXPECT_EQ(a.size(), b.size());
  double error = 0, largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a.get(i) - b.get(i));
    if (!(difference <= error)) // keeps a NaN
      error = difference;
    largest = std::max(largest, std::abs(b.get(i)));
  }
  return error == 0 || largest == 0 ? error : error / largest;
}

Array centralDifferences(Array& x, const std::function<double()>& loss) {
  constexpr double step = 1e-5;
  Array gradient(DType::f64, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    const double value = x.get(i);
    x.set(i, value + step);
    const double above = loss();
    x.set(i, value - step);
    const double below = loss();
    x.set(i, value);
    gradient.set(i, (above - below) / (2 * step));
  }
  return gradient;
}

} // namespace reciperun::kernels
