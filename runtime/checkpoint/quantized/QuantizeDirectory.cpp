// 1. Choose for each tensor of the source whether to quantize, dequantize or
//    copy it (QuantizationJob.h).
// 2. With a calibration, search the factors of each input (InputFactors.h).
// 3. Describe the output tensors: a matrix is followed by its scales.
// 4. Stream the matrices in runs of rows: read or dequantize, multiply by the
//    factors, quantize, pack. The scales of a matrix are written after it.
// 5. Copy the small files and write the configuration (QuantizedFiles.h). The
//    directory appears when everything is written (ExportDirectory.h).

#include "runtime/checkpoint/quantized/QuantizeDirectory.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/quantized/InputFactors.h"
#include "runtime/checkpoint/quantized/JobReader.h"
#include "runtime/checkpoint/quantized/QuantizationJob.h"
#include "runtime/checkpoint/quantized/QuantizedFiles.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/quantize/RowStream.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

using sizes::WeightFormat;

class DirectoryQuantizer {
public:
  DirectoryQuantizer(const ModelFiles& model,
                     std::vector<QuantizationJob> chosen,
                     const fs::path& target, const QuantizeOptions& options)
      : model(model), jobs(std::move(chosen)), target(target), options(options),
        scheme(quantize::usualScheme(options.format)),
        reader(options.goesOn, options.progress) {
    for (const QuantizationJob& job : jobs)
      reader.expect(job);
  }

  Status run() {
    note(unfitNote(jobs, options.format));
    if (options.calibrate)
      RECIPERUN_TRY(calibrate());
    RECIPERUN_TRY(writeTensors());
    RECIPERUN_TRY(copySmallFiles(model, target));
    // Last: without config.json a folder at an address is no model yet.
    return writeQuantizedConfig(model, target, jobs, options);
  }

private:
  bool isModelOpt() const {
    return options.layout == QuantizedLayout::modelOpt;
  }

  void note(const std::string& text) const {
    if (!text.empty() && options.note)
      options.note(text);
  }

  Status calibrate() {
    Expected<InputStatistics> statistics = options.calibrate();
    RECIPERUN_TRY(statistics);
    note(sparseExpertsNote(*statistics));
    auto found = InputFactors::search(jobs, *std::move(statistics), scheme,
                                      options.threads, reader);
    RECIPERUN_TRY(found);
    factors = *std::move(found);
    note(uncalibratedNote(jobs));
    return Status::ok();
  }

  /// The tensors of a job, in the order in which they are written.
  std::vector<TensorSpec> specsOf(const QuantizationJob& job) const {
    const int64_t n = job.rows, k = job.columns;
    if (!job.isQuantized)
      return {
          {job.name, job.stored ? "BF16" : job.place.tensor->dtype,
           job.stored ? std::vector<int64_t>{n, k} : job.place.tensor->shape}};
    const std::string base = job.module();
    const bool isFp8 = options.format == WeightFormat::fp8;
    std::vector<int64_t> scaleShape = sizes::scaleShape(scheme.scales, n, k);
    if (scaleShape.size() == 1 && !isModelOpt())
      scaleShape.push_back(1);
    const TensorSpec scale = {base + ".weight_scale", "F32", scaleShape};
    if (isFp8)
      return {{job.name, "F8_E4M3", {n, k}}, scale};
    if (isModelOpt() && !factors.areOwn(job))
      return {{job.name, "U8", {n / 2, k}}, scale};
    if (isModelOpt())
      return {{job.name, "U8", {n / 2, k}},
              scale,
              {base + ".pre_quant_scale", "F32", {k}}};
    const int64_t perWord = options.format == WeightFormat::int4 ? 8 : 4;
    return {{base + ".weight_packed", "I32", {n, k / perWord}},
            scale,
            {base + ".weight_shape", "I64", {2}}};
  }

  Status writeTensors() {
    std::vector<TensorSpec> specs;
    for (const QuantizationJob& job : jobs)
      for (TensorSpec& spec : specsOf(job))
        specs.push_back(std::move(spec));
    Expected<ModelWriter> writer =
        ModelWriter::create(target, std::move(specs), options.maxFileBytes);
    RECIPERUN_TRY(writer);
    for (const QuantizationJob& job : jobs) {
      Status status = job.isQuantized ? writeQuantized(job, *writer)
                      : job.stored    ? writeDequantized(job, *writer)
                                      : copyTensor(job, *writer);
      RECIPERUN_TRY(status.withContext("tensor `" + job.name + "`"));
    }
    return writer->finish();
  }

