// Measures matmuls and attention on this GPU in TFLOP/s: the matmuls of an 8B
// model at 8192 tokens, with the algorithm that cuBLASLt suggests first and
// with the fastest one; attention by our kernels and by cuDNN; with the
// argument `attention` more of attention, with `paged` attention over pages
// alone. Not a test; run it by hand. A matmul counts 2 m n k; attention counts
// the matmuls of the causal half: 2 forward, 5 backward.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/ops/OpTable.h"
#include "runtime/sizes/AttentionWorkspace.h"
#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <unistd.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

/// A device tensor of normally distributed values.
class Filled {
public:
  Filled(DType type, std::vector<int64_t> dims)
      : shape(std::move(dims)), type(type),
        bytes(plan::elementCount(shape) * plan::byteSize(type)) {
    fill();
  }
  static Filled integers(std::vector<int64_t> dims,
                         const std::vector<int32_t>& values) {
    Filled made(DType::i32, std::move(dims));
    cudaMemcpy(made.bytes.data(), values.data(), values.size() * 4,
               cudaMemcpyHostToDevice);
    return made;
  }
  device::Tensor view() const { return {bytes.data(), type, shape}; }

private:
  void fill() {
    constexpr int64_t count = 1 << 20;
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::vector<char> host(size_t(count * plan::byteSize(type)));
    for (int64_t i = 0; i < count; ++i) {
      const float value = normal(generator);
      if (type == DType::bf16)
        reinterpret_cast<device::bf16*>(host.data())[i] = device::bf16(value);
      else if (plan::byteSize(type) == 1)
        host[size_t(i)] = char(generator() & 0xbf); // no NaN of f8e4m3
      else
        reinterpret_cast<float*>(host.data())[i] = value;
    }
    const int64_t all = view().bytes();
    for (int64_t done = 0; done < all; done += int64_t(host.size()))
      cudaMemcpy(static_cast<char*>(bytes.data()) + done, host.data(),
                 size_t(std::min(int64_t(host.size()), all - done)),
                 cudaMemcpyHostToDevice);
  }

  std::vector<int64_t> shape;
  DType type;
  DeviceBytes bytes;
};

class Bench {
public:
  explicit Bench(device::CudaContext& gpu) : gpu(gpu) {
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
  }

