// The plan: everything that the compiler decided, as plain data.
//
// This is the only contract between recipec and reciperun. It is stored as
// JSON (see PlanJson.h), versioned, and byte-stable. All shapes are local to a
// rank, all sizes in bytes, all lists in the order of execution or definition.

#ifndef RECIPERUN_PLAN_PLAN_H
#define RECIPERUN_PLAN_PLAN_H

#include "runtime/ops/Initializer.h"
#include "runtime/ops/ScheduleKinds.h"
#include "runtime/ops/ServingPolicy.h"
#include "runtime/plan/Connections.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Op.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::plan {

/// A reader rejects a plan of another major version or a newer minor version.
inline constexpr int majorVersion = 1;
inline constexpr int minorVersion = 1;

using ops::Initializer;

// ---- memory

enum class Category {
  parameters,
  gradients,
  optimizer,
  activations,
  workspace,
  library
};

/// The alignment of arenas and of the buffers in them, in bytes. It is that of
/// cudaMalloc, so that all matmuls of a shape have the alignment for which
/// cuBLASLt's algorithm was chosen.
inline constexpr int64_t bufferAlignment = 256;

/// A slice of the arena. Buffers that are views of each other share an offset.
struct Buffer {
  std::string name; // `layers.0.q.weight`, `forward/layers.0.rmsnorm`
  DType dtype = DType::f32;
  std::vector<int64_t> shape; // local
  bool host = false;          // in the host's arena instead of the device's
  int64_t offset = 0;         // in its arena, aligned
  /// The number of copies for micro-batches in flight, `slotStride` bytes
  /// apart. Micro-batch m uses copy m % slots.
  int slots = 1;
  int64_t slotStride = 0;
  int frame = -1; // index in the stage: offsets by micro-batch; -1: none
  /// If set, the address moves by coordinate(shardAxis) * shardStride: the
  /// buffer is the rank's part of a whole buffer.
  std::string shardAxis;
  int64_t shardStride = 0;
};

/// The placement of buffers that are alive together: the activations that a
/// chunk of a pipeline's layers keeps for a micro-batch until its backward
/// pass. For micro-batch m, `offsets[m % offsets.size()]` is added to the
/// offset of each of these buffers. Frames share an area of the arena.
struct Frame {
  std::vector<int64_t> offsets; // aligned

  bool operator==(const Frame&) const = default;
};

/// Bytes by category, as promised by `recipec check`. `total` is what a process
/// takes from its device: the arena and the library constant.
struct MemoryTable {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t cache = 0; // data of sequences that serving keeps between steps
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t library = 0; // outside the arena: runtime, MPI, GEMM library
  /// Host memory for the copy of the state from which an asynchronous
  /// checkpoint is written. Part of `total` when the device is the host.
  int64_t host = 0;
  int64_t offloaded = 0; // the host's arena, exactly; part of `total` likewise
  int64_t arena = 0;     // on the device, the exact allocation
  int64_t draft = 0; // of the draft model, outside the arena; part of `total`
  int64_t total = 0;
  int64_t capacity = 0; // of the device
};

// ---- programs

struct Function {
  std::string name;
  std::vector<Op> ops;
};

/// A buffer that the ranks of one stage send to those of another. Each rank
/// sends to the rank with the same coordinates on all other axes. The two
/// stages name the transfer by the same channel. A link leads from one stage to
/// another, and its messages are received in the order in which they are sent.
struct Transfer {
  using Kind = ops::TransferKind;
  Kind kind = Kind::send;
  int buffer = -1;
  int peer = 0; // stage
  int channel = 0;
  int link = 0;
};

/// One entry of a schedule: fill the input buffers of a micro-batch, run a
/// function on it, begin to send or receive one of its buffers, or wait until a
/// transfer is done. A buffer is not read while it is received and not written
/// while it is sent.
struct ScheduleStep {
  using Kind = ops::ScheduleStepKind;
  Kind kind = Kind::run;
  int function = -1;  // for `run`
  int transfer = -1;  // for `send`, `receive`, `wait`
  int microBatch = 0; // index in the step
};
struct Schedule {
  std::string name; // `train`, `evaluate`, `step_64`
  std::vector<ScheduleStep> steps;
};

