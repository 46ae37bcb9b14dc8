// The first rule that matches a key applies.

#include "compiler/import/NemoYaml.h"

namespace recipec::importer {
namespace {

constexpr std::string_view ofKubernetes =
    "a setting of Kubernetes, not of a recipe";
constexpr std::string_view ofContainer =
    "a recipe runs the installed programs, not a container";
constexpr std::string_view asTraining = "validation has the batch of training";

constexpr Rule yamlRules[] = {
    // Kubernetes
    {"apiVersion", Reading::implied},
    {"kind", Reading::implied},
    {"metadata.name", Reading::implied},
    {"metadata.*", Reading::omitted, ofKubernetes},
    {"spec.image.*", Reading::omitted, ofContainer},
    {"spec.resources.nodes", Reading::count, "nodes"},
    {"spec.resources.gpusPerNode", Reading::count, "devices"},
    {"spec.resources.gpuType", Reading::omitted, "it names no kind of GPU"},
    {"spec.model.name", Reading::text, "model"},
    {"spec.model.source", Reading::implied},
    {"spec.training.type", Reading::text, "task"},
    {"spec.training.epochs", Reading::number, "train.epochs"},
    {"spec.training.batchSize", Reading::count, "micro"},
    {"spec.training.gradientAccumulationSteps", Reading::count, "accumulation"},
    {"spec.training.learningRate", Reading::number, "lr"},
    {"*.tensorParallelism", Reading::count, "tp"},
    {"*.pipelineParallelism", Reading::count, "pp"},
    {"*.contextParallelism", Reading::count, "cp"},
    {"*.dataParallelism", Reading::count, "dp"},
    {"spec.data.trainDataset", Reading::text, "train_file"},
    {"spec.data.valDataset", Reading::text, "valid_file"},
    {"spec.data.format", Reading::implied},
    {"spec.checkpoint.enabled", Reading::implied},
    {"spec.checkpoint.path", Reading::text, "save_dir"},
    {"spec.checkpoint.saveInterval", Reading::count, "checkpoint.every"},
    // the trainer
    {"trainer.devices", Reading::count, "devices"},
    {"trainer.num_nodes", Reading::count, "nodes"},
    {"trainer.accelerator", Reading::implied},
    {"trainer.precision", Reading::text, "precision"},
    {"trainer.max_epochs", Reading::number, "train.epochs"},
    {"trainer.max_steps", Reading::count, "train.steps"},
    {"trainer.val_check_interval", Reading::count, "train.validate_every"},
    {"trainer.log_every_n_steps", Reading::count, "train.log_every"},
    {"trainer.gradient_clip_val", Reading::number, "optimizer.clip"},
    {"*.tensor_model_parallel_size", Reading::count, "tp"},
    {"*.virtual_pipeline_model_parallel_size", Reading::count, "vp"},
    {"*.pipeline_model_parallel_size", Reading::count, "pp"},
    {"*.context_parallel_size", Reading::count, "cp"},
    {"*.expert_model_parallel_size", Reading::count, "ep"},
    {"*.expert_tensor_parallel_size", Reading::count, "etp"},
    {"*.sequence_parallel", Reading::omitted,
     "`parallel.sequence` follows `tp`"},
    // the model and its data
    {"model.restore_from_path", Reading::text, "model_path"},
    {"model.config._target_", Reading::text, "model"},
    {"model.peft.peft_scheme", Reading::text, "peft"},
    {"model.peft.lora_tuning.adapter_dim", Reading::count, "adapter.rank"},
    {"model.peft.lora_tuning.alpha", Reading::number, "adapter.alpha"},
    {"model.peft.lora_tuning.dropout", Reading::number, "adapter.dropout"},
    {"model.peft.lora_tuning.adapter_dropout", Reading::number,
     "adapter.dropout"},
    {"model.peft.lora_tuning.target_modules", Reading::texts, "targets"},
    {"*train_ds.file_path", Reading::text, "train_file"},
    {"*validation_ds.file_path", Reading::text, "valid_file"},
    {"*validation_ds.micro_batch_size", Reading::omitted, asTraining},
    {"*validation_ds.global_batch_size", Reading::omitted, asTraining},
    {"*.global_batch_size", Reading::count, "global"},
    {"*.micro_batch_size", Reading::count, "micro"},
    {"*.seq_length", Reading::count, "sequence"},
    {"*.max_seq_length", Reading::count, "sequence"},
    {"*.encoder_seq_length", Reading::count, "sequence"},
    // the optimizer
    {"*optim.name", Reading::text, "optimizer"},
    {"*optim.config.optimizer", Reading::text, "optimizer"},
    {"*optim.lr", Reading::number, "lr"},
    {"*optim.config.lr", Reading::number, "lr"},
    {"*.min_lr", Reading::number, "min_lr"},
    {"*.warmup_steps", Reading::count, "warmup"},
    {"*.weight_decay", Reading::number, "optimizer.weight_decay"},
    {"*.betas", Reading::texts, "betas"},
    {"*.adam_beta1", Reading::number, "beta1"},
    {"*.adam_beta2", Reading::number, "beta2"},
    {"*.clip_grad", Reading::number, "optimizer.clip"},
    // checkpoints
    {"checkpoint.save_dir", Reading::text, "save_dir"},
    {"checkpoint.save_top_k", Reading::count, "checkpoint.keep_top"},
    {"checkpoint.save_last", Reading::flag, "save_last"},
    {"checkpoint.save_interval", Reading::count, "checkpoint.every"},
    {"checkpoint.resume.enabled", Reading::flag, "resume"},
    {"checkpoint.resume.resume_from_checkpoint", Reading::text, "resume_from"},
    {"*._target_", Reading::omitted, "a class of NeMo"},
};

} // namespace

std::span<const Rule> nemoRules() {
  return yamlRules;
}

} // namespace recipec::importer
