// How fast the kernels of GPUs are that memory bounds: GB/s of the bytes that
// an op has to move, and what share that is of a plain copy's. Not a test;
// build and run it by hand:
//   ninja cudaKernelBenchmark && test/programs/cudaKernelBenchmark [OP]
// Sizes are those of a Llama of 8B parameters at 8192 tokens. Operands are
// larger than the L2 cache together. `host` is the time that enqueuing takes.

#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/ScaleBlocks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::kernels {
namespace {

using device::Tensor;
using plan::DType;
using plan::OpKind;

constexpr int64_t tokens = 8192, hidden = 4096, ffn = 14336, width = 128;
constexpr int64_t heads = 32, keyHeads = 8, vocabulary = 128256, rank = 32;

using ops::Attributes;

double secondsNow() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// GPU buffers for one op after another.
class Memory {
public:
  ~Memory() { clear(); }

  /// Values of about 0.01, in every floating type.
  Tensor some(DType type, std::vector<int64_t> shape) {
    const std::vector<int64_t>& kept = shapes.emplace_back(std::move(shape));
    Tensor tensor{nullptr, type, kept};
    if (cudaMalloc(&tensor.data, size_t(tensor.bytes())) != cudaSuccess) {
      std::printf("no memory for %lld bytes\n", (long long)tensor.bytes());
      std::exit(1);
    }
    cudaMemset(tensor.data, 0x3c, size_t(tensor.bytes()));
    taken.push_back(tensor.data);
    return tensor;
  }

  template <class T> Tensor of(DType type, const std::vector<T>& values) {
    Tensor tensor = some(type, {int64_t(values.size())});
    cudaMemcpy(tensor.data, values.data(), values.size() * sizeof(T),
               cudaMemcpyHostToDevice);
    return tensor;
  }

  void clear() {
    for (void* data : taken)
      cudaFree(data);
    taken.clear();
    shapes.clear();
  }

private:
  std::deque<std::vector<int64_t>> shapes;
  std::vector<void*> taken;
};

class Benchmark {
public:
  /// Runs the ops whose line begins with `only`.
  Benchmark(device::CudaContext& context, std::string only)
      : context(context), only(std::move(only)) {}

  void run() {
    copy();
    std::printf("bf16, copy %.0f GB/s\n", ceiling * 1e-9);
    elementwise();
    narrow();
    narrowMade();
    norms();
    adapters();
    rows();
    positions();
    embedding();
    experts();
    loss();
    optimizer();
  }

private:
  static constexpr DType half = DType::bf16, full = DType::f32;

  void copy() {
    Memory memory;
    const int64_t bytes = int64_t(2) << 30;
    Tensor from = memory.some(full, {bytes / 4}),
           to = memory.some(full, {bytes / 4});
    ceiling = 2.0 * double(bytes) / seconds([&] {
                cudaMemcpyAsync(to.data, from.data, size_t(bytes),
                                cudaMemcpyDeviceToDevice, context.stream());
              });
  }

  void elementwise() {
    Memory memory;
    Tensor a = memory.some(half, {tokens, ffn}),
           b = memory.some(half, {tokens, ffn}),
           c = memory.some(half, {tokens, ffn}),
           d = memory.some(half, {tokens, ffn}),
           e = memory.some(half, {tokens, ffn});
    const double bytes = double(a.bytes());
    time("add", 3 * bytes, OpKind::Add, {a, b}, {c});
    time("mul", 3 * bytes, OpKind::Mul, {a, b}, {c});
    time("scale", 2 * bytes, OpKind::Scale, {a}, {c}, {{"alpha", 0.5}});
    time("silu", 2 * bytes, OpKind::Silu, {a}, {c});
    time("silu_backward", 3 * bytes, OpKind::SiluBackward, {a, b}, {c});
    time("gelu", 2 * bytes, OpKind::Gelu, {a}, {c});
    time("gelu exact", 2 * bytes, OpKind::Gelu, {a}, {c}, {{"exact", true}});
    time("gelu_backward", 3 * bytes, OpKind::GeluBackward, {a, b}, {c});
    time("relu2", 2 * bytes, OpKind::Relu2, {a}, {c});
    time("softcap", 2 * bytes, OpKind::Softcap, {a}, {c}, {{"cap", 30.0}});
    time("swiglu", 3 * bytes, OpKind::Swiglu, {a, b}, {c});
    time("swiglu_backward", 5 * bytes, OpKind::SwigluBackward, {a, b, c},
         {d, e});
    time("zero", bytes, OpKind::Zero, {}, {a});
    Tensor wide = memory.some(full, {tokens, ffn});
    time("cast to f32", 3 * bytes, OpKind::Cast, {a}, {wide});
    time("cast to bf16", 3 * bytes, OpKind::Cast, {wide}, {a});
    time("add f32", 6 * bytes, OpKind::Add, {wide, wide}, {wide});
  }

