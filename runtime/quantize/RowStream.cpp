// See RowStream.h.

#include "runtime/quantize/RowStream.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::quantize {
namespace {

constexpr int64_t elementsOfThread = int64_t(1) << 18; // in a run

int64_t rowsOfRuns(const Scheme& scheme, int64_t rows, int64_t columns,
                   int threads) {
  if (scheme.scales == WeightScales::tensor)
    return rows;
  const int64_t usual =
      std::max<int64_t>(1, threads * elementsOfThread / columns);
  // An even number, for layouts that store rows in pairs.
  const int64_t height = std::max<int64_t>(2, rowsPerScale(scheme.scales));
  return std::min((usual + height - 1) / height * height, rows);
}

} // namespace

RowStream::RowStream(const Scheme& scheme, int64_t rows, int64_t columns,
                     int threads, Store store,
                     std::span<const float> importance)
    : scheme(scheme), rows(rows), columns(columns), threads(threads),
      store(std::move(store)), importance(importance),
      rowsOfRun(rowsOfRuns(scheme, rows, columns, threads)) {}

/// The elements of the current run.
int64_t RowStream::runElements() const {
  return std::min(rowsOfRun, rows - firstRow) * columns;
}

Status RowStream::append(std::span<const float> values) {
  while (!values.empty()) {
    assert(firstRow < rows && "a weight has no more elements");
    const size_t missing = size_t(runElements()) - run.size();
    const size_t taken = std::min(missing, values.size());
    run.insert(run.end(), values.begin(), values.begin() + long(taken));
    values = values.subspan(taken);
    if (taken == missing)
      RECIPERUN_TRY(storeRun());
  }
  return Status::ok();
}

Status RowStream::storeRun() {
  const int64_t count = int64_t(run.size()) / columns;
  data.resize(size_t(count * rowBytes(scheme, columns)));
  scales.resize(size_t(scaleCount(scheme, count, columns)));
  const bool isWhole = scheme.scales == WeightScales::tensor;
  const float largest = isWhole ? largestMagnitude(run, threads) : 0;
  RECIPERUN_TRY(quantizeRows(scheme, run, columns, largest, data, scales,
                             threads, importance));
  RECIPERUN_TRY(store({firstRow * rowBytes(scheme, columns),
                       isWhole ? 0 : scaleCount(scheme, firstRow, columns),
                       data, scales}));
  firstRow += count;
  run.clear();
  return Status::ok();
}

} // namespace reciperun::quantize
