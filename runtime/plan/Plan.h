// The plan: everything that the compiler decided, as plain data.
//
// This is the only contract between recipec and reciperun. It is stored as
// JSON (see PlanJson.h), versioned, and byte-stable. All shapes are local to a
// rank, all sizes in bytes, all lists in the order of execution or definition.

#ifndef RECIPERUN_PLAN_PLAN_H
#define RECIPERUN_PLAN_PLAN_H

#include "runtime/ops/Attributes.h"
#include "runtime/ops/DType.h"
#include "runtime/ops/Initializer.h"
#include "runtime/ops/ScheduleKinds.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::ops {
enum class OpKind : uint16_t; // OpKind.h
} // namespace reciperun::ops

namespace reciperun::plan {

/// A reader refuses a plan of another major version, or of a newer minor one.
inline constexpr int majorVersion = 1;
inline constexpr int minorVersion = 0;

using ops::AttributeValue;
using ops::byteSize;
using ops::DType;
using ops::Initializer;
using ops::OpKind;

// ---- the mesh

/// Axes from the outermost (slowest-varying in rank order) to the innermost.
struct Axis {
  std::string name; // `dp`, `pp`, `cp`, `tp`
  int size = 1;
};
/// Ranks that communicate: those whose coordinates agree on every axis that is
/// not listed. `{tp}` is a tensor-parallel group, all axes is the world.
struct Group {
  std::string name;
  std::vector<std::string> axes;
  /// Where it is not empty, only the ranks of these stages are members.
  std::vector<int> stages = {};
};
struct Mesh {
  std::vector<Axis> axes;
  std::vector<Group> groups;
  int ranks = 1;
};

// ---- memory

enum class Category {
  parameters,
  gradients,
  optimizer,
  activations,
  workspace,
  library
};

/// Bytes to which arenas and the buffers in them are aligned: that of
/// cudaMalloc, so that products of one shape are of one alignment, too, for
/// which cuBLASLt's algorithms are chosen.
inline constexpr int64_t bufferAlignment = 256;

/// A piece of the arena. Views of one another are buffers with one offset.
struct Buffer {
  std::string name; // `layers.0.q.weight`, `forward/layers.0.rmsnorm`
  DType dtype = DType::f32;
  std::vector<int64_t> shape; // local
  bool host = false;  // in the arena on the host rather than the device's
  int64_t offset = 0; // in its arena, aligned
  /// Copies for micro-batches in flight, `slotStride` bytes apart: that of
  /// micro-batch m is number m % slots.
  int slots = 1;
  int64_t slotStride = 0;
  /// When set, the address moves by coordinate(shardAxis) * shardStride: the
  /// rank's own part of a whole buffer.
  std::string shardAxis;
  int64_t shardStride = 0;
};

/// Bytes by category; what `recipec check` promises. `total` is what a process
/// takes from its device: the arena and the library constant.
struct MemoryTable {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t library = 0; // outside the arena: runtime, MPI, GEMM library
  /// Of the host's memory: the copy that an asynchronous checkpoint is written
  /// from. Part of `total` where the device is the host.
  int64_t host = 0;
  int64_t offloaded = 0; // the arena on the host, exactly; likewise
  int64_t arena = 0;     // on the device, exactly what is allocated
  int64_t total = 0;
  int64_t capacity = 0; // of the device
};

// ---- programs

struct Op {
  OpKind kind;
  std::string name;         // `layers.0.q`, `backward layers.0.q`
  std::vector<int> inputs;  // buffer numbers; -1 where an optional is absent
  std::vector<int> outputs; // buffer numbers
  int group = -1;           // of a collective
  /// A buffer that the kernel may scribble on, -1 where it needs none.
  int workspace = -1;
  ops::Attributes attributes;
};

struct Function {
  std::string name;
  std::vector<Op> ops;
};

/// A buffer that the ranks of one stage send to those of another, each to the
/// one with its own coordinates on all other axes. The two stages call it by
/// the same channel. What goes by one line, which leads from one stage to
/// another, is received in the order in which it is sent.
struct Transfer {
  using Kind = ops::TransferKind;
  Kind kind = Kind::send;
  int buffer = -1;
  int peer = 0; // stage
  int channel = 0;
  int link = 0;
};

/// One entry of a schedule: fill the input buffers of a micro-batch, run a
/// function on it, begin to send or receive a buffer of it, or wait until that
/// is done. What is being received is not read, what is being sent is not
/// written.
struct ScheduleStep {
  using Kind = ops::ScheduleStepKind;
  Kind kind = Kind::run;
  int function = -1;  // of `run`
  int transfer = -1;  // of `send`, `receive`, `wait`
  int microBatch = 0; // which of the step's micro-batches
};
struct Schedule {
  std::string name; // `train`, `evaluate`, `generate`
  std::vector<ScheduleStep> steps;
};

/// Buffers that the host fills or reads, -1 where the plan has none. Token
/// inputs are [micro, sequence / cp]: where `cp` has R ranks, a row is cut into
/// 2 R equal pieces, of which rank r gets number r and behind it number
/// 2 R - 1 - r, so that all have as much of causal attention. `samples` i64
/// [micro] numbers each sequence over the whole run (step * global batch +
/// index in the global batch).
struct Inputs {
  int tokens = -1;       // i32
  int labels = -1;       // i32: the token to predict at this place
  int weights = -1;      // f32: 1 where the place counts in the loss
  int positions = -1;    // i32: from 0 in each document
  int segments = -1;     // i32: number of the document in the row, -1 padding
  int places = -1;       // i32: the token's index in its row
  int samples = -1;      // i64
  int lossScale = -1;    // f32 [1]: 1 / tokens that count in the global batch
  int learningRate = -1; // f32 [1]
  int step = -1;         // i32 [1], from 1
};
struct Outputs {
  int loss = -1;        // f64 [1], whole (reduced over all ranks)
  int normSquared = -1; // f64 [1], of the whole gradient, before clipping
  /// f64 [2]: choices of experts in the step, over all routers that may drop
  /// some, and those that had no place.
  int dropped = -1;
  /// f64 [2]: rows that ranks were sent for their experts, of all pack_rows,
  /// and those that had no place.
  int overflow = -1;
  /// f64 [2]: rows that ranks were sent for their experts, of all pack_rows
  /// with a second one behind them, and those that had no place in the first
  /// pass.
  int secondPass = -1;
};

/// One width of a generating step: the function that takes up to `tokens`
/// tokens of one sequence. Unused places have position -1.
struct Bucket {
  int64_t tokens = 0;
  int function = -1;
  Inputs inputs;   // tokens and positions, i32 [1, tokens]
  int logits = -1; // [1, tokens, vocab] in the compute type
};

// ---- parameters

/// Where a parameter begins in a tensor of Hugging Face's, and how many rows
/// the tensor has.
struct HfRows {
  int64_t first = 0;
  int64_t of = 0;
};

/// One tensor of the model. Its shard is the block of the global shape at the
/// rank's coordinates: dimension i is split along `shardAxes[i]` ("" for
/// whole).
struct Parameter {
  std::string name; // `layers.0.q.weight`
  std::vector<int64_t> globalShape;
  std::vector<std::string> shardAxes;
  Initializer init;
  bool trainable = true;
  bool adapter = false;      // of LoRA: exported on its own in peft's layout
  std::optional<DType> type; // where it is not the compute type
  std::vector<int> stages;   // that hold it, from their holdings
  /// Name and shape in a Hugging Face checkpoint; data order is the same
  /// (row-major), so that shapes may differ in how dimensions are grouped.
  std::string hfName;
  std::vector<int64_t> hfShape;
  /// Set where the tensor has other parameters before or behind this one, along
  /// its dimension 0, and `hfShape` is a part of it: see TensorRows.h.
  std::optional<HfRows> hfRows;
  /// For a matrix that LoRA adapts: y = W x + loraScale B A x.
  int loraA = -1; // parameter numbers
  int loraB = -1;
  double loraScale = 0;
};

/// A parameter's buffers in a stage.
struct Holding {
  int parameter = -1;
  int value = -1;    // -1 where ranks keep parts of its region alone
  int gradient = -1; // -1 likewise, and when frozen
};

/// A flat run of parameters that ranks share and the optimizer treats alike.
/// The rank's part of it starts at coordinate(shardAxis) * elements / size of
/// the region, where `shardAxis` names the ranks that share it. One of frozen
/// parameters has no moments, and its master is its part.
struct Region {
  std::string name;
  int64_t elements = 0; // padded to a multiple of the shards
  /// The values in the compute type: the whole flat buffer, -1 where no rank
  /// keeps more than its part; and the part, in the whole where there is one.
  int param = -1;
  int part = -1;
  /// Flat, this rank's part: f32/f64; u16 where the masters are kept in halves
  /// (MasterHalves.h), of which the upper ones are `part`'s; or where bf16 is
  /// all there is of them, `part`'s own bytes.
  int master = -1;
  int momentM = -1; // flat, this rank's part; -1 where the optimizer
  int momentV = -1; // keeps none
  /// The group that shares master and moments; "" when they are whole.
  std::string shardAxis;
  std::vector<int> parameters;
  std::vector<int64_t> starts; // of each of them in the region, in elements
};

// ---- what surrounds the step

/// Where sequences come from. Paths.h says where relative paths lead.
struct DataSource {
  std::string kind; // `jsonl`, `text`, `token_file`, `mock`, `blend`
  std::string path; // of `jsonl`
  std::string prompt, completion; // fields of `jsonl`
  std::string messages;           // the other form of `jsonl`
  /// Files, folders and patterns of `text` and `token_file`.
  std::vector<std::string> paths = {};
  std::string separator = {}; // between documents of a file of `text`
  std::string type = {}; // of a raw `token_file`: `uint16`, `uint32` or empty
  /// Of `blend`: sources of other kinds; for each, how many rows come from it
  /// in proportion, and how often it is gone through at most (0: any number).
  std::vector<DataSource> sources = {};
  std::vector<double> weights = {};
  std::vector<double> epochs = {};
  /// What ends an epoch of a blend: that some source has been gone through, or
  /// that all have (`first_exhausted`, `all_exhausted`).
  std::string stopping = {};

