// Finding the weights: 1. read the directory's description; 2. take each tensor
// of a type that only quantized weights have, and the tensors of its module; 3.
// check their shapes and infer the scales' blocks.

#include "runtime/checkpoint/quantized/StoredWeights.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/quantized/QuantizationConfig.h"
#include "runtime/device/Float8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <functional>
#include <numeric>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;
using Packing = StoredWeight::Packing;

constexpr std::string_view packedSuffix = ".weight_packed";
constexpr std::string_view weightSuffix = ".weight";

/// Tensors beside a module's weight, and scales of a quantized cache.
constexpr std::string_view auxiliarySuffixes[] = {
    ".weight_packed", ".weight_scale",    ".weight_scale_inv", ".weight_shape",
    ".input_scale",   ".pre_quant_scale", ".output_scale",     ".k_scale",
    ".v_scale",       ".q_scale",         ".prob_output_scale"};

std::string tensorText(const ModelFiles::Place& place) {
  return "`" + place.file->path().string() + "`: tensor `" +
         place.tensor->name + "`";
}

int64_t elementsOf(const StoredTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t(1),
                         std::multiplies<>());
}

int64_t divideUp(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// Describes one weight from the tensors of its module.
class Description {
public:
  Description(const ModelFiles& model, const QuantizationConfig& config,
              std::string base, ModelFiles::Place data)
      : model(model), config(config), base(std::move(base)) {
    weight.data = data;
  }

  Expected<StoredWeight> run() {
    RECIPERUN_TRY(refuseUnread());
    if (weight.data.tensor->shape.size() != 2)
      return Status::error(tensorText(weight.data) + " has shape " +
                           shapeText(weight.data.tensor->shape) +
                           ", and only matrices are read");
    RECIPERUN_TRY(weight.data.tensor->name.ends_with(packedSuffix)
                      ? findPacked()
                      : findPlain());
    RECIPERUN_TRY(findScales());
    RECIPERUN_TRY(findInputScale());
    return std::move(weight);
  }

private:
  std::optional<ModelFiles::Place> beside(const char* suffix) const {
    return model.find(base + suffix);
  }

  Status refuseUnread() const {
    for (const char* suffix : {".weight_zero_point", ".weight_g_idx",
                               ".weight_scale_2", ".weight_global_scale"})
      if (const auto found = beside(suffix))
        return Status::error(
            tensorText(*found) +
            " belongs to a kind of quantization that is not supported: "
            "symmetric fp8, int8 and int4 with one level of scales are");
    return Status::ok();
  }

  Status findPlain() {
    const StoredTensor& tensor = *weight.data.tensor;
    weight.rows = tensor.shape[0];
    weight.columns = tensor.shape[1];
    if (tensor.dtype == "F8_E4M3")
      return Status::ok();
    weight.format = WeightFormat::int8;
    if (tensor.dtype == "I8")
      return Status::ok();
    weight.format = WeightFormat::int4;
    weight.packing = Packing::pairsOfRows;
    weight.rows *= 2;
    if (tensor.dtype == "U8" &&
        config.method == QuantizationConfig::Method::modelOpt)
      return Status::ok();
    return Status::error(tensorText(weight.data) + " has dtype `" +
                         tensor.dtype +
                         "`, expected `F8_E4M3`, `I8` or "
                         "ModelOpt's `U8`");
  }

  /// Reads a packed matrix. Its shape is in a separate tensor, because the last
  /// word of a row may be padded.
  Status findPacked() {
    const StoredTensor& tensor = *weight.data.tensor;
    if (tensor.dtype != "I32")
      return Status::error(tensorText(weight.data) + " has dtype `" +
                           tensor.dtype + "`, expected `I32`");
    RECIPERUN_TRY(readShape());
    weight.packing = Packing::wordsOfRow;
    const int64_t words = tensor.shape[1];
    if (isWordCount(words, 4))
      weight.format = WeightFormat::int4;
    else if (isWordCount(words, 8))
      weight.format = WeightFormat::int8;
    else
      weight.rows = -1;
    if (tensor.shape[0] != weight.rows)
      return Status::error(tensorText(weight.data) + " has shape " +
                           shapeText(tensor.shape) +
                           ", which is neither of int8 nor of int4 for the "
                           "shape in `" +
                           base + ".weight_shape`");
    return Status::ok();
  }

  /// Whether rows of this many words can hold codes of `bits` bits. For short
  /// rows both widths are possible, and `config` decides.
  bool isWordCount(int64_t words, int64_t bits) const {
    return words == divideUp(weight.columns, 32 / bits) &&
           (config.integerBits == 0 || config.integerBits == bits);
  }

  Status readShape() {
    const auto place = beside(".weight_shape");
    if (!place)
      return missing(".weight_shape");
    const StoredTensor& tensor = *place->tensor;
    int64_t sizes[2] = {};
    if (elementsOf(tensor) == 2 && tensor.dtype == "I64") {
      RECIPERUN_TRY(place->file->read(
          tensor, 0, std::as_writable_bytes(std::span(sizes))));
    } else if (elementsOf(tensor) == 2 && tensor.dtype == "I32") {
      int32_t narrow[2] = {};
      RECIPERUN_TRY(place->file->read(
          tensor, 0, std::as_writable_bytes(std::span(narrow))));
      std::copy(narrow, narrow + 2, sizes);
    }
    constexpr int64_t most = int64_t(1) << 40;
    if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > most || sizes[1] > most)
      return Status::error(tensorText(*place) +
                           " does not hold two positive sizes");
    weight.rows = sizes[0];
    weight.columns = sizes[1];
    return Status::ok();
  }

  Status missing(const char* suffix) const {
    return Status::error(tensorText(weight.data) + " is quantized, and `" +
                         base + suffix + "` is missing");
  }

  Status findScales() {
    auto scale = beside(".weight_scale");
    if (!scale)
      scale = beside(".weight_scale_inv");
    if (!scale)
      return missing(".weight_scale");
    weight.scale = *scale;
    if (!findElementType(scale->tensor->dtype))
      return Status::error(tensorText(*scale) + " has dtype `" +
                           scale->tensor->dtype +
                           "`, expected `F32`, `BF16` or `F16`");
    return inferBlocks(elementsOf(*scale->tensor));
  }

  Status inferBlocks(int64_t count) {
    const int64_t n = weight.rows, k = weight.columns;
    auto take = [&](int64_t rows, int64_t columns) {
      weight.scaleRows = rows;
      weight.scaleColumns = columns;
      return Status::ok();
    };
    if (count == 1)
      return take(n, k);
    const int64_t rows = config.blockRows > 1 ? config.blockRows : 128,
                  columns = config.blockRows > 1 ? config.blockColumns : 128;
    if (weight.format == WeightFormat::fp8 && isBlocks() &&
        count == divideUp(n, rows) * divideUp(k, columns))
      return take(rows, columns);
    if (count == n)
      return take(1, k);
    const int64_t group = config.blockRows == 1 ? config.blockColumns
                          : count % n == 0      ? divideUp(k, count / n)
                                                : 0;
    if (group > 0 && count == n * divideUp(k, group))
      return take(1, group);
    if (count == divideUp(n, rows) * divideUp(k, columns))
      return take(rows, columns);
    return Status::error(tensorText(weight.scale) + " has " +
                         std::to_string(count) + " scales for a matrix of " +
                         std::to_string(n) + " x " + std::to_string(k) +
                         ": expected one, one for each row, for each group "
                         "of a row or for each block");
  }

  /// Whether each scale belongs to a block, even if there are as many scales as
  /// rows.
  bool isBlocks() const {
    return config.blockRows > 1 || weight.scale.tensor->name.ends_with("_inv");
  }

  Status findInputScale() {
    weight.inputScale = beside(".pre_quant_scale");
    if (!weight.inputScale)
      return Status::ok();
    const StoredTensor& tensor = *weight.inputScale->tensor;
    if (elementsOf(tensor) == weight.columns && findElementType(tensor.dtype))
      return Status::ok();
    return Status::error(tensorText(*weight.inputScale) + " has shape " +
                         shapeText(tensor.shape) + " and dtype `" +
                         tensor.dtype + "`, expected " +
                         std::to_string(weight.columns) + " floats");
  }

  const ModelFiles& model;
  const QuantizationConfig& config;
  std::string base;
  StoredWeight weight;
};

