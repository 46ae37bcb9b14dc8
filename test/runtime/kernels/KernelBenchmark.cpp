// How fast the kernels are on this machine: GFLOP/s of matrix products and
// attention, GB/s of the rest. Not a test; build and run it by hand:
//   ninja kernelBenchmark && test/programs/kernelBenchmark [THREADS [OP]]
// Sizes are those of a Llama of about 80M parameters at 2 x 512 tokens.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr int64_t batch = 2, sequence = 512, tokens = batch * sequence;
constexpr int64_t heads = 12, keyHeads = 4, width = 64, hidden = heads * width;
constexpr int64_t ffn = 2048, vocabulary = 32000;

double secondsNow() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

class Benchmark {
public:
  /// Times the ops called `only`, or all when it is empty.
  Benchmark(DType type, int threads, std::string only)
      : type(type), context(threads), only(std::move(only)) {}

  void products() {
    product("q", hidden, hidden);
    product("k", keyHeads * width, hidden);
    product("gate", ffn, hidden);
    product("down", hidden, ffn);
    product("head", vocabulary, hidden);
  }

  void attention() {
    Array q = some({batch, sequence, heads, width});
    Array k = some({batch, sequence, keyHeads, width}), v = k;
    Array out = q, lse(sums(), {batch, heads, sequence});
    Array segments(DType::i32, {batch, sequence});
    Array places = placesOf(batch, sequence);
    Array dq = q, dk = k, dv = k, workspace(sums(), {2 * k.size()});
    // Half of the s x s scores, two matmuls forward and five backward.
    const double flops = 2.0 * batch * heads * sequence * sequence * width / 2;
    time("attention", 2 * flops, 0, OpKind::Attention,
         {&q, &k, &v, &segments, &places, &segments, &places}, {&out, &lse});
    time("attention_backward", 5 * flops, 0, OpKind::AttentionBackward,
         {&out, &out, &q, &k, &v, &lse, &segments, &places, &segments, &places},
         {&dq, &dk, &dv}, {}, &workspace);
  }

  /// Channels of `heads` heads in one group, with a state of 128 each.
  void stateSpace() {
    constexpr int64_t state = 128, chunk = 128, taps = 4;
    Array x = some({batch, sequence, 1, hidden}), y = x, dx = x;
    Array dt = some({batch, sequence, 1, heads}), ddt = dt;
    Array b = some({batch, sequence, 1, state}), c = b, db = b, dc = b;
    Array p = some({1, heads}), sum(sums(), {1, heads});
    Array w = some({1, hidden, taps}), dw(sums(), {1, hidden, taps});
    Array segments(DType::i32, {batch, sequence});
    Array states(sums(), {batch, 1, sequence / chunk, hidden, state});
    const double bytes = double(x.tensor().bytes());
    time("causal_conv", 0, 2 * bytes, OpKind::CausalConv, {&x, &w, &segments},
         {&y});
    time("causal_conv_backward", 0, 5 * bytes, OpKind::CausalConvBackward,
         {&y, &x, &w, &segments}, {&dx, &dw});
    // Per state element: decay, input and output; the gradients take as much
    // again.
    const double flops = 5.0 * batch * sequence * hidden * state;
    time("state_scan", flops, 0, OpKind::StateScan,
         {&x, &dt, &b, &c, &p, &p, &p, &segments}, {&y, &states},
         {{"chunk", chunk}});
    time("state_scan_backward", 14.0 / 5 * flops, 0, OpKind::StateScanBackward,
         {&y, &x, &dt, &b, &c, &p, &p, &p, &segments, &states},
         {&dx, &ddt, &db, &dc, &sum, &sum, &sum}, {{"chunk", chunk}});
  }

  void rows() {
    Array x = some({batch, sequence, hidden}), y = x, dy = x,
          w = some({hidden});
    Array rstd(sums(), {tokens}), dw(sums(), {hidden});
    Array positions(DType::i32, {batch, sequence});
    Array samples = Array::integers({batch}, {0, 1}, DType::i64);
    Array places = placesOf(batch, sequence);
    Array heads4 = some({batch, sequence, heads, width}), turned = heads4;
    const double bytes = double(x.tensor().bytes());
    time("rmsnorm", 0, 2 * bytes, OpKind::RmsNorm, {&x, &w}, {&y, &rstd},
         {{"eps", 1e-5}});
    time("rmsnorm_backward", 0, 3 * bytes, OpKind::RmsNormBackward,
         {&dy, &x, &w, &rstd}, {&y, &dw});
    time("rope", 0, 2 * bytes, OpKind::Rope, {&heads4, &positions}, {&turned},
         {{"theta", 1e4}});
    time("add", 0, 3 * bytes, OpKind::Add, {&x, &y}, {&y});
    time("dropout", 0, 2 * bytes, OpKind::Dropout, {&x, &samples, &places},
         {&y}, {{"p", 0.1}});
  }

  void feedForward() {
    Array gate = some({tokens, ffn}), up = gate, y = gate, dgate = y, dup = y;
    const double bytes = double(gate.tensor().bytes());
    time("swiglu", 0, 3 * bytes, OpKind::Swiglu, {&gate, &up}, {&y});
    time("swiglu_backward", 0, 5 * bytes, OpKind::SwigluBackward,
         {&y, &gate, &up}, {&dgate, &dup});
  }

