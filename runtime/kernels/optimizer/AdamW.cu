// AdamW on a GPU; see AdamW.cpp for the formulas and the storage of the master.
//
// Each stored value of an element is read and written once. The factors of the
// step depend on device buffers (learning rate, step, norm), so that a CUDA
// graph of a step can be launched again. One thread of each block computes
// them, and few blocks iterate over the parameters.

#include "runtime/device/MasterHalves.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/OptimizerOps.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int threads = 256;

/// The op's attributes and the step's buffers.
struct Rule {
  double beta1, beta2, eps, decay, clip;
  const double* normSquared;
  const float* lr;
  const int32_t* step;
};

Rule ruleOf(const CudaKernelArgs& args) {
  const ops::AdamWAttributes attributes(args.op.attributes);
  return {attributes.beta1,
          attributes.beta2,
          attributes.eps,
          attributes.weightDecay,
          attributes.clip,
          args.inputs[1].as<double>(),
          args.inputs[2].as<float>(),
          args.inputs[3].as<int32_t>()};
}

/// The factors of the step, each computed once in f64 and rounded.
struct Factors {
  float gradient; // clipping
  float beta1, rest1, beta2, rest2;
  float step;       // lr / (1 - beta1^t)
  float correction; // 1 / sqrt(1 - beta2^t)
  float eps;
  float keep; // 1 - lr weight_decay

  __device__ void compute(const Rule& rule) {
    const double lr = *rule.lr, t = *rule.step;
    const double clipping =
        rule.clip <= 0 ? 1
                       : min(1.0, rule.clip / (sqrt(*rule.normSquared) + 1e-6));
    gradient = float(clipping);
    beta1 = float(rule.beta1);
    rest1 = float(1 - rule.beta1);
    beta2 = float(rule.beta2);
    rest2 = float(1 - rule.beta2);
    step = float(lr / (1 - pow(rule.beta1, t)));
    correction = float(1 / sqrt(1 - pow(rule.beta2, t)));
    eps = float(rule.eps);
    keep = float(1 - lr * rule.decay);
  }
};

// ---- storage of the master

/// The bf16 parameter value for a master.
__device__ bfloat16 narrowed(float master) {
  return __ushort_as_bfloat16(device::splitMaster(master).parameter);
}

/// The master in its own buffer.
struct WideMaster {
  static constexpr int widest = 4; // bytes of an element
  float* master;
  bfloat16* param;

  template <int n> struct Part {
    Vector<float, n> master;

    __device__ void load(const WideMaster& from, int64_t at) {
      master = Vector<float, n>::load(from.master + at);
    }
    __device__ float operator[](int i) const { return master[i]; }
    __device__ static void store(const WideMaster& to, int64_t at,
                                 const float (&values)[n]) {
      Vector<bfloat16, n> param;
#pragma unroll
      for (int e = 0; e < n; ++e)
        param.elements[e] = narrowed(values[e]);
      rounded<float, n>(values).store(to.master + at);
      param.store(to.param + at);
    }
  };
  bool isAligned(int n) const {
    return areAligned(4 * n, master) && areAligned(2 * n, param);
  }
};

/// The f32 parameter is its own master.
struct OwnMaster {
  static constexpr int widest = 4;
  float* param;

  template <int n> struct Part {
    Vector<float, n> param;

    __device__ void load(const OwnMaster& from, int64_t at) {
      param = Vector<float, n>::load(from.param + at);
    }
    __device__ float operator[](int i) const { return param[i]; }
    __device__ static void store(const OwnMaster& to, int64_t at,
                                 const float (&values)[n]) {
      rounded<float, n>(values).store(to.param + at);
    }
  };
  bool isAligned(int n) const { return areAligned(4 * n, param); }
};

/// The master split into the parameter and its remainder.
struct SplitMaster {
  static constexpr int widest = 2;
  uint16_t* remainder;
  uint16_t* param; // the bits of bf16

  template <int n> struct Part {
    Vector<uint16_t, n> param, remainder;

    __device__ void load(const SplitMaster& from, int64_t at) {
      param = Vector<uint16_t, n>::load(from.param + at);
      remainder = Vector<uint16_t, n>::load(from.remainder + at);
    }
    __device__ float operator[](int i) const {
      return device::joinMaster({param.elements[i], remainder.elements[i]});
    }
    __device__ static void store(const SplitMaster& to, int64_t at,
                                 const float (&values)[n]) {
      Vector<uint16_t, n> param, remainder;
#pragma unroll
      for (int e = 0; e < n; ++e) {
        const device::MasterHalves halves = device::splitMaster(values[e]);
        param.elements[e] = halves.parameter;
        remainder.elements[e] = halves.remainder;
      }
      param.store(to.param + at);
      remainder.store(to.remainder + at);
    }
  };
  bool isAligned(int n) const {
    return areAligned(2 * n, param, remainder);
  }
};

/// Only the bf16 parameter; the rounding error is lost.
struct NarrowMaster {
  static constexpr int widest = 2;
  bfloat16* param;

