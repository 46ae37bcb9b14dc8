// Tables of the commands and options of other programs: vLLM, TensorRT-LLM,
// SGLang, llama.cpp, transformers and Megatron.

#include "runtime/train/ForeignUsage.h"

#include "runtime/checkpoint/FolderKind.h"
#include "runtime/cli/Options.h"
#include "runtime/cli/Spelling.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Paths.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

namespace reciperun::train {
namespace {

constexpr std::string_view resumes =
    "the recipe says what a run goes on from: `recipec run FILE --set "
    "'checkpoint.resume=\"PATH\"'`";
constexpr std::string_view isCompiled =
    "the settings of a plan are fixed: `recipec run FILE --set PATH=VALUE` "
    "compiles the recipe with others";
constexpr std::string_view isOfPlan =
    "the loss is on `data.valid` of the plan: `recipec plan FILE --set "
    "'data.valid=jsonl(\"valid.jsonl\", prompt = \"prompt\", completion = "
    "\"completion\")' -o eval.json` compiles one for other data";
constexpr std::string_view isLossAlone =
    "`eval` gives the loss on `data.valid` of the plan; other programs run "
    "benchmarks on the folder that `export.hf` names or `reciperun convert` "
    "writes";
constexpr std::string_view isMpirun =
    "mpirun starts the ranks, as many as the plan has: write `mpirun -np N` "
    "before `reciperun`";
constexpr std::string_view downloads =
    "nothing is downloaded: `huggingface-cli download NAME --local-dir DIR` "
    "gets a model of the Hugging Face Hub";
constexpr std::string_view isFirst =
    "the model's folder is the first argument, DIR";
constexpr std::string_view isOneProcess =
    "one process answers prompts, on one GPU or on the CPU: leave it out";
constexpr std::string_view isInFolder =
    "it is read from the model's folder: leave it out";
constexpr std::string_view isNoServer =
    "this command loads the model from DIR and answers in its own process; "
    "`reciperun serve DIR` starts a server";
constexpr std::string_view isCompiledForDevice =
    "the plan is for one kind of device: `recipec plan DIR --set "
    "cluster.hardware=h100 -o DIR/generate.plan.json` compiles one for a GPU";
constexpr std::string_view isMerged =
    "an adapter is merged into its model: `reciperun convert CHECKPOINT DIR` "
    "writes the merged model";
constexpr std::string_view isInMessages =
    "a line of `--prompt-file FILE.jsonl` may hold a conversation: "
    "{\"messages\": [{\"role\": \"system\", \"content\": ...}, ...]}";
constexpr std::string_view isTyped =
    "messages come from the terminal, or through a pipe";
constexpr std::string_view isStreamed =
    "answers are printed as they come: leave it out";
constexpr std::string_view isSecond = "TARGET is the second argument";
constexpr std::string_view isFormat =
    "that is `--weights=FORMAT` here: `fp8`, `int8` or `int4`";

/// The tests of nccl-tests, commands of `bench`.
constexpr std::string_view collectives =
    "all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv "
    "gather scatter hypercube";

/// Options of other programs, and what to do here instead.
struct ForeignOption {
  std::string_view commands; // with spaces between
  std::string_view options;  // with spaces between
  std::string_view help;     // `--name`: the option's name here
};

/// The commands that answer prompts. `bench` stands for `bench serve`.
constexpr std::string_view answering = "generate chat serve bench";
constexpr std::string_view prompting = "generate chat";
constexpr std::string_view benchmark = "serve bench";

constexpr ForeignOption foreignOptions[] = {
    {collectives, "-p --parallel-init",
     "mpirun starts all ranks at the same time: leave it out"},
    {collectives,
     "-y --stream-null -u --unalign -D --device-implementation "
     "-V --device-cta-count -x --cta-policy -R --local-register",
     "it changes how nccl-tests calls NCCL; this bench calls it as training "
     "does: leave it out"},
    {collectives, "-M --memory",
     "`nvidia-smi` shows the memory of each process: leave it out"},
    {collectives, "-I --per-iter-timing -K --per-iter-skip",
     "a row has the mean time of its iterations; for the time of single calls "
     "write `--iters 1 --run_cycles N`"},
    {collectives, "-np --np", isMpirun},

    {"train", "--resume --resume-from-checkpoint --checkpoint --ckpt --load",
     resumes},
    {"train", "--set --config --lr --steps --max-steps --epochs --batch-size",
     isCompiled},
    {"train", "--max-restarts --max-retries --retries --restart", "--restarts"},
    {"train eval",
     "--nproc-per-node --nproc --np -np -n --gpus --num-gpus --nnodes",
     isMpirun},
    {"eval", "--set --batch-size --micro-batch-size --config --max-length",
     isCompiled},
    {"eval", "--ckpt --load --model --weights", "--checkpoint"},
    {"eval",
     "--data --dataset --data-path --data-file --valid --valid-data "
     "--eval-data "
     "--eval-file --test-data --file --split",
     isOfPlan},
    {"eval", "--tasks --task --benchmark --benchmarks --num-fewshot --limit",
     isLossAlone},

    {answering, "--model --model-path --model-dir -m", isFirst},
    {answering, "--tokenizer --tokenizer-path --chat-template", isInFolder},
    {answering,
     "--tensor-parallel-size --tp-size --tp -tp --pipeline-parallel-size "
     "--pp-size --pp --data-parallel-size --dp --num-gpus --gpus --n-gpus "
     "--world-size --tensor-split --num-nodes",
     isOneProcess},
    {answering,
     "--device --device-map --n-gpu-layers --gpu-layers -ngl --main-gpu "
     "--backend",
     isCompiledForDevice},
    {answering,
     "--host --port --api-key --base-url --endpoint --url --server "
     "--served-model-name",
     isNoServer},
    {answering,
     "--lora --lora-path --lora-modules --enable-lora --adapter "
     "--adapter-path --peft",
     isMerged},
    {answering, "--trust-remote-code",
     "no code of a model's folder is run: leave it out"},
    {answering, "--kv-cache-dtype --kv-cache-type --cache-type-k",
     "keys and values are in the compute type: leave it out"},
    {answering, "--enforce-eager --use-cuda-graph --compile",
     "there is nothing to choose: leave it out"},
    {answering,
     "--speculative-model --draft-model --model-draft --speculative-config",
     "it is part of the plan: compile one with `recipec plan DIR --set "
     "'serve.draft=draft_model(\"SMALL\")' -o DIR/generate.plan.json`"},
    {answering, "--verbose --log-level --log-disable",
     "there is none: leave it out"},

    {prompting,
     "--max-length --max-new-tokens --n-predict --max-output-len "
     "--max-completion-tokens -n",
     "--max-tokens"},
    {prompting, "--temp", "--temperature"},
    {prompting, "--do-sample --sample",
     "a `--temperature` above 0 draws tokens: leave it out"},
    {prompting, "--greedy", "that is `--temperature=0`, the default"},
    {prompting,
     "--num-beams --beam --beams --beam-width --use-beam-search --best-of",
     "there is no beam search: leave it out; `reciperun generate --n=N` gives "
     "several answers of a prompt, with a `--temperature` above 0"},
    {prompting, "--n --num-return-sequences --num-samples --num-completions",
     "`reciperun generate --n=N` gives several answers of a prompt, with a "
     "`--temperature` above 0"},
    {prompting, "--repeat-penalty", "--repetition-penalty"},
    {prompting, "--stop-token-ids --stop-token-id --eos-token-id --end-id",
     "--stop-token"},
    {prompting, "--stop-strings --stop-words --reverse-prompt", "--stop"},
    {prompting, "--bad-words", "--bad-word"},
    {prompting, "--random-seed -s", "--seed"},
    {prompting, "--stream --streaming --no-stream", isStreamed},

    {"generate", "--input --input-text --text -p", "--prompt"},
    {"generate", "--file --prompts --prompts-file --input-file --dataset -f",
     "--prompt-file"},
    {"generate", "--output-file --out -o", "--output"},
    {"generate", "-t", "--threads"},
    {"generate", "--guided-json --response-format --schema -j",
     "--json-schema"},
    {"generate", "--guided-regex", "--regex"},
    {"generate", "--guided-choice --choices", "--choice"},
    {"generate", "--guided-grammar --grammar-file --gbnf", "--grammar"},
    {"generate",
     "--system --system-prompt --messages --chat --apply-chat-template -sys",
     isInMessages},
    {"generate", "--chat-template-kwargs",
     "here it is the field `chat_template_kwargs` of a line of `--prompt-file "
     "FILE.jsonl`"},
    {"generate", "--interactive --conversation -i -cnv",
     "that is `reciperun chat DIR`"},
    {"generate chat", "--checkpoint",
     "name the folder of an exported model as the first argument; `reciperun "
     "convert CHECKPOINT DIR` writes one"},

    {"chat", "--prompt --prompt-file --message -p -f", isTyped},
    {"chat", "--system-prompt --system-message -sys", "--system"},
    {"chat", "--threads -t", "set `OMP_NUM_THREADS`"},
    {"chat", "--interactive --conversation -i -cnv",
     "`chat` is a conversation: leave it out"},

    {benchmark,
     "--batch-size --max-batch-size --max-concurrency --num-concurrent "
     "--parallel --concurrent -b",
     "--concurrency"},
    {benchmark, "--num-prompts --num-requests --prompts -n", "--requests"},
    {benchmark,
     "--input-len --random-input-len --input-length --input-mean --isl "
     "--max-input-len --prompt-len --n-prompt -p",
     "--input-tokens"},
    {benchmark,
     "--output-len --random-output-len --output-length --output-mean --osl "
     "--max-tokens --max-new-tokens --max-output-len --n-gen -n-gen",
     "--output-tokens"},
    {benchmark, "--dataset-path --dataset-file --prompt-file", "--dataset"},
    {benchmark, "--dataset-name",
     "requests are random, or those of `--dataset=FILE`: leave it out"},
    {benchmark, "--prompt",
     "requests are random, or those of `--dataset=FILE`"},
    {benchmark,
     "--num-warmups --warmup-iters --warmup-requests "
     "--num-warmup-requests",
     "--warmup"},
    {benchmark,
     "--json --output --output-json --save-result --result-filename "
     "--result-dir --report -o",
     "--report-json"},
    {benchmark, "--qps --rate --arrival-rate", "--request-rate"},
    {benchmark, "--ignore-eos",
     "each answer has exactly the tokens asked for: leave it out"},
    {benchmark, "--temperature --top-p --top-k",
     "answers take the likeliest token: leave it out"},
    {benchmark, "--streaming --stream",
     "all latencies are measured in one run: leave it out"},
    {benchmark, "-t", "--threads"},

    {"convert", "--output --output-dir --outfile --target --out -o", isSecond},
    {"convert", "--input --model --model-path --checkpoint --source",
     "SOURCE is the first argument"},
    {"convert",
     "--quantize --quantization --quant --qformat --weight-only "
     "--weight-only-precision --use-weight-only --bits --wbits "
     "--load-in-4bit --load-in-8bit -q",
     isFormat},
    {"convert", "--dtype --output-dtype --outtype --precision",
     "a checkpoint's weights are written in the compute type of its run, a "
     "Hugging Face directory's in their own type; `--weights=fp8`, `int8` or "
     "`int4` quantizes"},
    {"convert", "--overwrite --overwrite-output-dir --exist-ok -f -y",
     "--force"},
    {"convert", "--group-size --block-size",
     "int4 has a scale for each 128 inputs, fp8 and int8 one for each output: "
     "leave it out"},
    {"convert", "--calib-dataset --calib-size --dataset --calibration-data",
     "weights are quantized without calibration: leave it out"},
    {"convert", "--merge --merge-lora --merge-and-unload",
     "a checkpoint's adapter is merged unless `--to=adapter` is given: leave "
     "it out"},
    {"convert", "--adapter --lora --base-model",
     "a checkpoint holds the model and its adapter: `reciperun convert "
     "CHECKPOINT TARGET` merges them"},
    {"convert", "--tp --tp-size --tensor-parallel-size --pp-size",
     "a model is written whole, for any layout: leave it out"},
    {"convert", "--to-hf --hf --huggingface", "that is `--to=hf` here"},

    {"prune", "--keep-best", "--keep-top"},
    {"prune", "--last", "--keep-last"},
    {"prune", "--yes --force -y -f",
     "`prune` does not ask; `--dry-run` tells what it would remove"},
};

/// A setting of the recipe, and the options of other programs that set the
/// same.
struct PlanSetting {
  std::string_view setting;
  std::string_view options;
};

constexpr PlanSetting planSettings[] = {
    {"serve.max_batch=N",
     "--max-num-seqs --batch-size --max-batch-size --parallel "
     "--max-running-requests --max-concurrency --concurrency -np -b"},
    {"serve.token_budget=N",
     "--max-num-batched-tokens --max-num-tokens --ubatch-size "
     "--chunked-prefill-size -ub"},
    {"serve.max_input=N", "--max-input-len --max-prompt-len --input-len"},
    {"serve.memory_fraction=F",
     "--gpu-memory-utilization --mem-fraction-static "
     "--kv-cache-free-gpu-mem-fraction --kv-cache-free-gpu-memory-fraction "
     "--free-gpu-memory-fraction"},
    {"serve.cache=BYTES", "--kv-cache-memory-bytes --kv-cache-size"},
    {"serve.page=N", "--block-size --page-size --tokens-per-block"},
    {"serve.prefix_cache=true",
     "--enable-prefix-caching --enable-block-reuse --kv-cache-reuse"},
    {"serve.prefix_cache=false",
     "--no-enable-prefix-caching --disable-radix-cache"},
    {"serve.chunked_prefill=true",
     "--enable-chunked-prefill --enable-chunked-context"},
    {"data.sequence=N",
     "--max-model-len --max-seq-len --max-sequence-length --ctx-size "
     "--context-length --n-ctx --ctx -c"},
    {"'precision.compute=\"bf16\"'", "--dtype --torch-dtype --precision"},
    {"'serve.weights=\"FORMAT\"'",
     "--quantization --quantize --weights --load-in-4bit --load-in-8bit -q"},
};

/// Values that an option takes in other programs, and what to write here.
struct ForeignValue {
  std::string_view commands; // with spaces between
  std::string_view option;
  std::string_view values; // in lower case, with spaces between
  std::string_view help;
};

constexpr ForeignValue foreignValues[] = {
    {"convert", "--to", "peft lora", "that is `adapter` here"},
    {"convert", "--to", "safetensors huggingface hugging-face transformers",
     "that is `hf` here"},
    {"convert", "--to", "nemo megatron dcp torch-dist ckpt pt",
     "that is `checkpoint` here"},
    {"convert", "--to", "gguf trtllm engine onnx",
     "llama.cpp, TensorRT-LLM and others convert the Hugging Face directory of "
     "`--to=hf`"},
    {"convert", "--weights", "q8-0 w8a16 int8-wo 8bit 8",
     "that is `int8` here"},
    {"convert", "--weights",
     "q4-0 q4-k-m q4-k-s w4a16 int4-wo nf4 awq gptq int4-awq 4bit 4",
     "that is `int4` here: a scale for each 128 inputs, without calibration"},
    {"convert", "--weights", "fp8-e4m3 e4m3 f8 float8", "that is `fp8` here"},
    {"convert", "--weights", "bf16 fp16 f16 bfloat16 float16 fp32 none",
     "`--weights` quantizes: leave it out to convert without"},
    {"serve", "--request-rate", "inf infinity -1",
     "0 is all requests at the start, the default"},
    {"serve", "--concurrency", "0 -1 inf none",
     "without it all requests are in progress at once: leave it out"},
    {"generate chat", "--top-k", "-1", "0 is all tokens, the default"},
    {"generate chat", "--max-tokens", "-1 -2 none inf",
     "the longest answer is `serve.max_output` of the plan: give at most that"},
    {"generate chat", "--seed", "-1 random none",
     "give another number for another answer"},
};

/// An option that takes an id, and the option that takes a text instead.
struct TextOption {
  std::string_view option, ofText;
};

constexpr TextOption textOptions[] = {{"--stop-token", "--stop"}};

/// A value in single quotes, for the shell.
std::string inShellQuotes(const std::string& value) {
  const bool isPlain = value.find('\'') == value.npos;
  return isPlain ? "'" + value + "'" : "TEXT";
}

/// The numbers that a value in another notation may mean (`0,7`, `95%`,
/// `1_000`, `4k`), in the notation of options, the likeliest first.
std::vector<std::string> numbersMeant(const std::string& value) {
  std::vector<std::string> meant;
  if (value.empty() || !std::isdigit(static_cast<unsigned char>(value[0])))
    return meant;
  std::string plain = value;
  std::erase(plain, '_');
  std::erase(plain, ',');
  std::string point = value;
  std::replace(point.begin(), point.end(), ',', '.');
  const bool hasThousands = value.find_last_of(",") != value.npos &&
                            value.size() - value.find_last_of(",") == 4;
  meant.push_back(hasThousands ? plain : point);
  meant.push_back(plain);
  const char last = value.back();
  const auto number =
      cli::parseNumber<double>(value.substr(0, value.size() - 1));
  double factor = 0;
  if (last == '%')
    factor = 0.01;
  else if (last == 'k' || last == 'K')
    factor = 1000;
  else if (last == 'M')
    factor = 1e6;
  if (number && factor > 0) {
    std::ostringstream text;
    text.precision(12);
    text << *number * factor;
    meant.push_back(text.str());
  }
  if (const auto whole = cli::parseNumber<double>(value);
      whole && *whole == std::floor(*whole) && std::abs(*whole) < 1e15)
    meant.push_back(std::to_string(int64_t(*whole)));
  std::erase(meant, value);
  return meant;
}

bool holds(std::string_view words, std::string_view word) {
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word)
      return true;
    begin = end + 1;
  }
  return false;
}