  /// Both layouts of an fp8 matrix.
  void narrow() {
    Memory memory;
    Tensor x = memory.some(half, {tokens, ffn}),
           q = memory.some(DType::f8e4m3, {tokens, ffn}),
           qt = memory.some(DType::f8e4m3, {ffn, tokens});
    const double elements = double(x.elements());
    for (const char* blocks : {"tensor", "rows", "squares", "mx"}) {
      const auto of = *sizes::findScaleBlocks(blocks);
      auto scales = [&](int64_t rows, int64_t columns) {
        const sizes::Scales each = sizes::scalesOf(of, rows, columns);
        return memory.some(each.type, each.shape);
      };
      const bool hasOne = of == sizes::ScaleBlocks::tensor;
      time(std::string("quantize ") + blocks, (hasOne ? 6 : 4) * elements,
           OpKind::Quantize, {x, {}},
           {q,
            scales(tokens, ffn),
            qt,
            hasOne ? Tensor{} : scales(ffn, tokens),
            {}},
           {{"blocks", std::string(blocks)}});
    }
    time("transpose", 2 * elements, OpKind::Transpose, {q}, {qt});
    const std::vector<int64_t> flat = {tokens * ffn};
    Tensor part{x.data, half, flat}, narrowPart{q.data, q.type, flat},
        one = memory.some(full, {1});
    const Attributes all = {{"count", tokens * ffn}};
    time("shard_amax", 2 * elements, OpKind::ShardAmax, {part}, {one}, all);
    time("quantize_shard", 3 * elements, OpKind::QuantizeShard, {part, one},
         {narrowPart, memory.some(full, {1})}, all);
  }

  /// swiglu outputs cast to fp8, in both layouts and in the plain layout only.
  void narrowMade() {
    Memory memory;
    Tensor x[3], q[2], qt[2], scale[2];
    for (Tensor& each : x)
      each = memory.some(half, {tokens, ffn});
    for (int i = 0; i < 2; ++i) {
      q[i] = memory.some(DType::f8e4m3, {tokens, ffn});
      qt[i] = memory.some(DType::f8e4m3, {ffn, tokens});
      scale[i] = memory.some(full, {1});
    }
    const double elements = double(x[0].elements());
    auto both = [&](const std::string& how, int layouts) {
      time("quantize swiglu" + how, (8 + layouts) * elements,
           OpKind::SwigluQuantize, {x[0], x[1], {}},
           {q[0], scale[0], qt[0], {}, {}});
      time("quantize swiglu_backward" + how, (12 + 2 * layouts) * elements,
           OpKind::SwigluBackwardQuantize, {x[0], x[1], x[2], {}, {}},
           {q[0], scale[0], qt[0], {}, {}, q[1], scale[1], qt[1], {}, {}});
    };
    both("", 2);
    qt[0] = qt[1] = {};
    both(" as it lies", 1);
    Tensor stream = memory.some(half, {tokens, hidden}),
           bytes = memory.some(DType::f8e4m3, {tokens, hidden});
    time("quantize as it lies", 5 * double(stream.elements()), OpKind::Quantize,
         {stream, {}}, {bytes, scale[0], {}, {}, {}});
  }