/// Buffers that the host fills or reads, -1 when the plan has none. Token
/// inputs are [micro, sequence / cp]. If `cp` has R ranks, a row is cut into 2
/// R equal pieces, and rank r gets piece r followed by piece 2 R - 1 - r. All
/// ranks then have the same amount of causal attention. `samples` i64 [micro]
/// numbers each sequence over the whole run (step * global batch + index in the
/// global batch).
struct Inputs {
  int tokens = -1;  // i32
  int labels = -1;  // i32: the token to predict at this position
  int weights = -1; // f32: 1 if the position counts in the loss
  /// i32: the token after `labels`; f32: `furtherFactor` if it is of the same
  /// document and counts in the loss, otherwise 0.
  int furtherLabels = -1, furtherWeights = -1;
  double furtherFactor = 0; // of the loss of further tokens
  int positions = -1;       // i32: from 0 in each document
  int segments = -1;  // i32: index of the document in the row, -1 for padding
  int places = -1;    // i32: the token's index in its row
  int samples = -1;   // i64
  int lossScale = -1; // f32 [1]: 1 / tokens that count in the global batch
  int learningRate = -1; // f32 [1]
  int step = -1;         // i32 [1], from 1
};
struct Outputs {
  int loss = -1; // f64 [1], whole (reduced over all ranks)
  /// f64 [1], whole: of further tokens, times the factor.
  int furtherLoss = -1;
  int normSquared = -1; // f64 [1], of the whole gradient, before clipping
  /// f64 [2]: the choices of experts in the step, over all routers that may
  /// drop some, and the number of dropped choices.
  int dropped = -1;
  /// f64 [2]: the rows that ranks received for their experts, over all
  /// pack_rows, and the number of rows that did not fit.
  int overflow = -1;
  /// f64 [2]: the rows that ranks received for their experts, over all
  /// pack_rows that are followed by a second one, and the number of rows that
  /// did not fit in the first pass.
  int secondPass = -1;
};

/// The buffers that the host fills before a serving step, -1 where the stage
/// reads none. A sequence's tokens are consecutive, in the order of their
/// positions.
struct StepInputs {
  int tokens = -1;    // i32 [1, tokens]
  int positions = -1; // i32 [1, tokens]: in the sequence; -1: no token
  int sequences = -1; // i32 [1, tokens]: the sequence's slot; -1: no token
  /// i32 [maxBatch, pages of a sequence]: the pages of each slot; -1: no page.
  int pages = -1;
  int rows = -1; // i32 [1, rows]: the tokens whose logits are wanted; -1: none
  int adapters = -1; // i32 [1, tokens]: the token's adapter; -1: none
  int draws = -1;    // f64 [1, rows, 5]: how a token is chosen, of `sample`

  bool operator==(const StepInputs&) const = default;
};

/// One size of a serving step: it processes up to `tokens` tokens and returns
/// the logits of up to `rows` of them.
struct Bucket {
  int64_t tokens = 0;
  int64_t rows = 0;
};

/// A stage's part of the steps of one bucket.
struct StageStep {
  int schedule = -1;
  StepInputs inputs;
  int logits = -1; // [1, rows, vocab] in the compute type; in the last stage
  /// i32 [1, rows]: the token of `sample`; -1 where a logit of the row is not
  /// finite. In the last stage.
  int chosen = -1;

  bool operator==(const StageStep&) const = default;
};

/// The choice of sequences that start, see ServingPolicy.h.
using ServingPolicy = ops::ServingPolicy;

/// The limits of serving, and the buckets of its steps.
struct Serving {
  int64_t maxBatch = 0;    // sequences in a step; slots of states
  int64_t maxInput = 0;    // tokens of a prompt
  int64_t maxOutput = 0;   // tokens of an answer
  int64_t maxTokens = 0;   // of a prompt and its answer together
  int64_t tokenBudget = 0; // tokens in a step
  int64_t page = 0;        // tokens in a page; 0: the model has no attention
  int64_t pages = 0;       // of the cache
  int64_t hostPages = 0;   // of the host, for pages that leave the cache
  bool hasStates = false;  // state-space layers keep a state for each slot
  bool prefixCache = false;
  bool chunkedPrefill = false;
  int64_t draftTokens = 0; // guessed in a step of a decoding sequence
  int64_t adapters = 0;    // of LoRA in memory at once
  ServingPolicy policy = ServingPolicy::guaranteedNoEvict;
  std::vector<Bucket> buckets; // ascending by tokens
};