Expected<std::vector<float>> readFloats(const ModelFiles::Place& place) {
  const ElementType type = *findElementType(place.tensor->dtype);
  const int64_t count = elementsOf(*place.tensor);
  std::vector<std::byte> bytes(size_t(count * byteSize(type)));
  RECIPERUN_TRY(place.file->read(*place.tensor, 0, bytes));
  std::vector<float> values(static_cast<size_t>(count));
  convertElements(type, bytes.data(), plan::DType::f32,
                  reinterpret_cast<std::byte*>(values.data()), count);
  return values;
}

using CodeValues = std::array<float, 256>;

CodeValues integerValues(int (*valueOf)(int)) {
  CodeValues values;
  for (int code = 0; code < 256; ++code)
    values[size_t(code)] = float(valueOf(code));
  return values;
}

/// The values of the codes of a format, see readCodes.
const CodeValues& codeValues(WeightFormat format) {
  static const CodeValues tables[] = {
      device::f8e4m3::table(),
      integerValues([](int code) { return int(int8_t(code)); }),
      integerValues([](int code) { return code - 8; })};
  return tables[size_t(format)];
}

/// Unpacks the codes of rows that are stored as I32 words. Stored int8 codes
/// have an offset of 128.
void unpackWords(const uint8_t* bytes, int64_t rowBytes, bool isHalf,
                 int64_t columns, std::span<uint8_t> codes) {
  const int64_t count = int64_t(codes.size()) / columns;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const uint8_t* row = bytes + i * rowBytes;
      codes[size_t(i * columns + j)] =
          isHalf ? uint8_t(row[j / 2] >> j % 2 * 4 & 15) : row[j] ^ 0x80;
    }
}