  void loss() {
    Array logits = some({tokens, vocabulary}), dlogits = logits;
    Array labels(DType::i32, {tokens}), weights(DType::f32, {tokens});
    Array m(sums(), {tokens}), stats(sums(), {tokens, 2});
    Array scale(DType::f32, {1});
    scale.set(0, 1);
    for (int64_t i = 0; i < tokens; ++i)
      weights.set(i, 1);
    const double bytes = double(logits.tensor().bytes());
    time("softmax_max", 0, bytes, OpKind::SoftmaxMax, {&logits}, {&m});
    time("softmax_sum", 0, bytes, OpKind::SoftmaxSum, {&logits, &m, &labels},
         {&stats});
    time("cross_entropy_backward", 0, 2 * bytes, OpKind::CrossEntropyBackward,
         {&logits, &m, &stats, &labels, &weights, &scale}, {&dlogits});
  }

  void embedding() {
    Array ids(DType::i32, {tokens}), table = some({vocabulary, hidden});
    Array dtable(sums(), {vocabulary, hidden}), y = some({tokens, hidden});
    for (int64_t i = 0; i < tokens; ++i)
      ids.set(i, double(i * 7919 % vocabulary));
    const double bytes = double(y.tensor().bytes());
    time("embedding", 0, 2 * bytes, OpKind::Embedding, {&ids, &table}, {&y});
    time("embedding_backward", 0, 3 * bytes, OpKind::EmbeddingBackward,
         {&ids, &y}, {&dtable});
  }

  void optimizer() {
    const int64_t count = 20 << 20;
    Array param(type, {count}), master(sums(), {count}), m = master, v = master;
    Array grad = master, norm(DType::f64, {1}), lr(DType::f32, {1});
    Array step(DType::i32, {1});
    step.set(0, 1);
    const bool shared = type != DType::bf16;
    const double bytes = double(master.tensor().bytes()) * 7 +
                         (shared ? 0 : double(param.tensor().bytes()));
    time("adamw", 0, bytes, OpKind::AdamW, {&grad, &norm, &lr, &step},
         {shared ? &master : &param, &master, &m, &v},
         {{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}});
    time("sum_squares", 0, double(grad.tensor().bytes()), OpKind::SumSquares,
         {&grad}, {&norm});
    time("zero", 0, double(grad.tensor().bytes()), OpKind::Zero, {}, {&grad});
  }

private:
  DType sums() const { return accumulatorOf(type); }

  Array some(std::vector<int64_t> shape) const {
    return Array::random(type, std::move(shape), 1);
  }

  void product(const std::string& name, int64_t n, int64_t k) {
    Array x = some({tokens, k}), w = some({n, k}), y = some({tokens, n});
    Array dw(sums(), {n, k});
    const double flops = 2.0 * tokens * double(n * k);
    time(name, flops, 0, OpKind::Linear, {&x, &w}, {&y});
    time(name + " dgrad", flops, 0, OpKind::LinearDgrad, {&y, &w}, {&x});
    time(name + " wgrad", flops, 0, OpKind::LinearWgrad, {&x, &y}, {&dw});
  }

  /// Takes the best of several runs, to suppress other load on the machine.
  void time(const std::string& name, double flops, double bytes, OpKind kind,
            std::vector<Array*> inputs, std::vector<Array*> outputs,
            const Attributes& attributes = {}, Array* workspace = nullptr) {
    if (!only.empty() && name != only)
      return;
    plan::Op op;
    op.kind = kind;
    op.name = name;
    op.attributes = attributes;
    std::vector<device::Tensor> in, out;
    for (Array* array : inputs)
      in.push_back(array->tensor());
    for (Array* array : outputs)
      out.push_back(array->tensor());
    const plan::Mesh mesh;
    const device::KernelArgs args{
        op,   in, out,    workspace ? workspace->tensor() : device::Tensor{},
        mesh, 0,  context};
    double best = 1e9;
    const double start = secondsNow();
    for (int i = 0; i < 5 || (i < 50 && secondsNow() - start < 0.5); ++i) {
      const double before = secondsNow();
      if (const Status status = findKernel(kind)(args); !status.isOk()) {
        std::printf("%s: %s\n", name.c_str(), status.message().c_str());
        return;
      }
      best = std::min(best, secondsNow() - before);
    }
    std::printf("%-24s %8.3f ms", name.c_str(), best * 1e3);
    if (flops > 0)
      std::printf("  %7.1f GFLOP/s\n", flops / best * 1e-9);
    else
      std::printf("  %7.1f GB/s\n", bytes / best * 1e-9);
  }

  DType type;
  device::CpuContext context;
  std::string only;
};

void run(const char* title, DType type, int threads, const std::string& only) {
  std::printf("%s, %d threads\n", title, threads);
  Benchmark benchmark(type, threads, only);
  benchmark.products();
  benchmark.attention();
  benchmark.stateSpace();
  benchmark.rows();
  benchmark.feedForward();
  benchmark.loss();
  benchmark.embedding();
  benchmark.optimizer();
}

} // namespace
} // namespace reciperun::kernels

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 2;
  const std::string only = count > 2 ? arguments[2] : "";
  reciperun::kernels::run("f32", reciperun::plan::DType::f32, threads, only);
  reciperun::kernels::run("bf16", reciperun::plan::DType::bf16, threads, only);
}