/// The smaller model that guesses tokens for a model that serves
/// (`serve.draft`). It runs on rank 0. Its plan has the same slots and pages.
struct Draft {
  std::string path; // of its Hugging Face directory
  std::string plan; // of task `generate`, for one rank, as JSON text
};

// ---- parameters

/// The first row of a parameter in a Hugging Face tensor, and the tensor's
/// number of rows.
struct HfRows {
  int64_t first = 0;
  int64_t of = 0;
};

/// How a frozen matrix [n,k] is quantized: its value's buffer has the codes,
/// and a second buffer the scales (see ops/quantization.ops and
/// sizes/WeightScales.h). The loader quantizes the values of a Hugging Face
/// tensor, or copies codes and scales when the tensor is already quantized in
/// the same way. A third buffer may have the factors of the matrix's inputs
/// (AWQ).
struct WeightQuantization {
  std::string format; // `fp8`, `int8`, `int4`
  std::string scales; // the attribute `scales` of quantized_linear

  bool operator==(const WeightQuantization&) const = default;
};

/// One tensor of the model. Its shard is the block of the global shape at the
/// rank's coordinates. Dimension i is split along `shardAxes[i]` ("" if it is
/// not split).
struct Parameter {
  std::string name; // `layers.0.q.weight`
  std::vector<int64_t> globalShape;
  std::vector<std::string> shardAxes;
  Initializer init;
  bool trainable = true;
  /// Whether this is a factor of LoRA. Such parameters are exported separately,
  /// in peft's layout. On a server, dimension 0 of both shapes is the index of
  /// one of the `Serving::adapters` adapters.
  bool adapter = false;
  std::optional<DType> type; // set when it is not the compute type
  std::vector<int> stages;   // the stages that hold it, from their holdings
  /// Name and shape in a Hugging Face checkpoint. The data order is the same
  /// (row-major), so the shapes may group dimensions differently.
  std::string hfName;
  std::vector<int64_t> hfShape;
  /// Set when the tensor also holds other parameters, before or after this one
  /// along its dimension 0. `hfShape` is then the shape of this parameter's
  /// rows. See TensorRows.h.
  std::optional<HfRows> hfRows;
  /// For a matrix that LoRA adapts: y = W x + loraScale B A x.
  int loraA = -1; // parameter indices
  int loraB = -1;
  double loraScale = 0;
  std::optional<WeightQuantization> quantization;
};

/// A parameter's buffers in a stage.
struct Holding {
  int parameter = -1;
  int value = -1;    // -1 when ranks keep only parts of its region
  int gradient = -1; // -1 likewise, and when it is frozen
  int scale = -1;    // f32; -1 when it is not quantized
  int inScale = -1;  // f32 [k]; -1 when its input is not scaled
};

/// A flat concatenation of parameters that are sharded together and that the
/// optimizer treats alike. A rank's part starts at coordinate(shardAxis) *
/// elements / the size of `shardAxis`. A region of frozen parameters has no
/// moments, and its master is its part.
struct Region {
  std::string name;
  int64_t elements = 0; // padded to a multiple of the shards
  /// The values in the compute type. `param` is the whole flat buffer, -1 when
  /// every rank keeps only its part. `part` is the rank's part, inside `param`
  /// if there is one.
  int param = -1;
  int part = -1;
  /// This rank's part of the masters, flat: f32 or f64; u16 for the lower
  /// halves of masters whose upper halves are in `part` (MasterHalves.h); or
  /// the same bytes as `part` when the bf16 values are the masters.
  int master = -1;
  int momentM = -1; // flat, this rank's part; -1 when the optimizer
  int momentV = -1; // has none
  /// The axis or group along which masters and moments are sharded; "" when
  /// they are not.
  std::string shardAxis;
  std::vector<int> parameters;
  std::vector<int64_t> starts; // their offsets in the region, in elements
};