/// The remedy from the tables; empty when they do not have the option.
std::string knownRemedy(std::string_view command, std::string_view option) {
  for (const ForeignOption& each : foreignOptions)
    if (holds(each.commands, command) && holds(each.options, option))
      return each.help.starts_with("--")
                 ? "that is `" + std::string(each.help) + "` here"
                 : std::string(each.help);
  if (!holds(answering, command))
    return {};
  for (const PlanSetting& each : planSettings)
    if (holds(each.options, option))
      return "the plan sets it: `recipec plan DIR --set " +
             std::string(each.setting) +
             " -o DIR/generate.plan.json` compiles one";
  return {};
}

} // namespace

std::vector<cli::ForeignCommand> foreignCommands() {
  return {{"run", "recipec run"},
          {"check", "recipec check"},
          {"plan", "recipec plan"},
          {"estimate", "recipec estimate"},
          {"launch", "mpirun -np N reciperun train PLAN"},
          {"torchrun", "mpirun -np N reciperun train PLAN"},
          {"start", "reciperun train"},
          {"pretrain", "reciperun train"},
          {"finetune", "reciperun train"},
          {"sft", "reciperun train"},
          {"evaluate", "reciperun eval"},
          {"test", "reciperun eval"},
          {"validate", "reciperun eval"},
          {"infer", "reciperun generate"},
          {"inference", "reciperun generate"},
          {"predict", "reciperun generate"},
          {"export", "reciperun convert"},
          {"merge", "reciperun convert"},
          {"list", "reciperun checkpoint list"},
          {"ls", "reciperun checkpoint list"},
          {"verify", "reciperun checkpoint verify"},
          {"prune", "reciperun checkpoint prune"},
          {"diff", "reciperun checkpoint diff"},
          {"quantize", "reciperun convert SOURCE TARGET --weights=FORMAT"},
          {"interactive", "reciperun chat"},
          {"benchmark", "reciperun bench serve"},
          {"nccl-tests", "reciperun bench COLLECTIVE"},
          {"all_reduce_perf", "reciperun bench all_reduce"},
          {"all_gather_perf", "reciperun bench all_gather"},
          {"reduce_scatter_perf", "reciperun bench reduce_scatter"},
          {"broadcast_perf", "reciperun bench broadcast"},
          {"reduce_perf", "reciperun bench reduce"},
          {"alltoall_perf", "reciperun bench alltoall"},
          {"sendrecv_perf", "reciperun bench sendrecv"},
          {"gather_perf", "reciperun bench gather"},
          {"scatter_perf", "reciperun bench scatter"},
          {"hypercube_perf", "reciperun bench hypercube"},
          {"latency", "reciperun bench serve"},
          {"throughput", "reciperun bench serve"},
          {"version", "reciperun --version"},
          {"resume", "", std::string(resumes)},
          {"download", "", std::string(downloads)},
          {"pull", "", std::string(downloads)}};
}