  void norms() {
    for (int64_t size : {2048L, 4096L, 8192L, 16384L}) {
      Memory memory;
      const int64_t count = tokens * hidden / size;
      norm(memory, " " + std::to_string(size), count, size, full);
    }
    Memory memory;
    norm(memory, " of heads", tokens * heads, width, full);
    norm(memory, " dw bf16", tokens, hidden, half);
    Tensor x = memory.some(half, {tokens, hidden}),
           dy = memory.some(half, {tokens, hidden}),
           y = memory.some(half, {tokens, hidden});
    Tensor w = memory.some(half, {hidden}), mean = memory.some(full, {tokens}),
           rstd = memory.some(full, {tokens}), dw = memory.some(full, {hidden});
    const double bytes = double(x.bytes());
    time("layernorm", 2 * bytes, OpKind::LayerNorm, {x, w}, {y, mean, rstd},
         {{"eps", 1e-5}});
    time("layernorm_backward", 3 * bytes, OpKind::LayerNormBackward,
         {dy, x, w, mean, rstd}, {y, dw});
  }

  void norm(Memory& memory, const std::string& what, int64_t count,
            int64_t size, DType gradient) {
    Tensor x = memory.some(half, {count, size}),
           dy = memory.some(half, {count, size}),
           y = memory.some(half, {count, size});
    Tensor w = memory.some(half, {size}), rstd = memory.some(full, {count}),
           dw = memory.some(gradient, {size});
    const double bytes = double(x.bytes());
    time("rmsnorm" + what, 2 * bytes, OpKind::RmsNorm, {x, w}, {y, rstd},
         {{"eps", 1e-5}});
    time("rmsnorm_backward" + what, 3 * bytes, OpKind::RmsNormBackward,
         {dy, x, w, rstd}, {y, dw});
    time("rmsnorm_backward frozen" + what, 3 * bytes, OpKind::RmsNormBackward,
         {dy, x, w, rstd}, {y, Tensor()});
    time("rmsnorm_backward added" + what, 4 * bytes, OpKind::RmsNormBackward,
         {dy, x, w, rstd}, {y, dw}, {{"accumulate", true}});
    time("rmsnorm_backward frozen added" + what, 4 * bytes,
         OpKind::RmsNormBackward, {dy, x, w, rstd}, {y, Tensor()},
         {{"accumulate", true}});
  }

  /// The adapters of q, k and v: separate and fused. Counts the bytes that must
  /// be read and written once.
  void adapters() {
    Memory memory;
    Tensor x = memory.some(half, {tokens, hidden}),
           dx = memory.some(half, {tokens, hidden});
    std::vector<Tensor> w, t, dw;
    for (int i = 0; i < 3; ++i) {
      w.push_back(memory.some(half, {rank, hidden}));
      t.push_back(memory.some(half, {tokens, rank}));
      dw.push_back(memory.some(full, {rank, hidden}));
    }
    const double bytes = double(x.bytes() + t[0].bytes() + w[0].bytes());
    const double joint =
        double(x.bytes() + 3 * t[0].bytes() + 3 * w[0].bytes());
    time("adapter", bytes, OpKind::Linear, {x, w[0]}, {t[0]});
    time("adapter dgrad", bytes, OpKind::LinearDgrad, {t[0], w[0]}, {dx});
    time("adapter dgrad added", bytes + double(x.bytes()), OpKind::LinearDgrad,
         {t[0], w[0]}, {dx}, {{"accumulate", true}});
    time("adapter wgrad", bytes, OpKind::LinearWgrad, {x, t[0]}, {dw[0]});
    time("adapters", joint, OpKind::LinearJoint, {x, w[0], w[1], w[2]},
         {t[0], t[1], t[2]});
    time("adapters dgrad", joint, OpKind::LinearJointDgrad,
         {t[0], t[1], t[2], w[0], w[1], w[2]}, {dx});
    time("adapters wgrad", joint, OpKind::LinearJointWgrad,
         {x, t[0], t[1], t[2]}, {dw[0], dw[1], dw[2]});
    // The other LoRA factor, [hidden, rank], in addition to a frozen matmul.
    Tensor b = memory.some(half, {hidden, rank}),
           db = memory.some(full, {hidden, rank});
    time("adapter b", bytes, OpKind::Linear, {t[0], b}, {dx});
    time("adapter b and a sum", bytes + double(x.bytes()), OpKind::LinearAdd,
         {t[0], b, x}, {dx});
    time("adapter b dgrad", bytes, OpKind::LinearDgrad, {x, b}, {t[0]});
    time("adapter b wgrad", bytes, OpKind::LinearWgrad, {t[0], x}, {db});
  }