// ---- the settings around the step

/// A source of sequences. Paths.h explains where relative paths start.
struct DataSource {
  std::string kind; // `jsonl`, `text`, `token_file`, `mock`, `blend`
  std::string path; // for `jsonl`
  std::string prompt, completion; // fields of `jsonl`
  std::string messages;           // the alternative form of `jsonl`
  /// Files, folders and patterns for `text` and `token_file`.
  std::vector<std::string> paths = {};
  std::string separator = {}; // between documents of a `text` file
  std::string type = {}; // for a raw `token_file`: `uint16`, `uint32` or empty
  /// For `blend`: sources of other kinds, the relative number of rows from
  /// each, and the maximum number of passes over each (0: no limit).
  std::vector<DataSource> sources = {};
  std::vector<double> weights = {};
  std::vector<double> epochs = {};
  /// The end of a blend's epoch: `first_exhausted`, the end of any source,
  /// or `all_exhausted`, the end of every source.
  std::string stopping = {};

  bool operator==(const DataSource&) const = default;
};
/// How chat messages become text, for each role.
struct ChatTemplate {
  std::string before; // `{role}` is replaced
  std::string after;
};
struct Data {
  std::optional<DataSource> train;
  std::optional<DataSource> valid;
  int64_t sequence = 0;
  bool pack = false;
  /// For `jsonl`: the most documents that `pack` puts into a row; 0: no limit.
  int64_t packDocuments = 0;
  int64_t seed = 0;
  ChatTemplate chat;
  /// Whether text in samples and prompts may contain control tokens. Otherwise
  /// the spelling of a control token there is plain text.
  bool specialTokens = false;
  /// Path of tokenizer.json; may be empty when no source is text.
  std::string tokenizer;
  int64_t vocab = 0;     // all token ids are below it
  int64_t bosToken = -1; // inserted before a document; -1: none
  int64_t eosToken = -1; // appended to a document; -1: none
};

/// Whether some source is text that has to be tokenized.
bool readsText(const Data& data);
/// Whether the training data are chat messages. Prompts are then encoded as
/// messages too.
bool readsMessages(const Data& data);

/// runtime/train/Schedule.h has the formulas. A length is in steps or a
/// fraction of the run. With `epochs`, the number of steps is known only from
/// the data.
struct LearningRate {
  std::string kind; // `constant`, `linear`, `cosine`, `wsd`, `inverse_sqrt`
  double peak = 0;
  double min = 0;
  int64_t warmup = 0;
  double warmupFraction = 0;
  int64_t decay = 0; // for `wsd`
  double decayFraction = 0;
  std::string shape = {}; // for `wsd`'s decay: `sqrt`, `linear`, `cosine`
};

struct Train {
  std::string directory;
  int64_t steps = 0;         // 0: `epochs` counts
  double epochs = 0;         // used when `steps` is 0
  int64_t validateEvery = 0; // steps; 0: only at the end
  int64_t logEvery = 1;
  int64_t seed = 0;
  int64_t globalBatch = 0;
  int64_t microBatch = 0;
  int64_t accumulation = 0;
  LearningRate learningRate;
  std::vector<std::string> prompts; // answered when the training has ended
  /// A step's loss is a spike when it exceeds this many times the median loss
  /// of the previous `spikeWindow` steps; 0: no check.
  double spike = 0;
  int64_t spikeWindow = 0;
  bool spikeStops = true; // stop the run at a spike; otherwise only report it
  /// A rank is a straggler when its work takes more than this many times the
  /// median of the ranks of its stage, over `stragglerWindow` steps; 0: no
  /// check.
  double straggler = 0;
  int64_t stragglerWindow = 0;
  std::string logNorms; // gradient norms by `layers` or `parameters`; or empty
  std::string spotNotices; // the cloud to ask: `aws`, `gcp`, `azure`; or empty
  std::string tensorboard; // folder of TensorBoard's event files; or empty
  std::string mlflow;      // folder of MLflow's file store; or empty
  int64_t metricsPort = 0; // of rank 0, for Prometheus; 0: none
};

