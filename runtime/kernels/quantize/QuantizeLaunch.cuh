// Launches the quantization kernels: without transposes QuantizeLine.cuh for
// matrices with one scale, QuantizeWholeRows.cuh for those with a scale for
// each row and QuantizeRuns.cuh for those with scales in rows,
// QuantizeTiles.cuh for the others.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZELAUNCH_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZELAUNCH_CUH

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/quantize/QuantizeLine.cuh"
#include "runtime/kernels/quantize/QuantizeRuns.cuh"
#include "runtime/kernels/quantize/QuantizeTiles.cuh"
#include "runtime/kernels/quantize/QuantizeWholeRows.cuh"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <string>

namespace reciperun::kernels::narrow {

inline Matrix matrixOf(const QuantizeOperands& operands) {
  Matrix m = {};
  m.q = operands.q.as<uint8_t>();
  m.qt = operands.qt.as<uint8_t>();
  if (operands.blocks == Blocks::mx) {
    m.mxScale = operands.scale.as<uint8_t>();
    m.mxQtScale = operands.qtScale.as<uint8_t>();
  } else {
    m.scale = operands.scale.as<float>();
    m.qtScale = operands.qtScale.as<float>();
  }
  m.rows = operands.rows;
  m.columns = operands.columns;
  if (operands.scale.present())
    m.stride = operands.scale.shape.back();
  if (operands.qtScale.present())
    m.qtStride = operands.qtScale.shape.back();
  return m;
}

inline bool isWhole(const Matrix& m) {
  return m.columns % piece == 0 && (!m.qt || m.rows % 16 == 0) &&
         areAligned(16, m.q, m.qt);
}

/// The number of thread blocks of a kernel that processes a source linearly.
inline int blocksOfLine(const device::CudaKernelArgs& args, const Matrix& any) {
  return int(
      std::min<int64_t>(blocksAtOnce * args.context.multiprocessors(),
                        ceilDivide(any.rows * any.columns, mostThreads)));
}

/// Allocates the maxima of matrices with one scale and computes them. `parts`
/// thread blocks will quantize the matrices.
template <class S>
Status findScales(const device::CudaKernelArgs& args, const S& source,
                  const QuantizeOperands (&operands)[S::outputs], int64_t parts,
                  Matrices<S::outputs>& matrices) {
  const Matrix& any = matrices.of[0];
  const int blocks = blocksOfLine(args, any);
  Scratch scratch(args.context);
  float* const maxima = scratch.take<float>(S::outputs * blocks);
  for (int o = 0; o < S::outputs; ++o) {
    Matrix& m = matrices.of[o];
    m.maxima = maxima + o * blocks;
    m.maximaCount = blocks;
    if (!operands[o].history.present())
      continue;
    m.history = operands[o].history.template as<float>();
    m.amaxHistoryLength = int(operands[o].history.elements());
    m.partMaxima = scratch.take<float>(parts);
  }
  if (scratch.leftBytes() < 0)
    return Status::error(std::string("`") + ops::opName(args.op.kind) +
                         "` has more tiles than its scratch holds");
  auto* const kernel = isAligned(source)
                           ? &findMost<S, vectorLength<typename S::Element>>
                           : &findMost<S, 1>;
  kernel<<<unsigned(blocks), mostThreads, 0, args.context.stream()>>>(
      source, any.rows * any.columns, matrices, maxima);
  return Status::ok();
}

template <class F, Blocks blocks, class S>
void launchTiles(const S& source, const Matrices<S::outputs>& matrices,
                 int64_t tiles, cudaStream_t stream) {
  const bool whole =
      isAligned(source) && std::ranges::all_of(matrices.of, &isWhole);
  auto* const kernel = whole ? &quantizeTiles<S, F, blocks, true>
                             : &quantizeTiles<S, F, blocks, false>;
  const int64_t count = blocks == Blocks::tensor ? tiles : tiles * S::outputs;
  kernel<<<unsigned(count), tileThreads, 0, stream>>>(source, matrices);
}

template <class F, class S>
void launchLine(const S& source, const Matrices<S::outputs>& matrices,
                int blocks, cudaStream_t stream) {
  constexpr int n = vectorLength<typename S::Element>;
  const int64_t count = matrices.of[0].rows * matrices.of[0].columns;
  const bool whole = isAligned(source) && count >= n &&
                     std::ranges::all_of(matrices.of, [](const Matrix& m) {
                       return areAligned(n, m.q);
                     });
  auto* const kernel = whole ? &quantizeLine<S, F, n> : &quantizeLine<S, F, 1>;
  kernel<<<unsigned(blocks), mostThreads, 0, stream>>>(source, count, matrices);
}

/// Quantizes matrices that have one scale each.
template <class F, class S>
Status launchWhole(const device::CudaKernelArgs& args, const S& source,
                   const QuantizeOperands (&operands)[S::outputs],
                   int64_t tiles, Matrices<S::outputs>& matrices) {
  const cudaStream_t stream = args.context.stream();
  const bool inLine = std::ranges::none_of(
      matrices.of, [](const Matrix& m) { return m.qt != nullptr; });
  const int parts = inLine ? blocksOfLine(args, matrices.of[0]) : int(tiles);
  RECIPERUN_TRY(findScales(args, source, operands, parts, matrices));
  if (inLine)
    launchLine<F>(source, matrices, parts, stream);
  else
    launchTiles<F, Blocks::tensor>(source, matrices, tiles, stream);
  for (int o = 0; o < S::outputs; ++o)
    if (const Matrix& m = matrices.of[o]; m.history)
      moveAmaxHistory<<<1, 1024, 0, stream>>>(
          operands[o].history.template as<float>(), m.amaxHistoryLength,
          m.partMaxima, parts);
  return Status::ok();
}

template <class F, class S>
Status launchQuantize(const device::CudaKernelArgs& args, const S& source,
                      const QuantizeOperands (&operands)[S::outputs]) {
  const cudaStream_t stream = args.context.stream();
  Matrices<S::outputs> matrices;
  for (int o = 0; o < S::outputs; ++o)
    matrices.of[o] = matrixOf(operands[o]);
  const Matrix& any = matrices.of[0];
  const int64_t tiles =
      ceilDivide(any.rows, side) * ceilDivide(any.columns, side);
  switch (operands[0].blocks) {
  case Blocks::tensor:
    RECIPERUN_TRY(launchWhole<F>(args, source, operands, tiles, matrices));
    break;
  case Blocks::wholeRows:
    if constexpr (S::outputs == 1) // the validation has checked
      launchWholeRows<F>(args.context, source, any);
    break;
  case Blocks::rows:
    if constexpr (S::outputs == 1)
      if (isOfRuns(source, any)) {
        launchRuns<F>(source, any, stream);
        break;
      }
    launchTiles<F, Blocks::rows>(source, matrices, tiles, stream);
    break;
  case Blocks::squares:
    launchTiles<F, Blocks::squares>(source, matrices, tiles, stream);
    break;
  case Blocks::mx:
    launchTiles<F, Blocks::mx>(source, matrices, tiles, stream);
    break;
  }
  return device::launchStatus();
}

/// Quantizes the values of a source.
template <class S>
Status quantizeSource(const device::CudaKernelArgs& args, const S& source,
                      const QuantizeOperands (&operands)[S::outputs]) {
  if (operands[0].rows == 0 || operands[0].columns == 0)
    return Status::ok();
  return operands[0].type() == plan::DType::f8e4m3
             ? launchQuantize<E4m3>(args, source, operands)
             : launchQuantize<E5m2>(args, source, operands);
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZELAUNCH_CUH
