// See TensorContents.h.

#include "runtime/server/grpc/TensorContents.h"

#include "runtime/server/models/Tensor.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace reciperun::server {
namespace {

/// Reads the fields of an input's contents, one after the other.
class ContentsReader {
public:
  ContentsReader(const InputMessage& input, const std::string& model)
      : input(input), model(model), type(dataTypeOf(input.datatype())) {}

  Expected<std::string> read();

private:
  Status expect(DataType found) const;
  template <class Field> Status take(DataType found, const Field& field);
  template <class Small, class Field>
  Status narrow(DataType found, const Field& field);
  Status takeSigned();
  Status takeUnsigned();
  Status takeBytes();
  Status wrong(const std::string& rest) const {
    return Status::error("unexpected explicit tensor data for input tensor '" +
                             input.name() + "' for model '" + model + "'" +
                             rest,
                         StatusCode::invalidArgument);
  }

  const InputMessage& input;
  const std::string& model;
  const std::optional<DataType> type; // nothing: an unknown one
  std::string data;
};

Status ContentsReader::expect(DataType found) const {
  if (!data.empty())
    return wrong(", binary data was already supplied.");
  if (type != found)
    return wrong(std::string(" of type '") + nameOf(found) +
                 "', expected datatype '" +
                 (type ? nameOf(*type) : "<invalid>") + "'");
  return Status::ok();
}

/// Takes a field whose elements are those of the tensor.
template <class Field>
Status ContentsReader::take(DataType found, const Field& field) {
  if (field.empty())
    return Status::ok();
  RECIPERUN_TRY(expect(found));
  data.assign(reinterpret_cast<const char*>(field.data()),
              size_t(field.size()) * sizeof(*field.data()));
  return Status::ok();
}

/// Takes a field whose elements are wider than those of the tensor.
template <class Small, class Field>
Status ContentsReader::narrow(DataType found, const Field& field) {
  RECIPERUN_TRY(expect(found));
  data.reserve(size_t(field.size()) * sizeof(Small));
  for (const auto element : field) {
    if (!std::in_range<Small>(element))
      return Status::error("value " + std::to_string(element) +
                               " of input tensor '" + input.name() +
                               "' for model '" + model +
                               "' is out of the range of " + nameOf(found),
                           StatusCode::invalidArgument);
    const auto small = Small(element);
    data.append(reinterpret_cast<const char*>(&small), sizeof small);
  }
  return Status::ok();
}

Status ContentsReader::takeSigned() {
  const auto& field = input.contents().int_contents();
  if (field.empty())
    return Status::ok();
  if (type == DataType::int8)
    return narrow<int8_t>(DataType::int8, field);
  if (type == DataType::int16)
    return narrow<int16_t>(DataType::int16, field);
  return take(DataType::int32, field);
}

Status ContentsReader::takeUnsigned() {
  const auto& field = input.contents().uint_contents();
  if (field.empty())
    return Status::ok();
  if (type == DataType::uint8)
    return narrow<uint8_t>(DataType::uint8, field);
  if (type == DataType::uint16)
    return narrow<uint16_t>(DataType::uint16, field);
  return take(DataType::uint32, field);
}

Status ContentsReader::takeBytes() {
  const auto& field = input.contents().bytes_contents();
  if (field.empty())
    return Status::ok();
  RECIPERUN_TRY(expect(DataType::bytes));
  for (const std::string& element : field)
    appendBytes(data, element);
  return Status::ok();
}

Expected<std::string> ContentsReader::read() {
  const auto& contents = input.contents();
  RECIPERUN_TRY(take(DataType::boolean, contents.bool_contents()));
  RECIPERUN_TRY(takeSigned());
  RECIPERUN_TRY(take(DataType::int64, contents.int64_contents()));
  RECIPERUN_TRY(takeUnsigned());
  RECIPERUN_TRY(take(DataType::uint64, contents.uint64_contents()));
  RECIPERUN_TRY(take(DataType::fp32, contents.fp32_contents()));
  RECIPERUN_TRY(take(DataType::fp64, contents.fp64_contents()));
  RECIPERUN_TRY(takeBytes());
  return std::move(data);
}

} // namespace

Expected<std::string> readContents(const InputMessage& input,
                                   const std::string& model) {
  return ContentsReader(input, model).read();
}

} // namespace reciperun::server
