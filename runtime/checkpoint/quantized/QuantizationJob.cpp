// A format supports the matrices of linear layers with certain numbers of
// inputs and outputs; other matrices stay as they are.

#include "runtime/checkpoint/quantized/QuantizationJob.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/quantized/ServingFormat.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;

constexpr std::string_view weightEnding = ".weight";
constexpr std::string_view packedEnding = "_packed";

/// Lists up to four words as "a, b or c".
std::string joined(const std::set<std::string>& words,
                   const std::string& conjunction) {
  constexpr size_t most = 4;
  std::string list;
  size_t at = 0;
  for (const std::string& word : words) {
    if (at == most)
      return list + ", ...";
    const bool isLast = ++at == words.size();
    if (!list.empty())
      list += isLast ? " " + conjunction + " " : ", ";
    list += word;
  }
  return list;
}

/// The shapes of matrices: "64 inputs with 64 outputs".
std::string shapesOf(const std::vector<QuantizationJob>& jobs) {
  std::set<std::string> shapes;
  for (const QuantizationJob& job : jobs)
    shapes.insert(std::to_string(job.columns) + " inputs with " +
                  std::to_string(job.rows) + " outputs");
  return joined(shapes, "and");
}

bool canQuantize(const QuantizationJob& job, WeightFormat format) {
  if (!job.isLinear || job.rows < 1 || job.columns < 1)
    return false;
  switch (format) {
  case WeightFormat::fp8:
    return true;
  case WeightFormat::int8:
    return job.columns % 4 == 0;
  case WeightFormat::int4:
    return job.columns % sizes::weightGroup == 0 && job.rows % 2 == 0;
  }
  return false;
}

/// The shapes of matrices that canQuantize accepts, for messages.
std::string takenShapes(WeightFormat format) {
  return format == WeightFormat::int4
             ? "a multiple of " + std::to_string(sizes::weightGroup) +
                   " inputs and an even number of outputs"
             : "a multiple of 4 inputs";
}

/// The matrices of linear layers whose shapes the format does not support.
std::vector<QuantizationJob>
unfitJobs(const std::vector<QuantizationJob>& jobs) {
  std::vector<QuantizationJob> unfit;
  for (const QuantizationJob& job : jobs)
    if (job.isLinear && job.rows > 0 && !job.isQuantized)
      unfit.push_back(job);
  return unfit;
}

/// The error when the format supports no matrix.
Status nothingToQuantize(const std::vector<QuantizationJob>& jobs,
                         const std::filesystem::path& directory,
                         WeightFormat format) {
  const std::string folder = "`" + directory.string() + "`";
  const std::vector<QuantizationJob> unfit = unfitJobs(jobs);
  if (unfit.empty())
    return Status::error(folder + " has no matrix of a linear layer: no "
                                  "tensor `NAME.weight` of two dimensions");
  std::set<std::string> others;
  for (const QuantizationJob& job : unfit)
    for (WeightFormat other : {WeightFormat::fp8, WeightFormat::int8})
      if (canQuantize(job, other))
        others.insert(sizes::weightFormatName(other));
  const std::string message = std::string(sizes::weightFormatName(format)) +
                              " takes matrices with " + takenShapes(format) +
                              ", and the linear layers of " + folder +
                              " have " + shapesOf(unfit);
  return Status::error(others.empty()
                           ? message
                           : message + "; quantize to " + joined(others, "or"));
}

} // namespace

int64_t QuantizationJob::bytes() const {
  const ModelFiles::Place& data = stored ? stored->data : place;
  return data.tensor->end - data.tensor->begin;
}

std::string QuantizationJob::module() const {
  return name.substr(0, name.size() - weightEnding.size());
}

Expected<std::vector<QuantizationJob>> chooseJobs(const ModelFiles& model,
                                                  const StoredWeights& stored,
                                                  WeightFormat format) {
  std::vector<QuantizationJob> jobs;
  for (const std::string& name : model.names()) {
    QuantizationJob job;
    job.name = name;
    if (name.ends_with(std::string(weightEnding) + std::string(packedEnding)))
      job.name.resize(name.size() - packedEnding.size());
    job.place = *model.find(name);
    job.stored = stored.find(job.name);
    if (!job.stored && stored.isAuxiliary(name))
      continue;
    const std::vector<int64_t>& shape = job.place.tensor->shape;
    if (job.stored) {
      job.rows = job.stored->rows;
      job.columns = job.stored->columns;
    } else if (shape.size() == 2 && findElementType(job.place.tensor->dtype)) {
      job.rows = shape[0];
      job.columns = shape[1];
    }
    job.isLinear = isLinearName(job.name);
    job.isQuantized = canQuantize(job, format);
    jobs.push_back(std::move(job));
  }
  if (std::ranges::none_of(jobs, &QuantizationJob::isQuantized))
    return nothingToQuantize(jobs, model.directory(), format);
  return jobs;
}

std::string unfitNote(const std::vector<QuantizationJob>& jobs,
                      WeightFormat format) {
  const std::vector<QuantizationJob> unfit = unfitJobs(jobs);
  if (unfit.empty())
    return {};
  const bool isStored = std::ranges::any_of(
      unfit, [](const QuantizationJob& job) { return job.stored; });
  return std::to_string(unfit.size()) + " of " +
         std::to_string(
             std::ranges::count(jobs, true, &QuantizationJob::isLinear)) +
         " matrices of linear layers " +
         (isStored ? "become bf16: " : "stay unquantized: ") +
         sizes::weightFormatName(format) + " takes matrices with " +
         takenShapes(format) + ", and they have " + shapesOf(unfit);
}

} // namespace reciperun::checkpoint
