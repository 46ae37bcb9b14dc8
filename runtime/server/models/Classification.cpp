// See Classification.h.

#include "runtime/server/models/Classification.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace reciperun::server {
namespace {

constexpr int64_t mostClassified = 1'000'000; // elements; as in Triton

/// The classes of one element of a batch, of type T.
template <class T>
void appendClasses(std::string_view bytes, size_t classes,
                   std::span<const std::string> labels, std::string& out) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  // A NaN is less than all numbers.
  std::ranges::stable_sort(order, [&](size_t one, size_t other) {
    return values[one] > values[other] ||
           (values[one] == values[one] && values[other] != values[other]);
  });
  for (size_t i = 0; i < classes; ++i) {
    const size_t index = order[i];
    std::string text =
        std::to_string(values[index]) + ":" + std::to_string(index);
    if (index < labels.size() && !labels[index].empty())
      text += ":" + labels[index];
    appendBytes(out, text);
  }
}

using AppendClasses = void (*)(std::string_view, size_t,
                               std::span<const std::string>, std::string&);

/// Null for a type without an order.
AppendClasses appenderOf(DataType type) {
  switch (type) {
  case DataType::uint8:
    return appendClasses<uint8_t>;
  case DataType::uint16:
    return appendClasses<uint16_t>;
  case DataType::uint32:
    return appendClasses<uint32_t>;
  case DataType::uint64:
    return appendClasses<uint64_t>;
  case DataType::int8:
    return appendClasses<int8_t>;
  case DataType::int16:
    return appendClasses<int16_t>;
  case DataType::int32:
    return appendClasses<int32_t>;
  case DataType::int64:
    return appendClasses<int64_t>;
  case DataType::fp32:
    return appendClasses<float>;
  case DataType::fp64:
    return appendClasses<double>;
  case DataType::boolean:
  case DataType::fp16:
  case DataType::bf16:
  case DataType::bytes:
    return nullptr;
  }
  return nullptr;
}

} // namespace

Expected<Tensor> classify(const Tensor& output, int64_t classes, bool isBatched,
                          std::span<const std::string> labels) {
  const AppendClasses append = appenderOf(output.type);
  if (!append)
    return Status::error("class result not available for output due to "
                         "unsupported type '" +
                             std::string(nameOf(output.type)) + "'",
                         StatusCode::invalidArgument);
  const std::span<const int64_t> shape = output.shape;
  const bool hasBatch = isBatched && !shape.empty();
  const auto elements = elementsOf(shape.subspan(hasBatch ? 1 : 0));
  const auto all = elementsOf(shape);
  if (!elements || !all ||
      uint64_t(*all) != output.data.size() / bytesOf(output.type))
    return Status::error("output tensor shape does not match size of output "
                         "for '" +
                         output.name + "'");
  if (*elements > mostClassified)
    return Status::error("classification output tensor too large",
                         StatusCode::invalidArgument);
  const int64_t count = std::clamp<int64_t>(classes, 0, *elements);
  Tensor made;
  made.name = output.name;
  made.type = DataType::bytes;
  if (hasBatch)
    made.shape.push_back(shape[0]);
  made.shape.push_back(count);
  const size_t bytes = size_t(*elements) * bytesOf(output.type);
  for (int64_t i = 0; i < (hasBatch ? shape[0] : 1); ++i)
    append(std::string_view(output.data).substr(size_t(i) * bytes, bytes),
           size_t(count), labels, made.data);
  return made;
}

bool wantsClasses(std::span<const RequestedOutput> wanted) {
  return std::ranges::any_of(
      wanted, [](const RequestedOutput& each) { return each.classes > 0; });
}

void classifyOutputs(std::span<const RequestedOutput> wanted, bool isBatched,
                     const ClassLabels& labels, InferResponse& response) {
  for (Tensor& output : response.outputs) {
    const auto request =
        std::ranges::find(wanted, output.name, &RequestedOutput::name);
    if (request == wanted.end() || request->classes == 0)
      continue;
    const auto known = labels.find(output.name);
    auto made = classify(output, request->classes, isBatched,
                         known == labels.end() ? std::span<const std::string>()
                                               : known->second);
    if (!made) {
      response.status = made.status();
      return;
    }
    output = *std::move(made);
  }
}

} // namespace reciperun::server