  void rows() {
    Memory memory;
    Tensor x = memory.some(half, {tokens, hidden}),
           y = memory.some(half, {tokens, hidden});
    Tensor b = memory.some(half, {hidden}), db = memory.some(full, {hidden});
    Tensor part = memory.some(half, {tokens, hidden / 2}),
           keys = memory.some(half, {tokens, keyHeads, width}),
           all = memory.some(half, {tokens, keyHeads, 4, width});
    const double bytes = double(x.bytes());
    time("add_bias", 2 * bytes, OpKind::AddBias, {x, b}, {y});
    time("bias_backward", bytes, OpKind::BiasBackward, {x}, {db});
    const Attributes begin = {{"begin", hidden / 4}};
    time("narrow", bytes, OpKind::Narrow, {x}, {part}, begin);
    time("pad", 1.5 * bytes, OpKind::Pad, {part}, {x}, begin);
    time("concat", 2 * bytes, OpKind::Concat, {part, part}, {x});
    time("broadcast", 1.25 * bytes, OpKind::Broadcast, {keys}, {all});
    time("broadcast_backward", 1.25 * bytes, OpKind::BroadcastBackward, {all},
         {keys});
    mesh.axes = {{"tp", 2}};
    time("slice", bytes, OpKind::Slice, {x}, {part},
         {{"dim", int64_t(1)}, {"axis", std::string("tp")}});
    mesh.axes.clear();
    Tensor samples = memory.of<int64_t>(DType::i64, {1, 2});
    Tensor places = memory.some(DType::i32, {2, tokens / 2}),
           rowsOfTwo = memory.some(half, {2, tokens / 2, hidden});
    time("dropout", 2 * bytes, OpKind::Dropout, {rowsOfTwo, samples, places},
         {y}, {{"p", 0.1}});
  }

  void positions() {
    Memory memory;
    std::vector<int32_t> places(tokens);
    for (size_t i = 0; i < places.size(); ++i)
      places[i] = int32_t(i);
    Tensor numbers = memory.of(DType::i32, places);
    Tensor q = memory.some(half, {1, tokens, heads, width}),
           y = memory.some(half, {1, tokens, heads, width}),
           k = memory.some(half, {1, tokens, keyHeads, width});
    const Attributes theta = {{"theta", 5e5}};
    time("rope q", 2.0 * double(q.bytes()), OpKind::Rope, {q, numbers}, {y},
         theta);
    time("rope q in place", 2.0 * double(q.bytes()), OpKind::Rope, {q, numbers},
         {q}, theta);
    time("rope k", 2.0 * double(k.bytes()), OpKind::Rope, {k, numbers}, {y},
         theta);
    time("position_scale", 2.0 * double(q.bytes()), OpKind::PositionScale,
         {q, numbers}, {y}, {{"floor", 8192.0}, {"scale", 0.1}});
  }

  void embedding() {
    Memory memory;
    std::mt19937 generator(1);
    std::vector<int32_t> text(tokens), padded(tokens);
    for (size_t i = 0; i < text.size(); ++i) {
      // Word frequencies follow about 1 / rank.
      const double share = double(generator()) / 4294967296.0;
      text[i] = int32_t(std::pow(double(vocabulary), share)) - 1;
      padded[i] = i % 2 ? 7 : text[i];
    }
    Tensor ids = memory.of(DType::i32, text),
           half2 = memory.of(DType::i32, padded);
    Tensor table = memory.some(half, {vocabulary, hidden}),
           y = memory.some(half, {tokens, hidden}),
           wide = memory.some(full, {vocabulary, hidden});
    const double bytes = double(y.bytes());
    std::vector<int32_t> distinct = text;
    std::sort(distinct.begin(), distinct.end());
    const auto kinds = double(std::unique(distinct.begin(), distinct.end()) -
                              distinct.begin());
    time("embedding", 2 * bytes, OpKind::Embedding, {ids, table}, {y});
    time("embedding_backward", bytes + 8 * kinds * hidden,
         OpKind::EmbeddingBackward, {ids, y}, {wide});
    time("embedding_backward bf16", bytes + 4 * kinds * hidden,
         OpKind::EmbeddingBackward, {ids, y}, {table});
    time("embedding_backward half padding", bytes, OpKind::EmbeddingBackward,
         {half2, y}, {wide});
  }