/// Unpacks the codes of rows from `first` on. `bytes` begins with the pair of
/// rows that contains row `first`. Converts 4 bits in two's complement to codes
/// with an offset of 8.
void unpackPairs(const uint8_t* bytes, int64_t first, int64_t columns,
                 std::span<uint8_t> codes) {
  const int64_t count = int64_t(codes.size()) / columns;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t pair = (first + i) / 2 - first / 2;
      codes[size_t(i * columns + j)] =
          uint8_t(bytes[pair * columns + j] >> (first + i) % 2 * 4 & 15) ^ 8;
    }
}

} // namespace

std::string StoredWeight::description() const {
  std::string text = sizes::weightFormatName(format);
  if (scaleRows == rows && scaleColumns == columns)
    return text + " with one scale";
  if (scaleRows == 1 && scaleColumns == columns)
    return text + " with a scale for each row";
  if (scaleRows == 1)
    return text + " in groups of " + std::to_string(scaleColumns);
  return text + " in blocks of " + std::to_string(scaleRows) + " x " +
         std::to_string(scaleColumns);
}

Expected<StoredWeights> StoredWeights::open(const ModelFiles& model) {
  StoredWeights made;
  auto config = readQuantizationConfig(model.directory());
  RECIPERUN_TRY(config);
  if (!*config)
    return made;
  made.isQuantized = true;
  for (const std::string& name : model.names()) {
    const ModelFiles::Place place = *model.find(name);
    const bool isPacked = name.ends_with(packedSuffix);
    const std::string& type = place.tensor->dtype;
    if (!isPacked && (!name.ends_with(weightSuffix) || findElementType(type)))
      continue;
    const std::string base = name.substr(
        0, name.size() - (isPacked ? packedSuffix : weightSuffix).size());
    Expected<StoredWeight> weight =
        Description(model, **config, base, place).run();
    if (!weight)
      return weight.status().withContext((*config)->where);
    made.weights.emplace(base + std::string(weightSuffix), std::move(*weight));
  }
  return made;
}

