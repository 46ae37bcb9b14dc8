// Rotary position embedding (Su et al. 2021, eq. 34) in the layout of Hugging
// Face: element i is paired with element i + d/2, and the pair turned by the
// angle position * frequency(i); or, interleaved, 2i with 2i + 1. d is the
// width of a head or of the first part of it that is rotated; the rest stays.
//
// Frequencies are theta^(-2i/d), changed by a scaling rule for contexts longer
// than the model was trained on: `linear` divides all by a factor; `llama3` and
// `yarn` divide those of long wavelength, keep those of short wavelength and go
// over smoothly between, by the wavelength or by i (transformers,
// _compute_llama3_parameters and _compute_yarn_parameters; Peng et al. 2023,
// section 3.2). The inverse turns by the negative angle, which is the
// transpose: it is the backward.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/Kernels.h"
#include "runtime/kernels/Types.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

double llama3Frequency(double frequency, const plan::Op& op) {
  const double factor = op.real("factor", 1);
  const double low = op.real("low_freq_factor", 1);
  const double high = op.real("high_freq_factor", 4);
  const double original = op.real("original_max_position");
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / high)
    return frequency;
  if (wavelength > original / low)
    return frequency / factor;
  const double smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

/// What is left of pair `i`'s own frequency under YaRN, from 1 to 0.
double yarnShare(int64_t i, int64_t half, const plan::Op& op) {
  const double original = op.real("original_max_position");
  // The pair that makes so many rotations within the trained length.
  auto pairOf = [&](double rotations) {
    return double(half) *
           std::log(original / (rotations * 2 * std::numbers::pi)) /
           std::log(op.real("theta", 10000));
  };
  const double low =
      std::max(std::floor(pairOf(op.real("beta_fast", 32))), 0.0);
  double high = std::min(std::ceil(pairOf(op.real("beta_slow", 1))),
                         double(2 * half - 1));
  if (high == low)
    high += 0.001; // a step
  return 1 - std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
}

/// Radians a position, for each of the `half` pairs.
template <class M>
std::vector<M> frequencies(const plan::Op& op, int64_t half) {
  const double theta = op.real("theta", 10000);
  const std::string& scaling = op.string("scaling");
  assert((scaling.empty() || scaling == "none" || scaling == "linear" ||
          scaling == "llama3" || scaling == "yarn") &&
         "a rope scaling that the plan's reader accepts");
  std::vector<M> result;
  result.resize(size_t(half));
  for (int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(theta, -double(i) / double(half));
    if (scaling == "linear")
      frequency /= op.real("factor", 1);
    else if (scaling == "llama3")
      frequency = llama3Frequency(frequency, op);
    else if (scaling == "yarn") {
      const double share = yarnShare(i, half, op);
      frequency *= share + (1 - share) / op.real("factor", 1);
    }
    result[size_t(i)] = M(frequency);
  }
  return result;
}

/// Turns neighbours. `y` may be `x`.
template <class T>
void turnNeighbours(int64_t half, const Math<T>* cosines, const Math<T>* sines,
                    const T* x, T* y) {
  using M = Math<T>;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const M a = M(x[2 * i]), b = M(x[2 * i + 1]);
    y[2 * i] = T(a * cosines[i] - b * sines[i]);
    y[2 * i + 1] = T(b * cosines[i] + a * sines[i]);
  }
}

/// Turns the halves of one head. `y` may be `x`.
template <class T>
void turn(int64_t half, const Math<T>* cosines, const Math<T>* sines,
          const T* x, T* y) {
  using M = Math<T>;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const M a = M(x[i]), b = M(x[half + i]);
    y[i] = T(a * cosines[i] - b * sines[i]);
    y[half + i] = T(b * cosines[i] + a * sines[i]);
  }
}

template <class T> void rope(const KernelArgs& args) {
  using M = Math<T>;
  const Tensor &x = args.inputs[0], &positions = args.inputs[1];
  const int64_t width = x.shape.back();
  const int64_t part = args.op.integer("rotated");
  const int64_t rotated = part > 0 ? part : width;
  const int64_t half = rotated / 2;
  const bool isInterleaved = args.op.flag("interleaved");
  const int64_t tokens = positions.elements();
  const int64_t heads = x.elements() / tokens / width;
  const std::vector<M> frequency = frequencies<M>(args.op, half);
  const M sign = args.op.flag("inverse") ? M(-1) : M(1);
  auto body = [&](int64_t begin, int64_t end) {
    std::vector<M> cosines(static_cast<size_t>(half)), sines(cosines);
    for (int64_t token = begin; token < end; ++token) {
      // In M, as transformers does for float: their rounding is ours.
      const M position = M(positions.as<int32_t>()[token]);
      for (size_t i = 0; i < size_t(half); ++i) {
        const M angle = position * frequency[i];
        cosines[i] = std::cos(angle);
        sines[i] = sign * std::sin(angle);
      }
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t at = (token * heads + head) * width;
        const T* from = x.as<T>() + at;
        T* to = args.outputs[0].as<T>() + at;
        if (isInterleaved)
          turnNeighbours(half, cosines.data(), sines.data(), from, to);
        else
          turn(half, cosines.data(), sines.data(), from, to);
        if (to != from)
          std::copy(from + rotated, from + width, to + rotated);
      }
    }
  };
  device::parallelFor(args.context.threads(), tokens, 16, body);
}

} // namespace

template <> Status kernel<OpKind::Rope>(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { rope<T>(args); });
}

} // namespace reciperun::kernels