  /// A layer of 64 experts, 8 per token.
  void experts() {
    constexpr int64_t kinds = 64, taken = 8, size = 2048;
    Memory memory;
    std::mt19937 generator(1);
    std::vector<int32_t> numbers(tokens * taken);
    for (int32_t& number : numbers)
      number = int32_t(generator() % kinds);
    Tensor flat = memory.of(DType::i32, numbers),
           choices = memory.some(DType::i32, {1, tokens, taken}),
           chosen = memory.some(DType::i32, {1, tokens, taken}),
           rows = memory.some(DType::i32, {1, tokens, taken});
    cudaMemcpy(choices.data, flat.data, size_t(flat.bytes()),
               cudaMemcpyDeviceToDevice);
    Tensor logits = memory.some(half, {1, tokens, kinds}),
           dlogits = memory.some(half, {1, tokens, kinds}),
           segments = memory.of(DType::i32, std::vector<int32_t>(tokens)),
           weights = memory.of(full, std::vector<float>(tokens, 1.0f)),
           scale = memory.of<float>(full, {1.0f}),
           gates = memory.some(full, {1, tokens, taken}),
           dgates = memory.some(full, {1, tokens, taken}),
           sum = memory.of<double>(DType::f64, {0.0}),
           load = memory.some(DType::f64, {kinds});
    const Attributes rule = {{"aux_loss", 0.01}};
    const double routed = double(logits.bytes() + 2 * gates.bytes());
    time("route", routed, OpKind::Route, {logits, segments, {}, weights, scale},
         {chosen, gates, sum, load, {}}, rule);
    time("route_backward", routed + double(logits.bytes()),
         OpKind::RouteBackward,
         {dgates, logits, segments, choices, weights, scale}, {dlogits}, rule);
    Tensor x = memory.some(half, {1, tokens, size}),
           y = memory.some(half, {1, tokens * taken, size}),
           packed = memory.some(half, {1, tokens * taken, size}),
           counts = memory.some(DType::i32, {1, 1, kinds});
    const double wide = double(y.bytes()), narrow = double(x.bytes());
    time("dispatch", wide + narrow, OpKind::Dispatch, {x, choices, {}},
         {y, rows, counts});
    time("dispatch_backward", wide + narrow, OpKind::DispatchBackward,
         {y, rows, {}, {}}, {x, {}});
    time("combine", wide + narrow, OpKind::Combine, {y, rows, gates}, {x});
    time("combine_backward", wide + narrow, OpKind::CombineBackward,
         {x, rows, {}, gates}, {packed, {}});
    Tensor dots = memory.some(full, {1, tokens * taken, 1}),
           dup = memory.some(half, {1, tokens * taken, size});
    time("row_dots", 2 * wide, OpKind::RowDots, {y, packed}, {dots});
    time("swiglu_backward_dots", 5 * wide, OpKind::SwigluBackwardDots,
         {y, packed, dup}, {y, dup, dots});
    time("gates_backward", 2 * double(gates.bytes()), OpKind::GatesBackward,
         {dots, rows, gates}, {dgates});
    time("pack_rows", 2 * wide, OpKind::PackRows, {y, counts},
         {packed, {}, {}});
    time("unpack_rows", 2 * wide, OpKind::UnpackRows, {packed, counts}, {y});
  }

  void loss() {
    Memory memory;
    Tensor logits = memory.some(half, {tokens, vocabulary}),
           dlogits = memory.some(half, {tokens, vocabulary});
    std::vector<int32_t> classes(tokens, 5);
    std::vector<float> ones(tokens, 1.0f);
    Tensor labels = memory.of(DType::i32, classes),
           weights = memory.of(full, ones),
           scale = memory.of<float>(full, {1.0f});
    Tensor m = memory.some(full, {tokens}),
           stats = memory.some(full, {tokens, 2}),
           sum = memory.of<double>(DType::f64, {0.0});
    const double bytes = double(logits.bytes());
    time("softmax_max", bytes, OpKind::SoftmaxMax, {logits}, {m});
    time("softmax_sum", bytes, OpKind::SoftmaxSum, {logits, m, labels},
         {stats});
    time("softmax_stats", bytes, OpKind::SoftmaxStats, {logits, labels},
         {m, stats});
    time("nll", 16.0 * tokens, OpKind::Nll, {m, stats, weights, scale}, {sum});
    time("cross_entropy_backward", 2 * bytes, OpKind::CrossEntropyBackward,
         {logits, m, stats, labels, weights, scale}, {dlogits});
    time("cross_entropy_backward in place", 2 * bytes,
         OpKind::CrossEntropyBackward,
         {logits, m, stats, labels, weights, scale}, {logits});
  }