  /// The mean of several runs in ms; 0 after an error message.
  double time(OpKind kind, const std::vector<device::Tensor>& in,
              const std::vector<device::Tensor>& out,
              const Attributes& attributes = {}, device::Tensor workspace = {},
              int runs = 20) {
    plan::Op op;
    op.kind = kind;
    op.name = ops::opName(kind);
    op.attributes = attributes;
    const device::CudaKernelArgs args{op, in, out, workspace, mesh, 0, gpu};
    auto once = [&] {
      const Status status = findCudaKernel(kind)(args);
      if (!status.isOk())
        std::printf("%s: %s\n", op.name.c_str(), status.message().c_str());
      return status.isOk();
    };
    for (int i = 0; i < 3; ++i)
      if (!once())
        return 0;
    cudaEventRecord(begin, gpu.stream());
    for (int i = 0; i < runs; ++i)
      once();
    cudaEventRecord(end, gpu.stream());
    cudaEventSynchronize(end);
    float time = 0;
    cudaEventElapsedTime(&time, begin, end);
    if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess)
      std::printf("%s: %s\n", op.name.c_str(), cudaGetErrorString(code));
    return time / runs;
  }

  /// y = x w^T and its gradients, alternating between cuBLASLt's first
  /// suggestion and the measured choice. Clocks drop during the runs, so the
  /// ratio is more reliable than either time.
  void products(int64_t n, int64_t k) {
    using device::Matmuls;
    constexpr int64_t m = 8192;
    const Filled x(DType::bf16, {m, k}), w(DType::bf16, {n, k}),
        y(DType::bf16, {m, n}), dw(DType::f32, {n, k});
    const Matmuls::Shape forward{m, n, k, false, true}, dgrad{m, k, n},
        wgrad{n, k, m, true, false, DType::bf16, DType::f32, true};
    std::printf("N %6lld K %6lld", (long long)(n), (long long)(k));
    compare("linear", forward, {x.view().data, w.view().data, y.view().data});
    compare("dgrad", dgrad, {y.view().data, w.view().data, x.view().data});
    compare("wgrad", wgrad, {y.view().data, x.view().data, dw.view().data});
    std::printf("\n");
    std::fflush(stdout);
  }

  void compare(const char* name, const device::Matmuls::Shape& shape,
               const device::Matmuls::Operands& operands) {
    constexpr int rounds = 7, runs = 4;
    device::Matmuls first, chosen;
    for (device::Matmuls* each : {&first, &chosen}) {
      each->setPlace({gpu.stream(), gpu.scratch<void>(),
                      size_t(device::cudaScratchBytes), gpu.properties().name});
      each->setFile({});
    }
    if (const Status status = chosen.prepare(shape, operands); !status.isOk())
      std::printf("%s\n", status.message().c_str());
    auto time = [&](device::Matmuls& products) {
      cudaEventRecord(begin, gpu.stream());
      for (int i = 0; i < runs; ++i)
        if (const Status status = products.run(shape, 1, operands);
            !status.isOk())
          std::printf("%s\n", status.message().c_str());
      cudaEventRecord(end, gpu.stream());
      cudaEventSynchronize(end);
      float ms = 0;
      cudaEventElapsedTime(&ms, begin, end);
      return double(ms) / runs;
    };
    time(first);
    std::vector<double> firsts, chosens, ratios;
    for (int round = 0; round < rounds; ++round) {
      firsts.push_back(time(first));
      chosens.push_back(time(chosen));
      ratios.push_back(firsts.back() / chosens.back());
    }
    auto median = [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    };
    const double flops =
        2e-9 * double(shape.m) * double(shape.n) * double(shape.k);
    std::printf("   %s first %5.1f chosen %5.1f, faster by %+5.1f %%", name,
                flops / median(firsts), flops / median(chosens),
                100 * (median(ratios) - 1));
  }

  void experts(int64_t experts, int64_t height, int64_t n, int64_t k) {
    const Filled x(DType::bf16, {1, height, k}),
        w(DType::bf16, {experts, n, k}), y(DType::bf16, {1, height, n}),
        dw(DType::f32, {experts, n, k});
    const Filled counts = Filled::integers(
        {1, 1, experts},
        std::vector<int32_t>(size_t(experts), int32_t(height / experts)));
    const double flops = 2.0 * double(height) * double(n) * double(k);
    const device::Tensor c = counts.view();
    std::printf(
        "%lld experts, %lld rows, N %lld K %lld: %6.1f dgrad %6.1f wgrad "
        "%6.1f\n",
        (long long)(experts), (long long)(height), (long long)(n),
        (long long)(k),
        flops * 1e-9 /
            time(OpKind::ExpertLinear, {x.view(), w.view(), c}, {y.view()}),
        flops * 1e-9 /
            time(OpKind::ExpertLinearDgrad, {y.view(), w.view(), c},
                 {x.view()}),
        flops * 1e-9 /
            time(OpKind::ExpertLinearWgrad, {x.view(), y.view(), c},
                 {dw.view()}));
    std::fflush(stdout);
  }

  /// With `document`, rows hold documents of that many tokens, computed by our
  /// kernels and by cuDNN with a capacity of 64 and 256 documents per row. With
  /// `window`, scores outside it count as no operations.
  void attention(int64_t b, int64_t s, int64_t h, int64_t hk, int64_t d,
                 int64_t document = 0, int64_t window = 0) {
    const Filled q(DType::bf16, {b, s, h, d}), k(DType::bf16, {b, s, hk, d}),
        v(DType::bf16, {b, s, hk, d}), out(DType::bf16, {b, s, h, d}),
        dout(DType::bf16, {b, s, h, d}), dq(DType::bf16, {b, s, h, d}),
        dk(DType::bf16, {b, s, hk, d}), dv(DType::bf16, {b, s, hk, d}),
        lse(DType::f32, {b, h, s});
    const int64_t length = document ? document : s;
    std::vector<int32_t> numbers, owners;
    for (int64_t i = 0; i < b * s; ++i) {
      numbers.push_back(int32_t(i % s % length));
      owners.push_back(int32_t(i % s / length));
    }
    const Filled places = Filled::integers({b, s}, numbers);
    const Filled segments = Filled::integers({b, s}, owners);
    const std::vector<device::Tensor> tokens = {segments.view(), places.view(),
                                                segments.view(), places.view()};
    std::vector<device::Tensor> forward = {q.view(), k.view(), v.view()};
    std::vector<device::Tensor> backward = {
        dout.view(), out.view(), q.view(), k.view(), v.view(), lse.view()};
    forward.insert(forward.end(), tokens.begin(), tokens.end());
    backward.insert(backward.end(), tokens.begin(), tokens.end());
    const int64_t rest = s % length;
    const double behind = window ? double(s - window) : 0;
    const double pairs = double(s / length) * double(length) * double(length) +
                         double(rest) * double(rest) - behind * behind;
    const double flops = 2.0 * double(b) * double(h) * pairs * double(d);
    auto both = [&](const char* name, Attributes attributes, int64_t bytes) {
      attributes.add("window", window);
      const Filled room(DType::f32, {bytes / 4 + 64});
      const double ahead = time(OpKind::Attention, forward,
                                {out.view(), lse.view()}, attributes);
      const double back =
          time(OpKind::AttentionBackward, backward,
               {dq.view(), dk.view(), dv.view()}, attributes, room.view());
      std::printf("B%lld S%lld H%lld/%lld D%lld %-16s forward %7.3f ms %6.1f, "
                  "backward %7.3f ms %6.1f, workspace %.1f MiB\n",
                  (long long)(b), (long long)(s), (long long)(h),
                  (long long)(hk), (long long)(d), name, ahead,
                  flops / ahead * 1e-9, back, 2.5 * flops / back * 1e-9,
                  double(bytes) / (1 << 20));
      std::fflush(stdout);
    };
    if (document) {
      both(("ours, of " + std::to_string(document)).c_str(), {},
           2 * b * s * hk * d * 4);
      for (int64_t most : {64, 256}) {
        const Attributes attributes = {{"most_documents", most},
                                       {"deterministic", false}};
        plan::Op op;
        op.attributes = attributes;
        if ((s + document - 1) / document <= most)
          both(("cuDNN, up to " + std::to_string(most)).c_str(), attributes,
               sizes::libraryWorkspace(sizes::attentionSizes(
                   ops::AttentionAttributes(op.attributes), DType::bf16,
                   std::vector{b, s, h, d}, std::vector{b, s, hk, d})));
      }
      return;
    }
    both("ours", {}, 2 * b * s * hk * d * 4);
    if (d > 128)
      return; // cuDNN supports none of these, see AttentionLibrary.h
    for (bool isDeterministic : {false, true}) {
      device::AttentionPlans& plans = gpu.attentionPlans();
      const int64_t bytes = plans.backwardBytes(
          {b, s, s, h, hk, d, float(1 / std::sqrt(double(d))), true,
           isDeterministic, 0, 0, 0, window});
      if (bytes < 0) {
        std::printf("no cuDNN: %s\n", plans.notice().c_str());
        continue;
      }
      both(isDeterministic ? "cuDNN in order" : "cuDNN",
           {{"documents", false}, {"deterministic", isDeterministic}}, bytes);
    }
  }

  /// `runs` runs of `count` tokens that begin at `from`, each of a sequence of
  /// its own, on pages in random order of `stored`.
  void pagedAttention(int64_t runs, int64_t from, int64_t count, DType stored) {
    constexpr int64_t heads = 32, keyHeads = 8, width = 128, page = 32;
    const int64_t perSequence = (from + count + page - 1) / page;
    const int64_t pages = runs * perSequence;
    std::vector<int32_t> positions, sequences, table(size_t(pages), 0);
    for (int64_t i = 0; i < runs * count; ++i) {
      positions.push_back(int32_t(from + i % count));
      sequences.push_back(int32_t(i / count));
    }
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), std::mt19937(7));
    const std::vector<int64_t> tokens = {1, runs * count},
                               queries = {1, runs * count, heads, width},
                               rows = {1, runs * count, keyHeads, width};
    const Filled q(DType::bf16, queries), k(DType::bf16, rows),
        v(DType::bf16, rows), out(DType::bf16, queries);
    const Filled places = Filled::integers(tokens, positions),
                 owners = Filled::integers(tokens, sequences),
                 order = Filled::integers({runs, perSequence}, table);
    const std::vector<int64_t> cache = {pages, page, keyHeads, width},
                               scales = {pages, page, keyHeads};
    const Filled keys(stored, cache), values(stored, cache),
        keyScales(DType::f32, scales), valueScales(DType::f32, scales);
    std::vector<device::Tensor> outputs = {out.view(), keys.view(),
                                           values.view()};
    if (stored != DType::bf16)
      outputs.insert(outputs.end(), {keyScales.view(), valueScales.view()});
    const double pairs =
        double(runs) * double(count) * (double(from) + double(count + 1) / 2);
    const Filled workspace(
        DType::f32,
        {std::max<int64_t>(
            1, sizes::pagedWorkspace(
                   {DType::bf16, stored, runs * count, keyHeads, width}))});
    const double ms = time(OpKind::AttentionPaged,
                           {q.view(), k.view(), v.view(), places.view(),
                            owners.view(), order.view()},
                           outputs, {}, workspace.view());
    const auto bytes = double(2 * runs * (from + count) * keyHeads * width *
                              plan::byteSize(stored));
    std::printf("%4lld runs of %4lld tokens after %4lld, %s: %7.1f us, %6.1f "
                "TFLOP/s, pages at %5.2f TB/s\n",
                (long long)(runs), (long long)(count), (long long)(from),
                ops::dtypeName(stored), ms * 1e3,
                4.0 * pairs * double(heads * width) / ms * 1e-9,
                bytes / ms * 1e-9);
    std::fflush(stdout);
  }

