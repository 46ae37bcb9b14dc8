// 1. Find the input that each quantized matrix reads.
// 2. Search the factors of each input over the matrices that read it.
// 3. Fold the factors into the norm that computes the input where possible.

#include "runtime/checkpoint/quantized/InputFactors.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/quantize/ActivationScales.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reciperun::checkpoint {
namespace {

float floatAt(ElementType type, const std::byte* stored) {
  float value = 0;
  convertElements(type, stored, plan::DType::f32,
                  reinterpret_cast<std::byte*>(&value), 1);
  return value;
}

Status checkChannels(const QuantizationJob& job, int64_t channels) {
  if (job.columns == channels)
    return Status::ok();
  return Status::error(
      "tensor `" + job.name + "` has " + std::to_string(job.columns) +
      " inputs, and the calibration measured " + std::to_string(channels) +
      "; calibrate with the model of this directory");
}

/// Searches the factors of an input over the matrices that read it; empty when
/// none does.
Expected<std::vector<float>>
searchInput(const std::vector<QuantizationJob>& jobs, int input,
            quantize::ActivationScaleSearch search, int64_t channels,
            JobReader& reader) {
  bool isRead = false;
  for (const QuantizationJob& job : jobs) {
    if (job.input != input)
      continue;
    isRead = true;
    RECIPERUN_TRY(checkChannels(job, channels));
    RECIPERUN_TRY(reader
                      .forRuns(job,
                               [&](std::span<const float> values) {
                                 return search.add(values);
                               })
                      .withContext("tensor `" + job.name + "`"));
  }
  return isRead ? search.best().inScale : std::vector<float>();
}

} // namespace

Expected<InputFactors> InputFactors::search(std::vector<QuantizationJob>& jobs,
                                            const InputStatistics& statistics,
                                            const quantize::Scheme& scheme,
                                            int threads, JobReader& reader) {
  for (QuantizationJob& job : jobs) {
    const auto input = statistics.inputOf.find(job.name);
    if (!job.isQuantized || input == statistics.inputOf.end())
      continue;
    job.input = int(input->second);
    reader.expect(job);
  }
  InputFactors found;
  for (size_t input = 0; input < statistics.inputs.size(); ++input) {
    const quantize::ActivationStatistics& measured = statistics.inputs[input];
    auto factors =
        searchInput(jobs, int(input),
                    quantize::ActivationScaleSearch(scheme, measured, threads),
                    int64_t(measured.mean.size()), reader);
    RECIPERUN_TRY(factors);
    found.factors.push_back(*std::move(factors));
  }
  found.importances.resize(found.factors.size());
  for (size_t input = 0; input < found.factors.size(); ++input) {
    RECIPERUN_TRY(found.foldIntoNorm(jobs, int(input), statistics));
    if (!found.factors[input].empty())
      found.importances[input] = quantize::columnImportance(
          statistics.inputs[input], found.factors[input]);
  }
  return found;
}

/// Folds the factors of an input into the weight of the norm that computes
/// it, as ModelOpt does, if all matrices that read the input are quantized.
Status InputFactors::foldIntoNorm(const std::vector<QuantizationJob>& jobs,
                                  int input,
                                  const InputStatistics& statistics) {
  if (size_t(input) >= statistics.norms.size() ||
      !statistics.norms[size_t(input)] || factors[size_t(input)].empty())
    return Status::ok();
  const InputStatistics::Norm& norm = *statistics.norms[size_t(input)];
  for (const auto& [name, read] : statistics.inputOf)
    if (int(read) == input &&
        std::ranges::none_of(jobs,
                             [&, wanted = name](const QuantizationJob& job) {
                               return job.name == wanted && job.input == input;
                             }))
      return Status::ok();
  const auto job = std::ranges::find(jobs, norm.tensor, &QuantizationJob::name);
  return job == jobs.end() ? Status::ok() : foldInto(*job, norm, input);
}

/// Multiplies the norm's weight by the factors. Then replaces each factor by
/// the quotient of the rounded new weight and the old one, so that the
/// rounding causes no error.
Status InputFactors::foldInto(const QuantizationJob& job,
                              const InputStatistics::Norm& norm, int input) {
  std::vector<float>& scales = factors[size_t(input)];
  const StoredTensor& tensor = *job.place.tensor;
  const bool isNarrow = tensor.dtype == "BF16";
  if ((!isNarrow && tensor.dtype != "F32") ||
      tensor.shape != std::vector<int64_t>{int64_t(scales.size())})
    return Status::ok();
  const ElementType type = *findElementType(tensor.dtype);
  std::vector<std::byte> bytes(size_t(job.bytes()));
  RECIPERUN_TRY(job.place.file->read(tensor, 0, bytes));
  const std::vector<std::byte> original = bytes;
  const float added = norm.centered ? 1 : 0;
  for (size_t j = 0; j < scales.size(); ++j) {
    std::byte* stored = bytes.data() + j * size_t(byteSize(type));
    const float before = floatAt(type, stored) + added,
                after = before * scales[j] - added;
    convertElements(ElementType::f32,
                    reinterpret_cast<const std::byte*>(&after),
                    isNarrow ? plan::DType::bf16 : plan::DType::f32, stored, 1);
    const float quotient = (floatAt(type, stored) + added) / before;
    const bool isExact = quotient > 0 && std::isfinite(quotient);
    scales[j] = isExact ? quotient : 1;
    if (!isExact) // the channel is always 0
      std::copy_n(original.data() + j * size_t(byteSize(type)), byteSize(type),
                  stored);
  }
  foldedNorms[job.name] = std::move(bytes);
  foldedInputs.insert(input);
  return Status::ok();
}

std::string uncalibratedNote(const std::vector<QuantizationJob>& jobs) {
  const auto count = std::ranges::count_if(
      jobs, [](const auto& job) { return job.isQuantized && job.input < 0; });
  if (count == 0)
    return {};
  return std::to_string(count) + " of " +
         std::to_string(
             std::ranges::count(jobs, true, &QuantizationJob::isQuantized)) +
         " quantized matrices are rounded to nearest: the calibration does not "
         "measure their inputs, as of experts";
}

} // namespace reciperun::checkpoint