const StoredWeight* StoredWeights::find(std::string_view name) const {
  const auto found = weights.find(name);
  return found == weights.end() ? nullptr : &found->second;
}

bool StoredWeights::isAuxiliary(std::string_view name) const {
  return isQuantized &&
         std::any_of(
             std::begin(auxiliarySuffixes), std::end(auxiliarySuffixes),
             [&](std::string_view suffix) { return name.ends_with(suffix); });
}

Expected<StoredWeightReader>
StoredWeightReader::open(const StoredWeight& weight, InputScales wanted) {
  StoredWeightReader reader(weight);
  Expected<std::vector<float>> scales = readFloats(weight.scale);
  RECIPERUN_TRY(scales);
  reader.scales = std::move(*scales);
  if (weight.inputScale && wanted == InputScales::folded) {
    Expected<std::vector<float>> inputScales = readFloats(*weight.inputScale);
    RECIPERUN_TRY(inputScales);
    reader.inputScales = std::move(*inputScales);
  }
  return reader;
}

Expected<std::vector<float>> readInputScales(const StoredWeight& weight) {
  if (weight.inputScale)
    return readFloats(*weight.inputScale);
  return std::vector<float>(size_t(weight.columns), 1.0f);
}

Status StoredWeightReader::readRows(int64_t first, int64_t count,
                                    std::span<float> out) {
  codes.resize(out.size());
  RECIPERUN_TRY(readCodes(first, count, codes));
  valuesOf(first, codes, out);
  return Status::ok();
}

void StoredWeightReader::valuesOf(int64_t first, std::span<const uint8_t> codes,
                                  std::span<float> out) const {
  const CodeValues& values = codeValues(weight->format);
  std::transform(codes.begin(), codes.end(), out.begin(),
                 [&](uint8_t code) { return values[code]; });
  scale(first, int64_t(codes.size()) / weight->columns, out.data());
}

Status StoredWeightReader::readCodes(int64_t first, int64_t count,
                                     std::span<uint8_t> codes) {
  const StoredTensor& tensor = *weight->data.tensor;
  assert(int64_t(codes.size()) == count * weight->columns && "whole rows");
  const int64_t together = weight->packing == Packing::pairsOfRows ? 2 : 1;
  const int64_t rowBytes = (tensor.end - tensor.begin) / tensor.shape[0];
  const int64_t begin = first / together,
                end = divideUp(first + count, together);
  stored.resize(size_t((end - begin) * rowBytes));
  RECIPERUN_TRY(weight->data.file->read(tensor, begin * rowBytes, stored));
  const auto* bytes = reinterpret_cast<const uint8_t*>(stored.data());
  switch (weight->packing) {
  case Packing::bytes:
    std::copy_n(bytes, codes.size(), codes.begin());
    break;
  case Packing::wordsOfRow:
    unpackWords(bytes, rowBytes, weight->format == WeightFormat::int4,
                weight->columns, codes);
    break;
  case Packing::pairsOfRows:
    unpackPairs(bytes, first, weight->columns, codes);
  }
  return Status::ok();
}

void StoredWeightReader::scale(int64_t first, int64_t count, float* out) const {
  const int64_t k = weight->columns, across = weight->scalesAcross();
  for (int64_t i = 0; i < count; ++i) {
    const float* row = scales.data() + (first + i) / weight->scaleRows * across;
    for (int64_t block = 0; block < across; ++block) {
      const int64_t end = std::min(k, (block + 1) * weight->scaleColumns);
      for (int64_t j = block * weight->scaleColumns; j < end; ++j)
        out[i * k + j] *= row[block];
    }
    for (size_t j = 0; j < inputScales.size(); ++j)
      out[size_t(i * k) + j] *= inputScales[j];
  }
}

} // namespace reciperun::checkpoint