std::string adviseCommand(const std::string& word) {
  if (word.ends_with(".json"))
    return "a plan is carried out with `mpirun -np N reciperun train " + word +
           "`";
  if (word.find(".recipe") != word.npos)
    return "a recipe is compiled and carried out with `recipec run " + word +
           "`";
  if (word.find('/') != word.npos)
    return "a command comes first: `reciperun chat " + word +
           "`, or another of `reciperun --help`";
  return {};
}

std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option) {
  std::string name = option.name;
  std::replace(name.begin(), name.end(), '_', '-');
  if (std::string known = knownRemedy(command.name, name); !known.empty())
    return known;
  return {};
}

std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option) {
  // An option that `train` lacks is taken for a setting of the recipe.
  const bool isSetting =
      command.name == "train" && option.name.starts_with("--");
  return isSetting ? std::string(isCompiled) : std::string();
}

/// The id of a control token of the tokenizer in a model's folder; nullopt
/// where it has no token of this text.
static std::optional<int32_t> idOfToken(const std::string& folder,
                                        const std::string& text) {
  const auto tokenizer = data::Tokenizer::read(folder + "/tokenizer.json");
  if (!tokenizer)
    return std::nullopt;
  for (const data::AddedToken& each : tokenizer->addedTokens())
    if (each.content == text)
      return each.id;
  return std::nullopt;
}

