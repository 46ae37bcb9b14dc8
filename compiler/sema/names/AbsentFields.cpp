// Settings of other tools that a recipe does not have; see AbsentFields.h.
//
// One line of the table is one subject: the settings that it is known by, and
// the help. A line may be limited to the records of one schema, for names such
// as `mode` that mean another thing elsewhere.

#include "compiler/sema/names/AbsentFields.h"

#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

struct AbsentField {
  std::string_view schema; // empty: any
  std::string_view names;  // with blanks between them
  std::string_view help;
};

constexpr std::string_view scheduleName =
    "leave it out: the schedule is named before the brackets, as in "
    "`cosine(peak = 1e-4)`";
constexpr std::string_view sourceName =
    "leave it out: a source is named before the brackets, as in "
    "`jsonl(\"train.jsonl\", messages = \"messages\")` or "
    "`text(\"train.txt\")`";

constexpr std::string_view uploadHelp =
    "leave it out: nothing is uploaded; `export { hf = \"out/{name}\" }` "
    "writes the folder, and `huggingface-cli upload REPOSITORY FOLDER` uploads "
    "it";

constexpr std::string_view timeoutHelp =
    "leave it out: it is a variable of the run in seconds, as in "
    "`RECIPERUN_COMM_TIMEOUT=1800 recipec run FILE`";
constexpr std::string_view schedulerHelp =
    "leave it out: a recipe says nothing of the scheduler; `recipec plan` "
    "writes the plan, and `mpirun -np N reciperun train PLAN` starts it in "
    "the job";

