// See MegatronRules.h. The meanings are names of Found; MegatronModel.cpp and
// MegatronArguments.cpp read them. The first rule that matches counts.

#include "compiler/import/MegatronRules.h"

namespace recipec::importer {
namespace {

constexpr std::string_view ofMetrics = "a run writes metrics.jsonl";
constexpr std::string_view ofEvents =
    "event files have the metrics of every logged step";
constexpr std::string_view ofWandb =
    "`wandb sync --sync-tensorboard` reads the files of `train.tensorboard`";
constexpr std::string_view ofKernels = "the plan decides which kernels run";
constexpr std::string_view ofOverlap = "`comm` decides what overlaps";
constexpr std::string_view ofDispatch =
    "the plan decides how tokens reach their experts";
constexpr std::string_view ofBenchmark =
    "an option for benchmarks: the router's own choices count";
constexpr std::string_view ofLauncher = "a setting of the launcher";
constexpr std::string_view ofData =
    "a recipe names its files in `data.train` and `data.valid`";
constexpr std::string_view ofTokenizer =
    "`tokenizer` names a tokenizer.json, once `data` holds text";

constexpr Rule torchrunTable[] = {
    {"--nproc_per_node", Reading::count, "devices"},
    {"--nproc-per-node", Reading::count, "devices"},
    {"--nnodes", Reading::count, "nodes"},
    {"*", Reading::omitted, ofLauncher},
};

constexpr Rule megatronTable[] = {
    // the model
    {"--num-layers", Reading::count, "layers"},
    {"--hidden-size", Reading::count, "hidden"},
    {"--ffn-hidden-size", Reading::count, "ffn"},
    {"--num-attention-heads", Reading::count, "heads"},
    {"--group-query-attention", Reading::flag, "is_grouped"},
    {"--num-query-groups", Reading::count, "kv_heads"},
    {"--kv-channels", Reading::count, "head_dim"},
    {"--max-position-embeddings", Reading::count, "max_positions"},
    {"--position-embedding-type", Reading::text, "positions"},
    {"--use-rotary-position-embeddings", Reading::flag, "is_rotary"},
    {"--rotary-base", Reading::number, "rotary_base"},
    {"--use-rope-scaling", Reading::flag, "has_rope_scaling"},
    {"--rope-scaling-factor", Reading::number, "rope_scaling"},
    {"--rotary-percent", Reading::number, "rotary_part"},
    {"--normalization", Reading::text, "norm"},
    {"--norm-epsilon", Reading::number, "norm_eps"},
    {"--layernorm-epsilon", Reading::number, "norm_eps"},
    {"--swiglu", Reading::flag, "is_swiglu"},
    {"--squared-relu", Reading::flag, "is_squared_relu"},
    {"--disable-bias-linear", Reading::flag, "has_no_bias"},
    {"--add-qkv-bias", Reading::flag, "has_qkv_bias"},
    {"--qk-layernorm", Reading::flag, "has_qk_norm"},
    {"--untie-embeddings-and-output-weights", Reading::flag, "is_untied"},
    {"--vocab-size", Reading::count, "vocab"},
    {"--make-vocab-size-divisible-by", Reading::omitted,
     "the vocabulary is padded where `tp` does not divide it"},
    {"--init-method-std", Reading::number, "init_std"},
    {"--attention-dropout", Reading::number, "attention_dropout"},
    {"--hidden-dropout", Reading::number, "hidden_dropout"},
    // latent attention
    {"--multi-latent-attention", Reading::flag, "is_latent"},
    {"--q-lora-rank", Reading::count, "q_rank"},
    {"--kv-lora-rank", Reading::count, "kv_rank"},
    {"--qk-head-dim", Reading::count, "nope_dim"},
    {"--qk-pos-emb-head-dim", Reading::count, "rope_dim"},
    {"--v-head-dim", Reading::count, "v_dim"},
    {"--rope-type", Reading::text, "rope_type"},
    {"--rotary-scaling-factor", Reading::number, "rotary_scaling"},
    {"--mscale", Reading::number, "mscale"},
    {"--mscale-all-dim", Reading::number, "mscale_all_dim"},
    {"--mla-down-proj-fusion", Reading::omitted, ofKernels},
    {"--cache-mla-latents", Reading::omitted, "an option of inference"},
    // modules that predict further tokens
    {"--mtp-num-layers", Reading::count, "mtp_layers"},
    {"--mtp-loss-scaling-factor", Reading::number, "mtp_loss"},
    {"--mtp-use-repeated-layer", Reading::omitted,
     "a model has one module for further tokens"},
    {"--mtp-detach-heads", Reading::omitted,
     "the module's gradient goes on to the model"},
    {"--mtp-hsm", Reading::omitted,
     "hidden states are mixed between several modules, and a model has one"},
    // experts
    {"--num-experts", Reading::count, "experts"},
    {"--moe-layer-freq", Reading::text, "expert_layers"},
    {"--moe-ffn-hidden-size", Reading::count, "expert_ffn"},
    {"--moe-shared-expert-intermediate-size", Reading::count, "shared_ffn"},
    {"--moe-shared-expert-gate", Reading::flag, "has_shared_gate"},
    {"--moe-shared-expert-overlap", Reading::omitted, ofOverlap},
    {"--moe-latent-size", Reading::count, "expert_latent"},
    {"--moe-router-topk", Reading::count, "top_k"},
    {"--moe-router-num-groups", Reading::count, "groups"},
    {"--moe-router-group-topk", Reading::count, "top_groups"},
    {"--moe-router-topk-scaling-factor", Reading::number, "route_scale"},
    {"--moe-router-score-function", Reading::text, "score"},
    {"--moe-router-pre-softmax", Reading::flag, "is_pre_softmax"},
    {"--moe-router-enable-expert-bias", Reading::flag, "has_expert_bias"},
    {"--moe-router-bias-update-rate", Reading::number, "bias_rate"},
    {"--moe-router-load-balancing-type", Reading::texts, "balancing"},
    {"--moe-aux-loss-coeff", Reading::number, "aux_loss"},
    {"--moe-z-loss-coeff", Reading::omitted,
     "the library's models give `router` no `z_loss`"},
    {"--moe-input-jitter-eps", Reading::omitted,
     "the library's routers have no noise"},
    {"--moe-router-dtype", Reading::omitted,
     "scores and weights of experts are computed in fp32"},
    {"--moe-router-topk-limited-devices", Reading::omitted,
     "`--moe-router-num-groups` and `--moe-router-group-topk` replace it"},
    {"--moe-router-force-*", Reading::omitted, ofBenchmark},
    {"--moe-router-fusion", Reading::omitted, ofKernels},
    {"--moe-router-padding-for-*", Reading::omitted, ofKernels},
    {"--moe-expert-capacity-factor", Reading::number, "capacity"},
    {"--moe-token-drop-policy", Reading::text, "drop_policy"},
    {"--moe-pad-expert-input-to-capacity", Reading::omitted,
     "an expert's places are as many as its capacity"},
    {"--moe-layer-recompute", Reading::flag, "recompute_experts"},
    {"--moe-grouped-gemm", Reading::omitted, ofKernels},
    {"--moe-permute-fusion", Reading::omitted, ofKernels},
    {"--moe-token-dispatcher-type", Reading::omitted, ofDispatch},
    {"--moe-flex-*", Reading::omitted, ofDispatch},
    {"--moe-enable-deepep", Reading::omitted, ofDispatch},
    {"--moe-deepep-*", Reading::omitted, ofDispatch},
    {"--moe-hybridep-*", Reading::omitted, ofDispatch},
    {"--moe-per-layer-logging", Reading::omitted, ofMetrics},
    {"--moe-use-upcycling", Reading::omitted,
     "a mixture is not made of a dense model's weights"},
    {"--moe-upcycling-*", Reading::omitted,
     "a mixture is not made of a dense model's weights"},
    {"--moe-*", Reading::omitted, "the library's experts have one form"},
    // the layout
    {"--tensor-model-parallel-size", Reading::count, "tp"},
    {"--pipeline-model-parallel-size", Reading::count, "pp"},
    {"--context-parallel-size", Reading::count, "cp"},
    {"--expert-model-parallel-size", Reading::count, "ep"},
    {"--expert-tensor-parallel-size", Reading::count, "etp"},
    {"--num-layers-per-virtual-pipeline-stage", Reading::count, "chunk_layers"},
    {"--num-virtual-stages-per-pipeline-rank", Reading::count, "vp"},
    {"--decoder-first-pipeline-num-layers", Reading::count, "first_layers"},
    {"--decoder-last-pipeline-num-layers", Reading::count, "last_layers"},
    {"--account-for-embedding-in-pipeline-split", Reading::flag,
     "has_embedding_layer"},
    {"--account-for-loss-in-pipeline-split", Reading::flag, "has_loss_layer"},
    {"--pipeline-model-parallel-layout", Reading::text, "pipeline_layout"},
    {"--sequence-parallel", Reading::flag, "is_sequence"},
    {"--use-distributed-optimizer", Reading::flag, "is_distributed"},
    {"--use-torch-fsdp2", Reading::flag, "is_fsdp"},
    {"--use-custom-fsdp", Reading::flag, "is_fsdp"},
    {"--use-megatron-fsdp", Reading::flag, "is_fsdp"},
    {"--data-parallel-sharding-strategy", Reading::text, "strategy"},
    // a step
    {"--micro-batch-size", Reading::count, "micro"},
    {"--global-batch-size", Reading::count, "global"},
    {"--seq-length", Reading::count, "sequence"},
    {"--train-iters", Reading::count, "steps"},
    {"--train-samples", Reading::count, "samples"},
    {"--eval-interval", Reading::count, "validate_every"},
    {"--log-interval", Reading::count, "log_every"},
    {"--seed", Reading::count, "seed"},
    {"--bf16", Reading::flag, "is_bf16"},
    {"--fp16", Reading::flag, "is_fp16"},
    {"--fp8-format", Reading::text, "fp8"},
    {"--fp8-recipe", Reading::text, "fp8_recipe"},
    {"--recompute-activations", Reading::flag, "recompute_selected"},
    {"--recompute-granularity", Reading::text, "recompute"},
    {"--recompute-num-layers", Reading::count, "recompute_layers"},
    {"--recompute-modules", Reading::texts, "recompute_modules"},
    {"--recompute-method", Reading::omitted,
     "`memory.recompute_layers` counts layers from the first on"},
    // the optimizer
    {"--lr", Reading::number, "lr"},
    {"--min-lr", Reading::number, "min_lr"},
    {"--lr-decay-style", Reading::text, "decay"},
    {"--lr-warmup-iters", Reading::count, "warmup"},
    {"--lr-warmup-samples", Reading::count, "warmup_samples"},
    {"--lr-warmup-init", Reading::omitted, "a warmup begins at 0"},
    {"--lr-warmup-fraction", Reading::number, "warmup_part"},
    {"--weight-decay", Reading::number, "weight_decay"},
    {"--adam-beta1", Reading::number, "beta1"},
    {"--adam-beta2", Reading::number, "beta2"},
    {"--adam-eps", Reading::number, "eps"},
    {"--clip-grad", Reading::number, "clip"},
    {"--optimizer", Reading::text, "optimizer"},
    {"--use-precision-aware-optimizer", Reading::implied},
    {"--main-grads-dtype", Reading::text, "grads"},
    {"--exp-avg-dtype", Reading::text, "moments"},
    {"--exp-avg-sq-dtype", Reading::text, "second_moments"},
    // checkpoints
    {"--save", Reading::text, "save"},
    {"--save-interval", Reading::count, "save_every"},
    {"--load", Reading::omitted,
     "a run resumes from its own folder; `weights` names a Hugging Face model"},
    // options that do not change a recipe
    {"--use-mcore-models", Reading::implied},
    {"--mock-data", Reading::implied},
    {"--transformer-impl", Reading::omitted, ofKernels},
    {"--use-flash-attn", Reading::omitted, ofKernels},
    {"--attention-backend", Reading::omitted, ofKernels},
    {"--no-masked-softmax-fusion", Reading::omitted, ofKernels},
    {"--cross-entropy-loss-fusion", Reading::omitted, ofKernels},
    {"--overlap-grad-reduce", Reading::omitted, ofOverlap},
    {"--overlap-param-gather", Reading::omitted, ofOverlap},
    {"--tp-comm-overlap", Reading::omitted, ofOverlap},
    {"--data-path", Reading::omitted, ofData},
    {"--split", Reading::omitted, ofData},
    {"--tokenizer-type", Reading::text, "tokenizer"},
    {"--tokenizer-*", Reading::omitted, ofTokenizer},
    {"--vocab-file", Reading::omitted, ofTokenizer},
    {"--merge-file", Reading::omitted, ofTokenizer},
    // logs
    {"--tensorboard-dir", Reading::text, "tensorboard"},
    {"--tensorboard-*", Reading::omitted, ofEvents},
    {"*-to-tensorboard", Reading::omitted, ofEvents},
    {"--log-throughput", Reading::omitted,
     "metrics.jsonl has tokens per second and TFLOP/s"},
    {"--log-num-zeros-in-grad", Reading::omitted,
     "`train.log_norms` adds norms of gradients to metrics.jsonl"},
    {"--log-params-norm", Reading::omitted,
     "metrics.jsonl has norms of gradients, none of parameters"},
    {"--log-straggler", Reading::omitted,
     "`train.straggler` names slow ranks without it"},
    {"--log-*", Reading::omitted, ofMetrics},
    {"--logging-level", Reading::omitted, "the log has one level"},
    {"--wandb-*", Reading::omitted, ofWandb},
    {"--eval-iters", Reading::omitted,
     "validation runs over all of `data.valid`"},
    {"--lr-decay-iters", Reading::omitted,
     "a rate reaches its end at the last step"},
    {"--lr-decay-samples", Reading::omitted,
     "a rate reaches its end at the last step"},
};

} // namespace

std::span<const Rule> torchrunRules() {
  return torchrunTable;
}

std::span<const Rule> megatronRules() {
  return megatronTable;
}

} // namespace recipec::importer