std::string adviseValue(const cli::Command& command, const cli::Option& option,
                        const std::string& value,
                        const std::vector<std::string>& operands) {
  std::string word = value;
  std::ranges::transform(word, word.begin(), [](unsigned char c) {
    return c == '_' ? '-' : char(std::tolower(c));
  });
  for (const ForeignValue& each : foreignValues)
    if (holds(each.commands, command.name) && each.option == option.name &&
        holds(each.values, word))
      return std::string(each.help);
  const bool isToken = option.name == "--stop-token" && !operands.empty();
  if (const auto id = isToken ? idOfToken(operands[0], value) : std::nullopt)
    return "`" + value + "` is token " + std::to_string(*id) +
           ": write `--stop-token " + std::to_string(*id) + "`";
  for (const TextOption& each : textOptions)
    if (each.option == option.name && holds(prompting, command.name))
      return "a text is given by `" + std::string(each.ofText) + " " +
             inShellQuotes(value) + "`";
  for (const std::string& number : numbersMeant(value))
    if (option.store && !option.store({number, ""}))
      return "write `" + option.name + " " + number + "`";
  return {};
}

/// The remedy for three folders: `convert BASE ADAPTER TARGET`, which merges an
/// adapter in other tools, or one folder too many.
static std::string
adviseThreeFolders(const std::vector<std::string>& operands) {
  std::error_code ignored;
  for (const std::string& operand : operands)
    if (std::filesystem::exists(
            std::filesystem::path(operand) / "adapter_config.json", ignored))
      return "`" + operand +
             "` is an adapter, which `convert` does not merge: " +
             checkpoint::instead(operand, "use");
  return "give one folder to read and one to write: `reciperun convert SOURCE "
         "TARGET`";
}