  template <int n> struct Part {
    Vector<bfloat16, n> param;

    __device__ void load(const NarrowMaster& from, int64_t at) {
      param = Vector<bfloat16, n>::load(from.param + at);
    }
    __device__ float operator[](int i) const { return param[i]; }
    __device__ static void store(const NarrowMaster& to, int64_t at,
                                 const float (&values)[n]) {
      Vector<bfloat16, n> param;
#pragma unroll
      for (int e = 0; e < n; ++e)
        param.elements[e] = narrowed(values[e]);
      param.store(to.param + at);
    }
  };
  bool isAligned(int n) const {
    return areAligned(2 * n, param);
  }
};

// ---- the step

/// Buffers with gradients of type G and moments of type S.
template <class G, class S, class Master> struct State {
  int64_t count;
  const G* grad;
  S* m;
  S* v;
  Master master;
};

template <int n, class G, class S, class Master>
__device__ void updateVector(const Factors& f, const State<G, S, Master>& state,
                             int64_t at) {
  const auto grad = Vector<G, n>::load(state.grad + at);
  const auto m = Vector<S, n>::load(state.m + at);
  const auto v = Vector<S, n>::load(state.v + at);
  typename Master::template Part<n> master;
  master.load(state.master, at);
  float first[n], second[n], values[n];
#pragma unroll
  for (int e = 0; e < n; ++e) {
    const float g = grad[e] * f.gradient;
    first[e] = f.beta1 * m[e] + f.rest1 * g;
    second[e] = f.beta2 * v[e] + f.rest2 * g * g;
    const float width = sqrtf(second[e]) * f.correction + f.eps;
    values[e] = master[e] * f.keep - f.step * first[e] / width;
  }
  rounded<S, n>(first).store(state.m + at);
  rounded<S, n>(second).store(state.v + at);
  master.store(state.master, at, values);
}

template <int n, class G, class S, class Master>
__global__ void __launch_bounds__(threads)
    update(Rule rule, State<G, S, Master> state) {
  // Leave the state unchanged if the gradient is not finite: the training loop
  // then ends the run and looks for the cause in the state before the update.
  if (!isfinite(*rule.normSquared))
    return;
  __shared__ Factors shared;
  if (threadIdx.x == 0)
    shared.compute(rule);
  __syncthreads();
  const Factors factors = shared;
  const int64_t vectors = state.count / n;
  const int64_t first = int64_t(blockIdx.x) * threads + threadIdx.x;
  for (int64_t i = first; i < vectors; i += int64_t(gridDim.x) * threads)
    updateVector<n>(factors, state, i * n);
  // The remaining elements, fewer than a vector.
  if (first < state.count - vectors * n)
    updateVector<1>(factors, state, vectors * n + first);
}

template <int n, class G, class S, class Master>
void launch(const CudaKernelArgs& args, const State<G, S, Master>& state) {
  const int64_t blocks =
      std::clamp<int64_t>(ceilDivide(state.count, n * threads), 1,
                          int64_t(8) * args.context.multiprocessors());
  update<n><<<unsigned(blocks), threads, 0, args.context.stream()>>>(
      ruleOf(args), state);
}

template <class G, class S, class Master>
void update(const CudaKernelArgs& args, const Master& master) {
  const State<G, S, Master> state{
      args.outputs[0].elements(), args.inputs[0].as<G>(),
      args.outputs[2].as<S>(), args.outputs[3].as<S>(), master};
  // The widest value of an element moves 16 bytes per access.
  constexpr int widest =
      std::max({int(sizeof(G)), int(sizeof(S)), Master::widest});
  constexpr int n = 16 / widest;
  if (areAligned(n * int64_t(sizeof(G)), state.grad) &&
      areAligned(n * int64_t(sizeof(S)), state.m, state.v) &&
      master.isAligned(n))
    launch<n>(args, state);
  else
    launch<1>(args, state);
}

template <class Master>
Status updateStored(const CudaKernelArgs& args, const Master& master) {
  withStoredType(args.inputs[0].type, [&]<class G>(DeviceType<G>) {
    withStoredType(args.outputs[2].type,
                   [&]<class S>(DeviceType<S>) { update<G, S>(args, master); });
  });
  return device::launchStatus();
}

} // namespace

Status adamwCudaKernel(const CudaKernelArgs& args) {
  const Tensor &param = args.outputs[0], &master = args.outputs[1];
  if (param.type == plan::DType::f32) {
    assert(master.data == param.data &&
           "a master of its type is the parameter");
    return updateStored(args, OwnMaster{param.as<float>()});
  }
  if (param.type != plan::DType::bf16)
    return noDeviceType(args);
  if (master.type == plan::DType::u16)
    return updateStored(
        args, SplitMaster{master.as<uint16_t>(), param.as<uint16_t>()});
  if (master.type == plan::DType::bf16)
    return updateStored(args, NarrowMaster{param.as<bfloat16>()});
  return updateStored(args,
                      WideMaster{master.as<float>(), param.as<bfloat16>()});
}

} // namespace reciperun::kernels