  Status writeQuantized(const QuantizationJob& job, ModelWriter& writer) {
    std::vector<float> scales(
        size_t(quantize::scaleCount(scheme, job.rows, job.columns)));
    const std::vector<float> importance = factors.importance(job);
    quantize::RowStream stream(
        scheme, job.rows, job.columns, options.threads,
        [&](const quantize::QuantizedRun& run) {
          std::copy(run.scales.begin(), run.scales.end(),
                    scales.begin() + run.firstScale);
          return writer.append(packed(run.data, job.columns));
        },
        importance);
    std::vector<float> scaled;
    RECIPERUN_TRY(reader.forRuns(job, [&](std::span<const float> values) {
      if (factors.of(job).empty())
        return stream.append(values);
      scaled.assign(values.begin(), values.end());
      quantize::scaleInputs(factors.of(job), scaled);
      return stream.append(scaled);
    }));
    const std::span<const float> ofRows = factors.ofRows(job);
    const size_t perRow = scales.size() / size_t(job.rows);
    for (size_t row = 0; row < ofRows.size(); ++row)
      for (size_t i = row * perRow; i < (row + 1) * perRow; ++i)
        scales[i] *= ofRows[row];
    RECIPERUN_TRY(writer.append(std::as_bytes(std::span(scales))));
    if (factors.areOwn(job))
      return writer.append(std::as_bytes(factors.of(job)));
    if (isModelOpt() || options.format == WeightFormat::fp8)
      return Status::ok();
    const int64_t shape[] = {job.rows, job.columns};
    return writer.append(std::as_bytes(std::span(shape)));
  }

  /// The bytes of a run in the output layout. Runs of int4 have an even number
  /// of rows: RowStream makes such runs, and all matrices quantized to int4
  /// have an even number of rows.
  std::span<const std::byte> packed(std::span<const uint8_t> data,
                                    int64_t columns) {
    if (options.format == WeightFormat::fp8 ||
        (options.format == WeightFormat::int4 && !isModelOpt()))
      return std::as_bytes(data); // both layouts offset int4 by 8
    repacked.resize(data.size());
    if (options.format == WeightFormat::int8)
      for (size_t i = 0; i < data.size(); ++i)
        repacked[i] = data[i] ^ 0x80; // + 128
    else
      packPairs(data, columns);
    return std::as_bytes(std::span(repacked));
  }

  /// Packs two rows of int4 codes with an offset of 8 into one row of bytes, in
  /// two's complement, the even row in the low half.
  void packPairs(std::span<const uint8_t> data, int64_t columns) {
    const size_t k = size_t(columns), rows = data.size() * 2 / k;
    assert(rows % 2 == 0 && "runs have pairs of rows");
    auto half = [&](size_t row, size_t column) {
      return unsigned(data[(row * k + column) / 2] >> column % 2 * 4 & 15) ^ 8;
    };
    for (size_t pair = 0; pair < rows / 2; ++pair)
      for (size_t j = 0; j < k; ++j)
        repacked[pair * k + j] =
            uint8_t(half(2 * pair, j) | half(2 * pair + 1, j) << 4);
  }

  Status writeDequantized(const QuantizationJob& job, ModelWriter& writer) {
    std::vector<std::byte> narrow;
    return reader.forRuns(job, [&](std::span<const float> values) {
      narrow.resize(values.size() * 2);
      convertElements(ElementType::f32, std::as_bytes(values).data(),
                      plan::DType::bf16, narrow.data(), int64_t(values.size()));
      return writer.append(narrow);
    });
  }

  Status copyTensor(const QuantizationJob& job, ModelWriter& writer) {
    if (const std::vector<std::byte>* folded = factors.folded(job.name)) {
      RECIPERUN_TRY(writer.append(*folded));
      return reader.step(job.bytes());
    }
    return reader.forPieces(job, [&](std::span<const std::byte> bytes) {
      return writer.append(bytes);
    });
  }

  const ModelFiles& model;
  std::vector<QuantizationJob> jobs;
  fs::path target;
  const QuantizeOptions& options;
  quantize::Scheme scheme;
  JobReader reader;
  InputFactors factors;
  std::vector<uint8_t> repacked;
};

} // namespace

Status quantizeHuggingFace(const fs::path& source, const fs::path& directory,
                           const QuantizeOptions& options) {
  if (options.layout == QuantizedLayout::modelOpt &&
      options.format == WeightFormat::int8)
    return Status::error("ModelOpt's layout has no int8 for weights alone: "
                         "choose the layout `compressed-tensors`, or fp8 or "
                         "int4");
  if (options.calibrate && (options.layout != QuantizedLayout::modelOpt ||
                            options.format != WeightFormat::int4))
    return Status::error("factors of inputs are for int4 in ModelOpt's layout");
  Expected<ModelFiles> model = ModelFiles::open(source);
  RECIPERUN_TRY(model);
  Expected<StoredWeights> stored = StoredWeights::open(*model);
  RECIPERUN_TRY(stored);
  Expected<std::vector<QuantizationJob>> jobs =
      chooseJobs(*model, *stored, options.format);
  RECIPERUN_TRY(jobs);
  Expected<ExportDirectory> target =
      ExportDirectory::create(directory, Contents::model, options.existing);
  RECIPERUN_TRY(target);
  RECIPERUN_TRY(
      DirectoryQuantizer(*model, *std::move(jobs), target->path(), options)
          .run());
  return target->commit();
}

} // namespace reciperun::checkpoint