/// The checkpoints of a run and its starting point. Nothing is saved when both
/// `every` and `everySeconds` are 0.
struct Checkpoint {
  std::string directory;
  int64_t every = 0;           // steps
  double everySeconds = 0;     // seconds
  int64_t keepTop = 0;         // checkpoints with the lowest validation loss
  int64_t keepLast = 1;        // latest checkpoints
  std::string resume = "auto"; // `auto`, `never` or a checkpoint's path
  bool async = false;          // steps continue while files are written

  bool saves() const { return every > 0 || everySeconds > 0; }
  bool resumesFromPath() const { return resume != "auto" && resume != "never"; }
};

/// Model files to read and write. JSON members are texts that are written
/// verbatim.
struct ModelExchange {
  /// A Hugging Face directory or a checkpoint to start from; empty: random
  /// weights.
  std::string weights;
  std::string hf;     // directory to write; empty: no export
  std::string config; // config.json of the model, byte-stable JSON
  std::string generationConfig;
  std::string adapterConfig; // adapter_config.json; empty without LoRA
};

/// The compiler's estimates, for reports and MFU.
struct Prediction {
  double flopsPerStep = 0; // of the whole job, causal attention counted once
  double peakFlops = 0;    // of one rank, in the compute type
  double stepSeconds = 0;
};

/// What the ranks of one pipeline stage hold and run.
struct Stage {
  MemoryTable memory;
  std::vector<Buffer> buffers;
  std::vector<Frame> frames;
  std::vector<Holding> holdings;
  std::vector<Region> regions;
  Inputs inputs;
  Outputs outputs;
  std::vector<Function> functions;
  std::vector<Transfer> transfers;
  std::vector<Schedule> schedules;
  std::vector<StageStep> steps; // one for each bucket of `Plan::serving`
};

/// The plan of a job. All ranks read the whole plan, and each rank runs its
/// stage: see stageOf().
struct Plan {
  int major = majorVersion;
  int minor = minorVersion;
  std::string name;   // the recipe's
  std::string task;   // `pretrain`, `sft`, `generate`, `serve`
  std::string device; // `cpu` or `cuda`
  DType compute = DType::f32;
  Mesh mesh;
  /// Set when several GPUs communicate.
  std::optional<Connections> connections;
  std::vector<Parameter> parameters; // of all stages
  std::vector<Stage> stages;         // along axis `pp`, at least one
  /// For the tasks `generate` and `serve`, which are the same program.
  std::optional<Serving> serving;
  std::optional<Draft> draft;
  Data data;
  Train train;
  Checkpoint checkpoint;
  ModelExchange exchange;
  Prediction prediction;
  /// The folder in which relative paths start. In a file it is relative to the
  /// file's folder; after resolvePaths, to the working folder. See Paths.h.
  std::string folder = ".";
  std::vector<std::string> writtenPaths; // of resolved paths; not in the JSON
  /// For training plans that export: the single-rank plan of task `generate` as
  /// JSON text, written next to the exported model.
  std::string generation;
};

/// The type of a parameter's value.
inline DType typeOf(const Plan& plan, const Parameter& parameter) {
  return parameter.type.value_or(plan.compute);
}

/// The stage that a rank runs. The plan must outlive the reference.
const Stage& stageOf(const Plan& plan, int rank);
/// The buffers of a parameter in a stage, both -1 when the stage does not hold
/// it.
Holding holdingOf(const Stage& stage, int parameter);
/// The number of copies of a buffer for micro-batches in flight: its slots, or
/// the offsets of its frame. Micro-batches m and m + copies have the same one.
int64_t copies(const Stage& stage, int buffer);
/// The byte offset of a micro-batch's copy of a buffer from the buffer's own
/// offset.
int64_t copyOffset(const Stage& stage, const Buffer& buffer, int microBatch);
/// The pages of the longest sequence; 0 when the model has no attention.
int64_t pagesOfSequence(const Serving& serving);
/// The buffers with the pages of the cache of a stage, keys, values and scales,
/// in ascending order.
std::vector<int> cachePages(const Stage& stage);
/// The bytes of one page in such a buffer.
int64_t pageBytes(const Buffer& pages);
/// Whether plans of the task have a section `serving`.
bool isServingTask(std::string_view task);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PLAN_H