constexpr AbsentField absentFields[] = {
    {"checkpoint",
     "monitor metric_for_best_model greater_is_better metric mode "
     "monitor_metric best_metric monitor_mode",
     "leave it out: `keep_top` goes by the validation loss, the lowest first"},
    {"checkpoint",
     "save_optimizer save_optimizer_states save_weights_only save_only_model "
     "no_save_optim save_rng no_load_optim no_load_rng",
     "leave it out: a checkpoint always holds weights, optimizer and data "
     "position; `export { hf = \"out/model\" }` writes the weights alone"},
    {"checkpoint",
     "format ckpt_format dist_ckpt_format save_safetensors safe_serialization "
     "torch_dist fully_parallel_save sharded_state_dict",
     "leave it out: a checkpoint has one format, which any layout reads; "
     "`export { hf = \"out/model\" }` writes safetensors"},
    {"checkpoint", "save_last_epoch every_epoch save_at_end save_final",
     "leave it out: a run saves once more at its end where `every` is given"},
    {"checkpoint", "filename name prefix basename",
     "leave it out: checkpoints are called `step-00000100` by their step; "
     "`dir` is their folder"},
    {"",
     "early_stopping early_stopping_patience patience min_delta "
     "early_stopping_threshold early_stop",
     "leave it out: no run ends early by its validation loss; "
     "`checkpoint { keep_top = 1 }` keeps the best checkpoint"},
    {"",
     "callbacks hooks plugins enable_progress_bar progress_bar disable_tqdm "
     "enable_model_summary num_sanity_val_steps logger loggers",
     "leave it out: a run shows its progress, and writes each step as a line "
     "of `metrics.jsonl` under `train.dir`"},
    {"",
     "val_split validation_split valid_split test_size val_size eval_split "
     "split_ratio val_set_size validation_fraction train_test_split",
     "no file is split: write a part of its lines to a file of its own and "
     "name that as `data.valid`"},
    {"",
     "limit_val_batches eval_iters limit_train_batches max_eval_samples "
     "max_train_samples max_samples num_samples eval_batches val_batches "
     "limit_test_batches subset sample_size",
     "leave it out: a run reads all of its files; name shorter ones as "
     "`data.train` and `data.valid`, or set `train.steps`"},
    {"",
     "num_workers dataloader_num_workers num_proc preprocessing_num_workers "
     "dataset_num_proc prefetch_factor pin_memory persistent_workers "
     "dataloader_pin_memory drop_last dataloader_drop_last prefetch",
     "leave it out: the loader has nothing to set"},
    {"",
     "padding pad_to_max_length pad_to_multiple_of padding_side "
     "pad_to_sequence_len group_by_length length_column_name truncation "
     "truncation_side",
     "leave it out: a sample is cut at `data.sequence` and padded to it; "
     "`pack = true` of `data` puts several into one sequence"},
    {"",
     "streaming cache_dir overwrite_cache use_cache remove_unused_columns "
     "dataset_prepared_path skip_prepare_dataset index_mapping_dir",
     "leave it out: files are read where they are, and nothing is cached"},
    {"data",
     "split splits data_split split_string train_val_test_split "
     "train_valid_test_split dataset_split splits_string",
     "leave it out, no file is split: samples to validate on are in files of "
     "their own, `valid = text(\"valid.txt\")`, say"},
    {"data",
     "batch_size batch collate_fn collator data_collator sampler "
     "dataloader_type",
     "leave it out: `batch { global = 32, micro = 1 }` says how many sequences "
     "make a step"},
    {"data", "field columns text_field dataset_text_field text_column column",
     "a source names its own fields: `jsonl(\"train.jsonl\", prompt = "
     "\"prompt\", completion = \"completion\")`; `text` and `tokens` have "
     "none"},
    {"text", "field column columns text_field text_column key",
     "leave it out: a text file has no fields; samples of a file of JSON lines "
     "are `jsonl(\"train.jsonl\", prompt = \"prompt\", completion = "
     "\"completion\")`"},
    {"jsonl",
     "text text_field dataset_text_field text_column text_key content_key "
     "field",
     "lines of JSON are samples with an answer: write their texts to a text "
     "file, and `text(\"train.txt\")`"},
    {"jsonl",
     "role content role_key content_key role_field content_field from value "
     "message_property_mappings message_field_role message_field_content "
     "roles from_key value_key role_tag content_tag user_tag assistant_tag "
     "conversation_template",
     "leave it out: a message is `{\"role\": ..., \"content\": ...}` with the "
     "roles `system`, `user` and `assistant`; rename the fields of other "
     "files, `from` and `value` of ShareGPT say, before"},
    {"jsonl", "system system_prompt instruction context input_field",
     "a sample is one prompt and one completion: join the texts into the "
     "field of the prompt, or write them as chat messages, `messages = "
     "\"messages\"`"},
    {"jsonl",
     "chosen rejected chosen_field rejected_field chosen_key rejected_key "
     "field_chosen field_rejected chosen_column rejected_column preferred "
     "dispreferred chosen_response rejected_response",
     "there is no training by preferences (DPO): write `completion` for the "
     "field of the chosen answer, and leave the rejected one out"},
    {"jsonl", "weight probability ratio proportion sampling_weight",
     "shares belong to a blend: `blend([jsonl(...), jsonl(...)], weights = "
     "[0.7, 0.3])`"},
    {"jsonl", "split name subset config revision",
     "leave it out: a path names one file, and `data.train` and `data.valid` "
     "have one each"},
    {"jsonl", "limit max_lines nrows skip",
     "leave it out: all lines are read; name a shorter file, or set "
     "`train.steps`"},
    {"batch",
     "rampup_batch_size batch_size_rampup ramp_up rampup warmup_batch_size "
     "batch_size_schedule auto_find_batch_size auto_scale_batch_size",
     "leave it out: the batch has one size for the whole run"},
    {"chat_template",
     "template jinja chat_template format name type jinja_template",
     "leave it out: `before` and `after` are the texts around a message"},
    {"chat_template",
     "user assistant tool function human bot user_prefix assistant_prefix "
     "user_template assistant_template format_user format_assistant user_start "
     "user_end assistant_start assistant_end user_tag assistant_tag "
     "instruction_template response_template instruction_part response_part "
     "roles role_mapping",
     "leave it out: the form is one for all roles, `before = \"\\{role}: \", "
     "after = \"\\n\"`, say, with `\\{role}` for the role of a message"},
    {"chat_template", "system system_prompt system_message default_system",
     "leave it out: a system prompt is the first of a sample's messages, "
     "`{\"role\": \"system\", \"content\": \"...\"}`; `reciperun chat` takes "
     "one by `--system TEXT`"},
    {"serve",
     "host port api_key hostname http_port grpc_port served_model_name "
     "uvicorn_log_level allowed_origins root_path ssl_keyfile ssl_certfile "
     "max_request_body_size server_name bind listen "
     "http",
     "leave it out: there is no network server; `reciperun generate DIR "
     "--prompt-file FILE` and `reciperun chat DIR` answer prompts"},
    {"serve",
     "lora_modules enable_lora max_loras max_lora_rank lora_paths lora_dir "
     "adapter adapters lora max_cpu_loras",
     "leave it out: an adapter is merged before it is served, `reciperun "
     "convert CHECKPOINT DIR`"},
    {"export",
     "adapter adapter_dir lora lora_dir adapter_path save_adapter "
     "adapter_only",
     "leave it out: beside the merged model, `hf` has the adapter itself in "
     "its folder `adapter`"},
    {"export",
     "format type safetensors safe_serialization dtype save_format "
     "max_shard_size merge merge_adapter merge_lora onnx gguf "
     "quantization_method",
     "leave it out: the folder `hf` has safetensors, with an adapter merged "
     "into them; other programs convert it, llama.cpp's "
     "`convert_hf_to_gguf.py` to GGUF"},
    {"export",
     "push_to_hub hub_model_id hub_repo repo_id hub_repo_id hub_private_repo "
     "hub_token hub_strategy private commit_message push_to_hub_model_id "
     "upload upload_to_hub repo",
     uploadHelp},
    {"recipe",
     "special_tokens special_tokens_map add_tokens added_tokens new_tokens "
     "additional_special_tokens tokens",
     "leave it out: padding needs no token, and the ids of the tokens around "
     "a document are the model's `bos_token` and `eos_token`"},
    {"recipe", "logging logs monitoring log progress telemetry reporting",
     "lines of the log are set by `train { log_every = 10 steps }`; each step "
     "is a line of `metrics.jsonl` in `train.dir`"},
    {"recipe",
     "includes include imports extends base_config inherit_from parent",
     "another recipe's settings are taken by `recipe job amends other { ... "
     "}`"},
    {"train",
     "duration max_time time wall_time timeout max_hours max_train_time "
     "train_time",
     "leave it out: a run ends by `steps`, `epochs` or `tokens`, and `recipec "
     "estimate` predicts its time"},
    {"train",
     "train_samples max_samples samples num_train_samples total_samples",
     "leave it out: give `steps`, the samples divided by `batch.global`"},
    {"lora", "type name kind method lora_type",
     "leave it out: `lora` says it, as in `adapter = lora { rank = 16 }`"},
    {"cosine", "type name kind scheduler", scheduleName},
    {"linear", "type name kind scheduler", scheduleName},
    {"constant", "type name kind scheduler", scheduleName},
    {"wsd", "type name kind scheduler", scheduleName},
    {"inverse_sqrt", "type name kind scheduler", scheduleName},
    {"jsonl", "type ds_type kind loader", sourceName},
    {"text", "type ds_type kind loader", sourceName},
    {"data", "type ds_type kind loader", sourceName},
    {"lora",
     "path weights checkpoint resume pretrained adapter_path lora_path "
     "adapter_name_or_path lora_weights lora_model_dir lora_weights_path",
     "leave it out: an adapter goes on from a checkpoint of its run, "
     "`checkpoint { resume = \"DIR/step-00000100\" }`; a new one starts on the "
     "merged model, `weights = \"DIR\"`"},
    {"lora", "bias lora_bias train_bias lora_only",
     "leave it out: an adapter trains no bias"},
    {"lora",
     "task_type inference_mode peft_type base_model_name_or_path "
     "auto_mapping revision",
     "leave it out: an adapter of `task = \"sft\"` or `\"pretrain\"` is for "
     "causal language models"},
    {"lora",
     "modules_to_save use_dora dora use_rslora rslora init_lora_weights "
     "lora_A_init_method A_init_method fan_in_fan_out layers_to_transform "
     "layers_pattern rank_pattern alpha_pattern loftq_config use_lora "
     "exclude_modules lora_target_linear apply_lora_to_mlp "
     "apply_lora_to_output dropout_position quantize_base",
     "leave it out: an adapter has `rank`, `alpha`, `dropout` and the "
     "`targets`, any `linear` op of the model by the end of its name"},
    {"adamw",
     "amsgrad foreach fused capturable maximize differentiable "
     "correct_bias bias_correction use_distributed_optimizer "
     "overlap_grad_sync overlap_param_sync bucket_cap_mb "
     "contiguous_grad_buffer",
     "leave it out: the update is fused, with correction of the bias, and "
     "`parallel.shard` says what of it ranks share"},
    {"adamw", "type name class cls optimizer kind algorithm optim opt_type",
     "leave it out: AdamW is the one optimizer, `optimizer = adamw { lr = 1e-4 "
     "}`"},
    {"cosine",
     "t_max decay_steps max_steps total_steps lr_decay_iters lr_decay_steps "
     "num_training_steps num_cycles constant_steps decay_iters epochs steps "
     "t_initial cycle_length max_iters",
     "leave it out: a schedule ends with the run, whose length is in `train`"},
    {"linear",
     "decay_steps max_steps total_steps lr_decay_iters lr_decay_steps "
     "num_training_steps constant_steps total_iters start_factor end_factor "
     "epochs steps power max_iters",
     "leave it out: a schedule ends with the run, whose length is in `train`"},
    {"wsd",
     "num_stable_steps stable_steps stable max_steps total_steps "
     "num_training_steps",
     "leave it out: what `warmup` and `decay` leave of the run is stable"},
    {"adamw", "momentum nesterov dampening rho alpha",
     "leave it out: AdamW has `betas` in place of a momentum"},
    {"adamw",
     "no_decay no_weight_decay no_weight_decay_cond exclude_from_decay "
     "param_groups no_decay_params weight_decay_exclude decoupled",
     "leave it out: decay is decoupled, and norms and biases have none; an "
     "own model says it by `decay = false` of its ops"},
    {"adamw", "ema ema_decay swa lookahead use_ema",
     "leave it out: no average of the weights is kept"},
    {"adamw",
     "layerwise_lr_decay llrd lr_mult embedding_lr decoupled_lr "
     "layer_decay lr_embedding loraplus_lr_ratio",
     "leave it out: all parameters have one learning rate"},
    {"adamw", "clip_value clip_by_value gradient_clip_algorithm clip_type",
     "leave it out: `clip` bounds the global norm of the gradient"},
    {"",
     "loss_scale initial_loss_scale dynamic_loss_scale grad_scaler "
     "min_loss_scale initial_scale_power loss_scale_window hysteresis "
     "native_amp_init_scale scaler",
     "leave it out: bf16 has the range of fp32, and no loss is scaled"},
    {"",
     "attn_implementation flash_attention use_flash_attention "
     "use_flash_attn flash_attn flash_attention_2 sdp_attention "
     "xformers_attention attention_backend use_flash_attention_2 sdpa",
     "leave it out: attention is always computed in one fused kernel, without "
     "its matrix"},
    {"",
     "torch_compile compile use_torch_compile torchdynamo "
     "torch_compile_backend jit use_liger liger_kernel use_liger_kernel "
     "enable_cuda_graph cuda_graph use_cuda_graphs fused_kernels "
     "apply_rope_fusion bias_activation_fusion",
     "leave it out: the compiler fuses and schedules the ops of every recipe"},
    {"",
     "backend dist_backend ddp_backend distributed_backend "
     "ddp_find_unused_parameters find_unused_parameters master_addr "
     "master_port static_graph",
     "leave it out: ranks talk by NCCL on GPUs and by MPI on CPUs"},
    {"comm", "timeout timeout_s timeout_seconds timeout_minutes init_timeout",
     timeoutHelp},
    {"",
     "ddp_timeout nccl_timeout comm_timeout dist_timeout "
     "collective_timeout process_group_timeout distributed_timeout "
     "distributed_timeout_minutes pg_timeout",
     timeoutHelp},
    {"",
     "nccl_algo nccl_proto nccl_debug nccl_socket_ifname nccl_ib_disable "
     "nccl_ib_hca nccl_p2p_disable nccl_nvls_enable nccl_buffsize "
     "nccl_min_nchannels nccl_communicator_config_path",
     "leave it out: NCCL reads its variables from the environment, as in "
     "`NCCL_DEBUG=INFO recipec run FILE`"},
    {"",
     "deepspeed deepspeed_config megatron fsdp_config fsdp_version "
     "accelerate accelerate_config ds_config stage3_max_live_parameters "
     "auto_wrap_policy wrap_policy fsdp_auto_wrap_policy "
     "fsdp_transformer_layer_cls_to_wrap transformer_layer_cls_to_wrap "
     "param_persistence_threshold "
     "reshard_after_forward",
     "leave it out: `parallel { shard = \"optimizer\" }` says what ranks "
     "share, "
     "`\"gradients\"` and `\"parameters\"` (FSDP, ZeRO-3) more"},
    {"",
     "label_smoothing label_smoothing_factor z_loss z_loss_weight "
     "loss_fn loss criterion cross_entropy_fusion loss_type "
     "calculate_per_token_loss",
     "leave it out: the loss is the cross-entropy of the next token"},
    {"",
     "response_template instruction_template response_key_template "
     "instruction_part response_part train_on_eos train_on_eot "
     "roles_to_train field_messages_training data_collator_template "
     "train_on_turn loss_on_assistant",
     "leave it out: `task = \"sft\"` puts the loss on the completion, or on "
     "the assistant's messages, alone"},
    {"", "pad_token pad_token_id pad_id padding_token",
     "leave it out: padding needs no token, and it carries no loss"},
    {"", "neftune neftune_noise_alpha noise_alpha",
     "leave it out: no noise is added to embeddings"},
    {"",
     "reward_model ref_model reference_model dpo rlhf kl_coef "
     "num_generations ppo_epochs",
     "leave it out: `task` is `\"pretrain\"` or `\"sft\"`, there is no "
     "training by preferences or rewards"},
    {"",
     "push_to_hub hub_model_id hub_strategy push_to_hub_model_id "
     "push_to_hub_organization hub_private_repo hub_always_push",
     uploadHelp},
    {"", "hub_token use_auth_token trust_remote_code hf_token token private",
     "leave it out: a recipe names files and folders, nothing is taken from "
     "or sent to a hub"},
    {"",
     "wandb_project wandb_run_name wandb_entity run_name project "
     "experiment_name exp_name wandb_watch wandb_name tensorboard_dir "
     "create_wandb_logger create_tensorboard_logger exp_manager "
     "wandb_log_model comet_project experiment tracker trackers wandb "
     "tensorboard mlflow report_to log_to use_wandb use_tensorboard "
     "tensorboard_log_dir enable_wandb enable_tensorboard log_with comet "
     "neptune aim swanlab",
     "leave it out: each step is a line of `metrics.jsonl` in `train.dir`, and "
     "the recipe's name is the run's"},
    {"",
     "empty_cache_steps torch_empty_cache_steps gc_interval "
     "manual_gc gc_steps garbage_collection",
     "leave it out: a plan has the address of every buffer, and no cache"},
    {"",
     "do_train do_eval do_predict eval_only predict_with_generate "
     "eval_on_start evaluate_before_training skip_validation test_after",
     "leave it out: `data.valid` and `train.validate_every` say what is "
     "validated, and when"},
    {"",
     "profile profiler nsys_profile torch_profiler profile_steps nsys "
     "profile_step_start",
     "leave it out: it is an option of the run, `reciperun train PLAN "
     "--profile FIRST:LAST:RANKS`"},
    {"",
     "offload_optimizer offload_param offload_params offload_parameters "
     "offload_optimizer_device offload_param_device optimizer_offload "
     "param_offload optimizer_cpu_offload cpu_offload_optimizer "
     "fsdp_offload_params fsdp_cpu_offload cpu_offload cpu_offload_params "
     "offload_to_cpu zero_offload nvme_path",
     "leave it out: weights and the optimizer's state stay on the device; "
     "`parallel { shard = \"parameters\" }` spreads them over the ranks, and "
     "`memory { offload_layers = 1 }` keeps activations on the host"},
    {"", "temperature top_p top_k do_sample num_beams",
     "leave it out: it is an option of each answer, `reciperun generate DIR "
     "--prompt TEXT --temperature T`"},
    {"",
     "launch slurm launcher sbatch queue partition account time_limit "
     "container image env env_vars executor walltime",
     schedulerHelp},
    {"cluster",
     "time mem mem_per_cpu mem_per_node exclusive qos constraint gres "
     "nodelist exclude reservation mail_user mail_type requeue dependency "
     "job_name name preemptible spot region zone",
     schedulerHelp},
    {"",
     "threads num_threads omp_num_threads cpu_threads torch_num_threads "
     "cores num_cores cores_per_rank cpus_per_task cpus_per_rank "
     "cpus_per_gpu",
     "leave it out: a CPU rank has its share of the machine's cores, or as "
     "many threads as a variable of the run says, as in `OMP_NUM_THREADS=4 "
     "recipec run FILE`"},
    {"hardware",
     "sm_count num_sms sms compute_capability capability arch architecture "
     "tdp power cuda_cores l2_cache cache clock price vendor generation "
     "topology driver cuda_version",
     "leave it out: a device is described by `memory`, `flops_bf16`, "
     "`flops_fp32`, `bandwidth` and `link_bandwidth`"},
    {"",
     "hydra defaults _target_ _self_ _component_ _partial_ __class__ "
     "cls class_path init_args",
     "leave it out: a record is written by its schema's name, as in `adamw "
     "{ lr = 1e-4 }`"},
    {"",
     "version schema_version api_version kind metadata description author "
     "tags notes comment",
     "write it as a comment, `## ...` before the recipe"},
    {"",
     "freeze freeze_layers freeze_modules unfrozen_parameters "
     "trainable_modules num_freeze_layers freeze_embeddings requires_grad",
     "leave it out: the whole model is trained, or an `adapter` alone"},
};

/// Whether one of the words is the name.
bool hasWord(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    if (isSameName(words.substr(0, end), name))
      return true;
    words.remove_prefix(end == words.npos ? words.size() : end + 1);
  }
  return false;
}

std::vector<std::string> wordsIn(std::string_view words) {
  std::vector<std::string> list;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    list.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return list;
}

} // namespace

std::vector<AbsentSubject> absentSubjects(std::string_view schema) {
  std::vector<AbsentSubject> subjects;
  for (const AbsentField& each : absentFields)
    if (each.schema.empty() || each.schema == schema)
      subjects.push_back({wordsIn(each.names), each.help});
  return subjects;
}

std::string_view insteadOf(std::string_view schema, std::string_view name) {
  for (const bool isOfAny : {false, true})
    for (const AbsentField& each : absentFields)
      if (each.schema == (isOfAny ? std::string_view() : schema) &&
          hasWord(each.names, name))
        return each.help;
  return {};
}

} // namespace recipec::sema
