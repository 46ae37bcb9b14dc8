// The long text of each kind of advice, with its evidence; see Explanations.cpp
// for the form.

#include "compiler/diag/AdviceExplanations.h"

#include <cassert>

namespace recipec::diag {

std::string_view adviceText(Kind kind) {
  switch (kind) {
  case Kind::TensorParallelOverNetwork:
    return R"(
Each layer exchanges its activations twice in the forward and twice in the
backward pass among the ranks of `tp`, and little of that can run beside
computation. NVLink connects the ranks of a node, or of a rack with NVL72; the
network to others has a ninth of its bandwidth or less. In

    cluster  { hardware = h100, ranks = 64 }
    parallel { tp = 16 }

each group of 16 ranks lies on two nodes: write `tp = 8, pp = 2`. Stages of a
pipeline exchange the activations of one layer alone.

Evidence: Megatron Bridge, performance guide, "Parallel Mapping Strategies".)";
  case Kind::ExpertParallelOverNetwork:
    return R"(
Each layer of experts sends its tokens to the ranks of their experts and back,
in an all-to-all among the ranks of `ep`. A group that is wider than the NVLink
domain does so over the network. The warning is given where a rank has the
memory for the experts of a narrower `ep`. In

    model    = mixtral.mixtral_8x7b
    cluster  { hardware = h200, ranks = 64 }
    parallel { ep = 8, etp = 2 }

a group of 16 ranks lies on two nodes: write `ep = 4`, or leave `etp` out.

Evidence: Megatron Bridge, performance guide, "Expert Parallelism"; Megatron
Core, MoE guide: `EP` and `TP` stay within the NVLink domain, `pp` scales on.)";
  case Kind::SplitNvlinkDomain:
    return R"(
Ranks are numbered through the nodes, and the groups of `tp`, `cp` and `ep` are
consecutive ranks. If their number does not divide the NVLink domain, some
groups lie in two domains. A collective is as slow as its slowest link, and the
other groups wait for these. In

    cluster  { hardware = gb200, ranks = 128 }
    parallel { ep = 64 }

ranks 64 to 127 lie in two domains of 72: let the job take 64 GPUs of each
domain (16 nodes), and describe it with `gb200 { link_ranks = 64 }`.

Evidence: Megatron Bridge, performance guide, "Parallel mapping strategies with
NVL72".)";
  case Kind::NarrowTensorParallel:
    return R"(
With `tp`, a rank multiplies by a part of each matrix. Narrow parts do not keep
a GPU's tensor cores busy, launches weigh more, and what the ranks exchange
does not shrink. The warning is given where `hidden` / `tp` is 1024 or less and
a smaller `tp` fits the memory. In

    model    = llama.llama3_8b
    cluster  { hardware = h200, ranks = 8 }
    parallel { tp = 8 }

a rank has 512 of 4096: write `tp = 1` or `tp = 2`, and `dp` takes the ranks.

Evidence: Llama 3 70B on 32 H100 in fp8, 509 TFLOP/s a GPU with tp 8 and 704
with tp 4 (Megatron Bridge, memory tuning); Llama 3 8B on 4 H200, 9,182
tokens/s a GPU with tp 4, 10,257 with tp 2, 11,256 with dp 4 (measured,
docs/performance.md).)";
  case Kind::ShortContextParallel:
    return R"(
With `cp`, the attention of a rank's tokens runs beside the exchange of keys and
values. Attention grows with the square of the sequence and the exchange with
the sequence, so that short sequences cannot hide it. The warning is given
below 8192 tokens where `cp = 1` fits the memory. In

    parallel { cp = 2 }
    data     { sequence = 4096 }

each rank has 2048 tokens of a sequence: leave `cp` out, and `dp` takes the
ranks.

Evidence: Megatron Core, MoE guide: use CP from 8192 tokens on; Llama 3 8B with
sequences of 8192 on 4 H200, 10,413 tokens/s a GPU with cp 2 and 11,256 with
dp 4 (measured, docs/performance.md).)";
  case Kind::ExpertTensorParallel:
    return R"(
`etp` shards the matmuls of each expert, `ep` the list of experts. Whole experts
have larger matmuls and exchange less. The warning is given where `ep` * `etp`
divides the number of experts. In

    model    = mixtral.mixtral_8x7b
    parallel { ep = 4, etp = 2 }

8 ranks could have one of the 8 experts each: write `ep = 8`, and leave `etp`
out.

Evidence: Megatron Core, MoE guide: Mixtral 8x7B is faster with EP 8 than with
EP 4 and TP 2; Megatron Bridge, performance guide: ETP is usually 1.)";
  case Kind::PipelineNotInterleaved:
    return R"(