  void optimizer() {
    const int64_t count = int64_t(400) << 20;
    Memory memory;
    Tensor norm = memory.of<double>(DType::f64, {1.0}),
           lr = memory.of<float>(full, {1e-4f}),
           step = memory.of<int32_t>(DType::i32, {5});
    Tensor param = memory.some(half, {count}),
           remainder = memory.some(DType::u16, {count}),
           m = memory.some(half, {count}), v = memory.some(half, {count}),
           grad = memory.some(half, {count});
    Tensor master = memory.some(full, {count}),
           wideM = memory.some(full, {count}),
           wideV = memory.some(full, {count}),
           wideGrad = memory.some(full, {count});
    const auto n = double(count);
    const Attributes rule = {
        {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"clip", 1.0}};
    time("adamw remainder, moments bf16", 18 * n, OpKind::AdamW,
         {grad, norm, lr, step}, {param, remainder, m, v}, rule);
    time("adamw all bf16", 14 * n, OpKind::AdamW, {grad, norm, lr, step},
         {param, param, m, v}, rule);
    time("adamw remainder, moments f32", 28 * n, OpKind::AdamW,
         {wideGrad, norm, lr, step}, {param, remainder, wideM, wideV}, rule);
    time("adamw master f32", 30 * n, OpKind::AdamW, {wideGrad, norm, lr, step},
         {param, master, wideM, wideV}, rule);
    time("sum_squares bf16", 2 * n, OpKind::SumSquares, {grad}, {norm});
    time("sum_squares f32", 4 * n, OpKind::SumSquares, {wideGrad}, {norm});
  }

  /// GPU time of a call in seconds: the best of several rounds.
  template <class Call> double seconds(Call call) {
    constexpr int rounds = 6, calls = 8;
    cudaDeviceSynchronize(); // wait for the operands
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
      cudaEventRecord(begin, context.stream());
      for (int i = 0; i < calls; ++i)
        call();
      cudaEventRecord(end, context.stream());
      cudaEventSynchronize(end);
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, begin, end);
      if (round > 0) // the first one loads the kernel
        best = std::min(best, milliseconds * 1e-3 / calls);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return best;
  }

  void time(const std::string& name, double bytes, OpKind kind,
            std::vector<Tensor> inputs, std::vector<Tensor> outputs,
            const Attributes& attributes = {}) {
    if (name.rfind(only, 0) != 0)
      return;
    plan::Op op;
    op.kind = kind;
    op.name = name;
    op.attributes = attributes;
    const device::CudaKernelArgs args{op,   inputs, outputs, {},
                                      mesh, 0,      context};
    Status status;
    double host = 1e9;
    const double best = seconds([&] {
      const double before = secondsNow();
      if (Status now = findCudaKernel(kind)(args); !now.isOk())
        status = now;
      host = std::min(host, secondsNow() - before);
    });
    if (status.isOk())
      status = context.wait();
    if (!status.isOk()) {
      std::printf("%s: %s\n", name.c_str(), status.message().c_str());
      return;
    }
    std::printf("%-34s %9.1f us %8.0f GB/s %5.1f %%   host %5.1f us\n",
                name.c_str(), best * 1e6, bytes / best * 1e-9,
                100 * bytes / best / ceiling, host * 1e6);
    std::fflush(stdout);
  }

  device::CudaContext& context;
  std::string only;
  plan::Mesh mesh;
  double ceiling = 1;
};

} // namespace
} // namespace reciperun::kernels

int main(int count, char** arguments) {
  auto context = reciperun::device::CudaContext::make(0);
  if (!context) {
    std::printf("%s\n", context.message().c_str());
    return 1;
  }
  (*context)->overlapKernels();
  std::printf("%s\n", (*context)->properties().name);
  reciperun::kernels::Benchmark(**context, count > 1 ? arguments[1] : "").run();
}
