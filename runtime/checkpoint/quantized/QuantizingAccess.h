// Access to parameters that quantizes values while they are loaded.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZINGACCESS_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZINGACCESS_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/quantize/RowStream.h"

#include <memory>

namespace reciperun::checkpoint {

/// The type in which values of a parameter are written: f32 for a quantized
/// one, otherwise that of its buffer.
plan::DType writtenType(const plan::Plan& plan,
                        const plan::Parameter& parameter);

/// Forwards all accesses, except writes of values of quantized parameters.
/// Those values must be written in f32, from the first element to the last, and
/// are stored quantized with their scales. A value may be written again from
/// its start.
class QuantizingAccess : public ParameterAccess {
public:
  /// The arguments must outlive the object. Quantizes on `threads` threads.
  QuantizingAccess(const plan::Plan& plan, int rank, ParameterAccess& access,
                   int threads)
      : plan(plan), rank(rank), access(access), threads(threads) {}

  Status write(int parameter, Content content, int64_t offset,
               std::span<const std::byte> data) override;
  Status read(int parameter, Content content, int64_t offset,
              std::span<std::byte> data) const override;

private:
  void start(int parameter);

  const plan::Plan& plan;
  int rank;
  ParameterAccess& access;
  int threads;
  std::unique_ptr<quantize::RowStream> stream; // of the last parameter
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZINGACCESS_H