At the beginning and the end of a step the stages of a pipeline wait for one
another: with m micro-batches and p stages in (p - 1) / (m + p - 1) of the step.
With `vp` chunks a stage it is (p - 1) / (vp * m + p - 1); stages then keep some
more activations and send more messages. The warning is given from 5 % on where
`vp` is 1, the layers divide and the memory is enough. In

    parallel { pp = 4 }
    batch    { global = 64, micro = 1 }

with `dp` = 8 there are 8 micro-batches, and stages wait in 27 % of a step:
write `vp = 2` for 16 %.

Evidence: Narayanan et al. 2021, section 2.2; Megatron Bridge, performance
guide, "Pipeline Parallelism".)";
  case Kind::UnbalancedStages:
    return R"(
All stages of a pipeline wait for the slowest one. The first stage also has the
embedding, and the last one the head and the loss, which take as long as
several layers where the vocabulary is large. The warning is given where another
split makes the slowest stage 5 % faster by the estimate. In

    model    = llama.llama3_8b
    parallel { pp = 4 }

the last stage has 8 of 32 layers and the head, which takes as long as more
than 2 of them: write the split of the help, as in `layers = [9, 9, 8, 6]`.

Evidence: Megatron Bridge, performance guide: allocate fewer layers to the first
and the last stage.)";
  case Kind::SmallFp8Matmuls:
    return R"(
fp8 speeds up matmuls alone. Their time grows with the square of `hidden`; that
of norms, activations and casts to fp8 grows with `hidden`. The warning is
given where `hidden` is 1024 or less. In

    model     = qwen.qwen25_05b
    precision { compute = "fp8" }

`hidden` is 896, and fp8 is hardly faster: leave `compute` out.

Evidence, fp8 against bf16 on one H100: 1.10 times as fast for Qwen2.5 0.5B,
hidden 896, and 1.31 for 3B, hidden 2048 (llmq); 0.95 for LoRA of Qwen3 0.6B,
hidden 1024 (Surogate). On H200 1.26 at hidden 2048 and 1.41 at 4096 (measured,
docs/performance.md).)";
  case Kind::LossyGradientReduction:
    return R"(
A ring adds the gradients of its ranks one after another. bf16 has 8 significant
bits: to the sum of 256 equal gradients, one more adds nothing. The warning is
given from 128 ranks on. In

    cluster   { hardware = h100, ranks = 256 }
    precision { grads = "bf16" }

256 ranks are added in bf16: leave `grads` out, which keeps and adds them in
fp32, or use `parallel.shard_instances`, whose groups add fewer ranks.

Evidence: Megatron Bridge, performance guide, "Communication Data Types":
validated in many runs, and a risk with data parallelism of 128 or more.)";
  case Kind::SmallBuckets:
    return R"(
A ring of n ranks exchanges a bucket in n - 1 messages, each of an n-th of it.
Below n * latency * bandwidth bytes most of the time is latency. In

    cluster { hardware = h100, ranks = 64 }
    comm    { bucket = 4MiB }

messages of 64 KiB take 1.3 µs of data and 14 µs of latency each: write
`bucket = 64MiB`, or leave it out.

Evidence: Thakur et al. 2005 for the ring; latencies of NCCL's cost model;
Megatron Bridge, performance guide: large messages for data parallelism.)";
  case Kind::NeedlessRecompute:
    return R"(
Recomputation trades computation for memory. The warning is given where the
plan would also fit without it: by what the gradients read and the backward
pass now computes again, times the micro-batches in flight, which is an upper
bound. In

    model   = llama.llama3_8b
    cluster { hardware = h200, ranks = 8 }
    batch   { global = 8 }
    data    { sequence = 2048 }
    memory  { recompute = "full" }

the memory has room for the activations: leave `recompute` out.

Evidence: the estimate's share of recomputation; Megatron Bridge, performance
guide: about 30 % more computation for whole layers.)";
  case Kind::SlowOffload:
    return R"(
The copies of a layer's activations to the host run beside the computation of
the next layer, and back beside that of the one before. What takes longer on the
link is waited for. The warning is given from 5 % of the passes on. In

    cluster { hardware = h100, ranks = 8 }
    memory  { offload_layers = 32 }

PCIe 5 has 64 GB/s, and a layer of Llama 3 8B with 8192 tokens takes longer to
copy than to compute: offload fewer layers, or write `recompute = "full"`. What
is computed again is not copied.

Evidence: the estimate's times of copies and of computation; Megatron Bridge,
performance guide, "Activation offloading to host memory".)";
  default:
    assert(false && "no advice");
    return {};
  }
}

} // namespace recipec::diag
