// See QuantizingAccess.h.

#include "runtime/checkpoint/quantized/QuantizingAccess.h"

#include "runtime/plan/RegionShards.h"

#include <cassert>
#include <cstring>
#include <vector>

namespace reciperun::checkpoint {

plan::DType writtenType(const plan::Plan& plan,
                        const plan::Parameter& parameter) {
  return parameter.quantization ? plan::DType::f32
                                : plan::typeOf(plan, parameter);
}

void QuantizingAccess::start(int parameter) {
  const plan::Stage& stage = plan::stageOf(plan, rank);
  const plan::Parameter& described = plan.parameters[size_t(parameter)];
  const int value = plan::holdingOf(stage, parameter).value;
  const int64_t rows = stage.buffers[size_t(value)].shape[0];
  const int64_t columns = plan::blockElements(described, plan.mesh) / rows;
  stream = std::make_unique<quantize::RowStream>(
      quantize::schemeOf(described.quantization->format,
                         described.quantization->scales),
      rows, columns, threads,
      [this, parameter](const quantize::QuantizedRun& run) {
        RECIPERUN_TRY(access.write(parameter, Content::value, run.firstByte,
                                   std::as_bytes(run.data)));
        return access.write(parameter, Content::scale,
                            run.firstScale * int64_t(sizeof(float)),
                            std::as_bytes(run.scales));
      });
}

Status QuantizingAccess::write(int parameter, Content content, int64_t offset,
                               std::span<const std::byte> data) {
  const plan::Parameter& described = plan.parameters[size_t(parameter)];
  if (!described.quantization || content != Content::value)
    return access.write(parameter, content, offset, data);
  if (offset == 0)
    start(parameter);
  assert(stream && "a value is written from its start");
  std::vector<float> values(data.size() / sizeof(float));
  std::memcpy(values.data(), data.data(), data.size());
  return stream->append(values).withContext("parameter `" + described.name +
                                            "`");
}

Status QuantizingAccess::read(int parameter, Content content, int64_t offset,
                              std::span<std::byte> data) const {
  return access.read(parameter, content, offset, data);
}

} // namespace reciperun::checkpoint
