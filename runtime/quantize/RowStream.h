// Quantizes a weight whose values arrive piece by piece, with memory for a run
// of rows only.

#ifndef RECIPERUN_QUANTIZE_ROWSTREAM_H
#define RECIPERUN_QUANTIZE_ROWSTREAM_H

#include "runtime/quantize/Quantizers.h"

#include <functional>

namespace reciperun::quantize {

/// A run of quantized rows. `data` belongs at byte `firstByte` of the weight's
/// data, and `scales` at index `firstScale` of its scales.
struct QuantizedRun {
  int64_t firstByte = 0, firstScale = 0;
  std::span<const uint8_t> data;
  std::span<const float> scales;
};

/// Takes the elements of a weight [rows, columns] in their order. A run has
/// about 1 MiB of floats for each thread, and an even number of rows except for
/// the last run. A weight with a single scale is one run.
class RowStream {
public:
  using Store = std::function<Status(const QuantizedRun&)>;

  /// `importance` is that of quantizeRows, and must outlive the object.
  RowStream(const Scheme& scheme, int64_t rows, int64_t columns, int threads,
            Store store, std::span<const float> importance = {});

  /// Takes the next elements. Quantizes and stores the runs that they complete.
  Status append(std::span<const float> values);

private:
  Status storeRun();
  int64_t runElements() const;

  Scheme scheme;
  int64_t rows, columns;
  int threads;
  Store store;
  std::span<const float> importance;
  int64_t rowsOfRun; // the last run may have fewer
  int64_t firstRow = 0;
  std::vector<float> run;
  std::vector<uint8_t> data;
  std::vector<float> scales;
};

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_ROWSTREAM_H