std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands) {
  if (command.name == "convert")
    return adviseThreeFolders(operands);
  if (command.name == "generate")
    return "a prompt is given by an option: `reciperun generate " +
           operands[0] + " --prompt TEXT`";
  if (command.name == "chat")
    return std::string(isTyped);
  return {};
}

cli::Check refuseOperand(const cli::Command& command,
                         const std::string& operand) {
  if (operand.empty())
    return cli::UsageError{"an argument of `reciperun " + command.name +
                               "` is empty",
                           "give a path; a variable of the shell may be unset"};
  if (isAddress(operand) && !operand.starts_with("s3://"))
    return cli::UsageError{
        "`" + operand + "` is an address, and not a path",
        operand.starts_with("hf:") ||
                operand.find("huggingface.co/") != operand.npos
            ? std::string(downloads)
            : "write the folder that it is mounted at, or copy "
              "it to `s3://BUCKET/PREFIX`"};
  const size_t colon = operand.find(".recipe:");
  if (colon != operand.npos && command.name == "train")
    return cli::UsageError{"`" + operand + "` is a recipe, and not a plan",
                           "run it with `recipec run " + operand + "`"};
  const size_t equals = operand.find('=');
  const bool isSetting = equals != operand.npos && equals > 0 &&
                         operand.find('/') == operand.npos &&
                         (command.name == "train" || command.name == "eval");
  if (!isSetting)
    return std::nullopt;
  return cli::UsageError{"`" + operand + "` is a setting, not a plan",
                         std::string(isCompiled)};
}

} // namespace reciperun::train