  bool operator==(const DataSource&) const = default;
};
/// How chat messages become text, role by role.
struct ChatTemplate {
  std::string before; // `{role}` is replaced
  std::string after;
};
struct Data {
  std::optional<DataSource> train;
  std::optional<DataSource> valid;
  int64_t sequence = 0;
  bool pack = false;
  /// Of `jsonl`: the most documents that `pack` puts into a row; 0: as many as
  /// there is room for.
  int64_t packDocuments = 0;
  int64_t seed = 0;
  ChatTemplate chat;
  /// Whether what users wrote may hold control tokens. Else what is spelled as
  /// one in a sample or prompt is plain text.
  bool specialTokens = false;
  /// Path of tokenizer.json; there may be none where no source is text.
  std::string tokenizer;
  int64_t vocab = 0;     // ids are below it
  int64_t bosToken = -1; // put before a document; -1: none
  int64_t eosToken = -1; // put behind one
};

/// Whether a source is text that has to be tokenized.
bool readsText(const Data& data);
/// Whether what is trained on is chat messages, as prompts are then, too.
bool readsMessages(const Data& data);

/// runtime/train/Schedule.h has the formulas. A length is in steps, or else a
/// fraction of the run, whose steps only the data tell where epochs are given.
struct LearningRate {
  std::string kind; // `constant`, `linear`, `cosine`, `wsd`, `inverse_sqrt`
  double peak = 0;
  double min = 0;
  int64_t warmup = 0;
  double warmupFraction = 0;
  int64_t decay = 0; // of `wsd`
  double decayFraction = 0;
  std::string shape = {}; // of `wsd`'s decay: `sqrt`, `linear`, `cosine`
};

struct Train {
  std::string directory;
  int64_t steps = 0;         // either these
  double epochs = 0;         // or these
  int64_t validateEvery = 0; // steps; 0: at the end alone
  int64_t logEvery = 1;
  int64_t seed = 0;
  int64_t globalBatch = 0;
  int64_t microBatch = 0;
  int64_t accumulation = 0;
  LearningRate learningRate;
  std::vector<std::string> prompts; // answered when the training has ended
  /// A step's loss is a spike where it exceeds so many times the median of the
  /// losses of `spikeWindow` steps before; 0: none is.
  double spike = 0;
  int64_t spikeWindow = 0;
  bool spikeStops = true; // or else is told
  std::string logNorms;   // of gradients by `layers` or `parameters`; or empty
};

/// What is saved to go on from, and what a run starts with. Nothing is saved
/// where both `every` and `everySeconds` are 0.
struct Checkpoint {
  std::string directory;
  int64_t every = 0;           // steps
  double everySeconds = 0;     // or time
  int64_t keepTop = 0;         // those with the lowest validation loss
  int64_t keepLast = 1;        // those saved last
  std::string resume = "auto"; // `auto`, `never` or a checkpoint's path
  bool async = false;          // steps go on while files are written

