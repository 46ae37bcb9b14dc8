// See JobReader.h.

#include "runtime/checkpoint/quantized/JobReader.h"

#include "runtime/checkpoint/Elements.h"

#include <algorithm>
#include <optional>

namespace reciperun::checkpoint {

Status JobReader::step(int64_t bytes) {
  done += bytes;
  if (progress)
    progress(std::min(done, total), total);
  return goesOn ? goesOn() : Status::ok();
}

Status
JobReader::forRuns(const QuantizationJob& job,
                   const std::function<Status(std::span<const float>)>& take) {
  constexpr int64_t runElements = int64_t(1) << 20;
  const int64_t height = std::max<int64_t>(1, runElements / job.columns);
  std::optional<StoredWeightReader> reader;
  if (job.stored) {
    Expected<StoredWeightReader> opened = StoredWeightReader::open(*job.stored);
    RECIPERUN_TRY(opened);
    reader = std::move(*opened);
  }
  std::vector<float> values;
  for (int64_t row = 0; row < job.rows; row += height) {
    const int64_t count = std::min(height, job.rows - row);
    values.resize(size_t(count * job.columns));
    RECIPERUN_TRY(reader ? reader->readRows(row, count, values)
                         : readPlain(job, row, values));
    RECIPERUN_TRY(take(values));
    RECIPERUN_TRY(step(job.bytes() * count / job.rows));
  }
  return Status::ok();
}

Status JobReader::readPlain(const QuantizationJob& job, int64_t row,
                            std::span<float> values) {
  const ElementType type = *findElementType(job.place.tensor->dtype);
  source.resize(values.size() * size_t(byteSize(type)));
  RECIPERUN_TRY(job.place.file->read(
      *job.place.tensor, row * job.columns * byteSize(type), source));
  convertElements(type, source.data(), plan::DType::f32,
                  reinterpret_cast<std::byte*>(values.data()),
                  int64_t(values.size()));
  return Status::ok();
}

Status JobReader::forPieces(
    const QuantizationJob& job,
    const std::function<Status(std::span<const std::byte>)>& take) {
  constexpr int64_t piece = int64_t(4) << 20;
  for (int64_t at = 0; at < job.bytes(); at += piece) {
    source.resize(size_t(std::min(piece, job.bytes() - at)));
    RECIPERUN_TRY(job.place.file->read(*job.place.tensor, at, source));
    RECIPERUN_TRY(take(source));
    RECIPERUN_TRY(step(int64_t(source.size())));
  }
  return Status::ok();
}

} // namespace reciperun::checkpoint
