// The factors of the inputs of quantized matrices, found by a calibration.
//
// A matrix's columns are multiplied by the factors of its input before they are
// quantized, and the input is divided by them: by a tensor of the matrix, in
// the weight of the norm that computes the input, or in the rows of the matrix
// whose outputs are a factor of the input.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_INPUTFACTORS_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_INPUTFACTORS_H

#include "runtime/checkpoint/quantized/InputStatistics.h"
#include "runtime/checkpoint/quantized/JobReader.h"
#include "runtime/quantize/Quantizers.h"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

class InputFactors {
public:
  /// Searches the factors of each input over all quantized matrices that read
  /// it, and sets the `input` and `part` of their jobs. Reads these matrices
  /// once. Fails when a matrix does not have the measured number of inputs.
  static Expected<InputFactors> search(std::vector<QuantizationJob>& jobs,
                                       InputStatistics statistics,
                                       const quantize::Scheme& scheme,
                                       int threads, JobReader& reader);

  /// No factors.
  InputFactors() = default;

  /// Whether a matrix gets a tensor with the factors of its input.
  bool areOwn(const QuantizationJob& job) const {
    return job.input >= 0 && !foldedInputs.contains(job.input);
  }
  /// By column of the matrix; empty when its input was not measured.
  std::span<const float> of(const QuantizationJob& job) const {
    return job.input < 0 ? std::span<const float>()
                         : factors[size_t(job.input)];
  }
  /// How much an error in each column of the matrix matters; empty when its
  /// input was not measured.
  std::vector<float> importance(const QuantizationJob& job) const;
  /// By row of the matrix: what its scales are multiplied by; empty when no
  /// input's factors are folded into the matrix.
  std::span<const float> ofRows(const QuantizationJob& job) const {
    const auto found = foldedRows.find(job.name);
    return found == foldedRows.end() ? std::span<const float>()
                                     : factors[size_t(found->second)];
  }
  /// The new bytes of a norm's weight that contains factors; null for any other
  /// tensor.
  const std::vector<std::byte>* folded(const std::string& tensor) const {
    const auto found = foldedNorms.find(tensor);
    return found == foldedNorms.end() ? nullptr : &found->second;
  }

private:
  /// The jobs that read each input.
  using Readers = std::vector<std::vector<const QuantizationJob*>>;

  Status searchInput(size_t input, const Readers& readers,
                     const quantize::Scheme& scheme, int threads,
                     JobReader& reader);
  const quantize::ActivationStatistics&
  tokensOf(const QuantizationJob& job) const {
    return job.part < 0 ? statistics.inputs[size_t(job.input)]
                        : statistics.parts[size_t(job.part)];
  }
  void foldIntoRows(const std::vector<QuantizationJob>& jobs);
  Status foldIntoNorm(const std::vector<QuantizationJob>& jobs, int input);
  Status foldInto(const QuantizationJob& job, const InputStatistics::Norm& norm,
                  int input);

  InputStatistics statistics;
  std::vector<std::vector<float>> factors; // by input of the calibration
  std::set<int> foldedInputs;              // into norms or matrices
  std::map<std::string, int> foldedRows;   // inputs by matrix
  std::map<std::string, std::vector<std::byte>> foldedNorms; // by tensor
};

/// A note on the quantized matrices whose inputs the calibration does not
/// measure; empty when there are none.
std::string uncalibratedNote(const std::vector<QuantizationJob>& jobs);

/// A note on experts that the calibration sent too few tokens; empty when there
/// are none.
std::string sparseExpertsNote(const InputStatistics& statistics);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_INPUTFACTORS_H