  bool saves() const { return every > 0 || everySeconds > 0; }
  bool resumesFromPath() const { return resume != "auto" && resume != "never"; }
};

/// Models in and out. JSON members are texts that are written as they are.
struct ModelExchange {
  /// A Hugging Face directory or a checkpoint to start from; empty: random.
  std::string weights;
  std::string hf;     // directory to write; empty: none
  std::string config; // config.json of the model, byte-stable JSON
  std::string generationConfig;
  std::string adapterConfig; // adapter_config.json; empty without LoRA
};

/// What the compiler expects, for reports and MFU.
struct Prediction {
  double flopsPerStep = 0; // of the whole job, causal attention counted once
  double peakFlops = 0;    // of one rank, in the compute type
  double stepSeconds = 0;
};

/// What the ranks of one pipeline stage hold and run.
struct Stage {
  MemoryTable memory;
  std::vector<Buffer> buffers;
  std::vector<Holding> holdings;
  std::vector<Region> regions;
  Inputs inputs;
  Outputs outputs;
  std::vector<Function> functions;
  std::vector<Transfer> transfers;
  std::vector<Schedule> schedules;
};

/// The plan of a job. All ranks read the whole of it, and each runs its stage:
/// see stageOf().
struct Plan {
  int major = majorVersion;
  int minor = minorVersion;
  std::string name;   // of the recipe
  std::string task;   // `pretrain`, `sft`, `generate`
  std::string device; // `cpu` or `cuda`
  DType compute = DType::f32;
  Mesh mesh;
  std::vector<Parameter> parameters; // of all stages
  std::vector<Stage> stages;         // along axis `pp`, at least one
  /// Of task `generate`, the widest first; empty otherwise.
  std::vector<Bucket> buckets;
  int64_t cacheTokens = 0; // capacity of the KV cache, in tokens
  Data data;
  Train train;
  Checkpoint checkpoint;
  ModelExchange exchange;
  Prediction prediction;
  /// The folder in which relative paths start: seen from the folder of the
  /// plan's file, and once the paths are resolved from the working folder. See
  /// Paths.h.
  std::string folder = ".";
  std::vector<std::string> writtenPaths; // of resolved paths, no part of JSON
  /// For training plans that export: the single-rank plan of task `generate`
  /// as JSON text, written beside the exported model.
  std::string generation;
};

/// The type of a parameter's value.
inline DType typeOf(const Plan& plan, const Parameter& parameter) {
  return parameter.type.value_or(plan.compute);
}

/// The stage that a rank runs. The plan outlives the reference.
const Stage& stageOf(const Plan& plan, int rank);
/// The buffers of a parameter in a stage, -1 each where the stage does not hold
/// the parameter.
Holding holdingOf(const Stage& stage, int parameter);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PLAN_H