private:
  device::CudaContext& gpu;
  const plan::Mesh mesh;
  cudaEvent_t begin = nullptr, end = nullptr;
};

} // namespace
} // namespace reciperun::kernels

/// Prints the device memory held by the context and the libraries between
/// stages.
static void tellMemory(const char* when) {
  size_t free = 0, all = 0;
  cudaMemGetInfo(&free, &all);
  std::printf("%s: %.1f MiB of the device are in use\n", when,
              double(all - free) / (1 << 20));
}

int main(int argc, char** argv) {
  using namespace reciperun;
  std::string cause;
  device::CudaContext* gpu = kernels::testGpu(&cause);
  if (!gpu) {
    std::printf("%s\n", cause.c_str());
    return 1;
  }
  gpu->products().setFile({});
  kernels::Bench bench(*gpu);
  std::printf(
      "%s; figures are TFLOP/s where nothing else is said; products: M 8192, "
      "bf16\n",
      gpu->properties().name);
  tellMemory("context and scratch");
  if (argc > 1 && argv[1] == std::string("paged")) {
    using reciperun::plan::DType;
    for (DType stored : {DType::bf16, DType::f8e4m3, DType::i8}) {
      bench.pagedAttention(512, 1151, 1, stored);
      bench.pagedAttention(4, 0, 2048, stored);
      bench.pagedAttention(8, 0, 1000, stored);
      bench.pagedAttention(64, 0, 128, stored);
      bench.pagedAttention(8, 1536, 512, stored);
    }
    return 0;
  }
  bench.attention(1, 8192, 32, 8, 128);
  tellMemory("with cuDNN");
  if (argc > 1 && argv[1] == std::string("attention")) {
    bench.attention(2, 4096, 32, 8, 128);
    bench.attention(4, 4096, 32, 8, 64);
    bench.attention(1, 8192, 32, 8, 128, 0, 1024);
    for (int64_t document : {4096, 1024, 200, 64}) {
      bench.attention(2, 4096, 32, 8, 128, document);
      bench.attention(4, 4096, 32, 8, 64, document);
    }
    return 0;
  }
  for (auto [n, k] : {std::pair<int64_t, int64_t>{4096, 4096},
                      {6144, 4096},
                      {28672, 4096},
                      {4096, 14336},
                      {128256, 4096},
                      {8192, 8192},
                      {2048, 2048},
                      {16384, 2048}})
    bench.products(n, k);
  tellMemory("with cuBLASLt");
  bench.experts(8, 16384, 4096, 2048);
  bench.experts(8, 16384, 14336, 4096);
  bench.experts(64, 32768, 1408, 2048);
  bench.attention(4, 4096, 32, 8, 64);
  bench.attention(1, 4096, 16, 16, 256);
  return 0;
}
