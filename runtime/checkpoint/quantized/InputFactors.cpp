// 1. Find the input that each quantized matrix reads.
// 2. Search the factors of each input over the matrices that read it.
// 3. Fold the factors into the matrix or the norm that computes the input where
//    possible.

#include "runtime/checkpoint/quantized/InputFactors.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/quantize/ActivationScales.h"

#include <algorithm>
#include <cmath>
#include <string_view>
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

} // namespace

Expected<InputFactors> InputFactors::search(std::vector<QuantizationJob>& jobs,
                                            InputStatistics statistics,
                                            const quantize::Scheme& scheme,
                                            int threads, JobReader& reader) {
  Readers readers(statistics.inputs.size());
  for (QuantizationJob& job : jobs) {
    const auto input = statistics.inputOf.find(job.name);
    if (!job.isQuantized || input == statistics.inputOf.end())
      continue;
    job.input = int(input->second);
    if (const auto part = statistics.partOf.find(job.name);
        part != statistics.partOf.end())
      job.part = int(part->second);
    readers[input->second].push_back(&job);
    reader.expect(job);
  }
  InputFactors found;
  found.statistics = std::move(statistics);
  for (size_t input = 0; input < readers.size(); ++input)
    RECIPERUN_TRY(found.searchInput(input, readers, scheme, threads, reader));
  found.foldIntoRows(jobs);
  for (size_t input = 0; input < readers.size(); ++input)
    RECIPERUN_TRY(found.foldIntoNorm(jobs, int(input)));
  return found;
}

/// Searches the factors of an input over the matrices that read it; there are
/// none when no matrix does.
Status InputFactors::searchInput(size_t input, const Readers& readers,
                                 const quantize::Scheme& scheme, int threads,
                                 JobReader& reader) {
  const quantize::ActivationStatistics& all = statistics.inputs[input];
  quantize::ActivationScaleSearch search(scheme, all, threads);
  for (const QuantizationJob* job : readers[input]) {
    RECIPERUN_TRY(checkChannels(*job, int64_t(all.mean.size())));
    RECIPERUN_TRY(reader
                      .forRuns(*job,
                               [&](std::span<const float> values) {
                                 return search.add(values, tokensOf(*job));
                               })
                      .withContext("tensor `" + job->name + "`"));
  }
  factors.push_back(readers[input].empty() ? std::vector<float>()
                                           : search.best().inScale);
  return Status::ok();
}

std::vector<float> InputFactors::importance(const QuantizationJob& job) const {
  if (job.input < 0)
    return {};
  return quantize::columnImportance(tokensOf(job), factors[size_t(job.input)]);
}

/// Folds the factors of inputs into the rows of the matrices that make them, if
/// these are quantized. A row's scales take its factor, so that the codes stay
/// the same.
void InputFactors::foldIntoRows(const std::vector<QuantizationJob>& jobs) {
  std::map<std::string_view, const QuantizationJob*> makers;
  for (const QuantizationJob& job : jobs)
    if (job.isQuantized)
      makers.emplace(job.name, &job);
  for (const auto& [input, name] : statistics.makerOf) {
    const auto maker = makers.find(name);
    if (maker == makers.end() || factors[input].empty() ||
        maker->second->rows != int64_t(factors[input].size()))
      continue;
    foldedRows[name] = int(input);
    foldedInputs.insert(int(input));
  }
}

/// Folds the factors of an input into the weight of the norm that computes
/// it, as ModelOpt does, if all matrices that read the input are quantized.
Status InputFactors::foldIntoNorm(const std::vector<QuantizationJob>& jobs,
                                  int input) {
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
         "measure their inputs";
}

std::string sparseExpertsNote(const InputStatistics& statistics) {
  if (statistics.sparseExperts == 0)
    return {};
  return std::to_string(statistics.sparseExperts) + " of " +
         std::to_string(statistics.experts) +
         " experts were sent too few tokens of the calibration's texts: their "
         "factors are those of all experts of their layer; give more texts";
}

} // namespace reciperun::checkpoint
