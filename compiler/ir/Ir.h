// Graph and Program: ops over tensors with named dimensions. Data only.
//
// One Module type serves both. A Graph is the model as written: whole tensors,
// one function `forward`, no collectives. The passes turn it into a Program:
// every value has a Sharding over the mesh, collectives connect the ops, and a
// schedule orders the functions `begin`, `forward`, `backward`, `update` and
// `evaluate`. With pipeline parallelism each stage has its own Program, with
// one function per chunk of layers. Dimensions store their global size; the
// sharding gives the local size.

#ifndef RECIPEC_IR_IR_H
#define RECIPEC_IR_IR_H

#include "compiler/base/Source.h"
#include "runtime/ops/Attributes.h"
#include "runtime/ops/DType.h"
#include "runtime/ops/Initializer.h"
#include "runtime/ops/ScheduleKinds.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::ops {
enum class OpKind : uint16_t; // OpKind.h
} // namespace reciperun::ops

namespace recipec {

namespace ops = reciperun::ops;

} // namespace recipec

namespace recipec::ir {

enum class DimId : int32_t { none = -1 };
enum class AxisId : int32_t { none = -1 };
enum class ValueId : int32_t { none = -1 };
enum class ParamId : int32_t { none = -1 };

using reciperun::ops::accumulationType;
using reciperun::ops::Attributes;
using reciperun::ops::byteSize;
using reciperun::ops::DType;
using reciperun::ops::dtypeName;
using reciperun::ops::findDType;
using reciperun::ops::Initializer;
using reciperun::ops::OpKind;
using Attribute = reciperun::ops::AttributeValue;

struct Dim {
  std::string name;
  int64_t size = 0;
  SourceRange range; // where the size was given
};

/// An axis of the mesh: a parallel degree, or a factor of one. Axes are ordered
/// from outermost to innermost, as ranks are numbered: pp, dp, cp, tp (tp
/// varies fastest).
struct Axis {
  std::string name;
  int size = 1;
  SourceRange range; // of the degree in the user's text
};

/// A set of axes, iterated in mesh order.
class AxisSet {
public:
  AxisSet() = default;
  /// Empty if the axis is `none`.
  explicit AxisSet(AxisId axis)
      : bits(axis == AxisId::none ? 0 : 1u << unsigned(axis)) {}
  bool contains(AxisId axis) const {
    return axis != AxisId::none && (bits >> unsigned(axis) & 1);
  }
  bool empty() const { return bits == 0; }
  AxisSet operator|(AxisSet other) const { return fromBits(bits | other.bits); }
  AxisSet operator&(AxisSet other) const { return fromBits(bits & other.bits); }
  AxisSet operator-(AxisSet other) const {
    return fromBits(bits & ~other.bits);
  }
  bool operator==(const AxisSet&) const = default;
  uint32_t raw() const { return bits; }
  static AxisSet fromBits(uint32_t bits) {
    AxisSet set;
    set.bits = bits;
    return set;
  }

private:
  uint32_t bits = 0;
};

/// The mesh axes of a degree of parallelism, under the degree's name in recipes
/// (`ep`). The degrees of experts share axes with the others.
struct Degree {
  AxisSet axes;
  SourceRange range; // of the degree in the user's text
};

/// The layout of a value on the mesh. Along each axis the value is split (the
/// axis appears in one entry of `dims`), a partial sum (the whole is the sum
/// over the axis) or replicated (neither).
struct Sharding {
  std::vector<AxisSet> dims; // one entry a dimension of the value
  AxisSet partial;
  bool operator==(const Sharding&) const = default;
};

enum class ValueKind {
  input,     // filled by the host: tokens, labels, ...
  parameter, // in the compute type
  gradient,  // of a parameter: accumulates over micro-batches
  state,     // optimizer state, scalars: lives between steps
  saved,     // outlives its function: for `backward` or another stage
  received,  // sent by another stage
  temporary, // lives inside one function
};

struct Value {
  std::string name; // `layers.0.q`, printed as %layers.0.q
  ValueKind kind = ValueKind::temporary;
  DType type = DType::f32;
  std::vector<DimId> dims;
  Sharding sharding; // empty dims in a Graph
  SourceRange range;
  bool onHost = false; // in the host's memory rather than the device's
  /// The number of copies, one for each micro-batch in flight. 0 when the value
  /// lives within one pass through its functions. Set by the schedule pass.
  int slots = 0;
  /// The chunk of layers that keeps the value until its backward pass, with one
  /// copy in the frame of each micro-batch; -1 if no chunk does. Set by the
  /// schedule pass.
  int frameChunk = -1;
};
std::string_view valueKindName(ValueKind kind);

struct Op {
  OpKind kind;
  std::string name;              // as in the user's model: `layers.0.q`
  std::vector<ValueId> operands; // `none` for an absent optional operand
  std::vector<ValueId> results;  // may repeat an operand: in-place
  Attributes attributes;
  /// The ranks of a collective. For slice, embedding, loss, shard-wise casts
  /// and blocks of a ring: the ranks among which the operand is sharded.
  AxisSet group;
  int layer = -1; // the model's layer, for stages and reports
  SourceRange range;
};

struct Function {
  std::string name;
  std::vector<Op> ops;
  int chunk = 0; // the chunk of the stage's layers that it computes
};

/// How a frozen matrix is quantized: see ops/quantization.ops. The matrix's
/// value has the type of the format; in int4 its last dimension is half as
/// long.
struct WeightQuantization {
  std::string format; // `fp8`, `int8`, `int4`
  std::string scales; // the attribute `scales` of quantized_linear
  ValueId scale = ValueId::none;
  ValueId inScale = ValueId::none; // multiplies the input; none without factors
};

struct Param {
  std::string name; // `layers.0.q.weight`
  ValueId value = ValueId::none;
  ValueId gradient = ValueId::none; // none when frozen
  Initializer init;
  bool trainable = true;
  bool decay = true;    // weight decay applies
  bool adapter = false; // made by an adapter
  /// Whether it is the bias that balances the experts, which each step updates
  /// without a gradient. Every rank has a full copy.
  bool balances = false;
  std::string hfName;
  std::vector<int64_t> hfShape;
  /// The parameter is rows [hfFirst, hfFirst + hfShape[0]) of a Hugging Face
  /// tensor of hfRows rows; other parameters hold the other rows. hfRows is 0
  /// when the parameter is the whole tensor.
  int64_t hfFirst = 0;
  int64_t hfRows = 0;
  ParamId loraA = ParamId::none; // set on the adapted matrix
  ParamId loraB = ParamId::none;
  double loraScale = 0;
  std::optional<WeightQuantization> quantization;
  /// The stages that share the parameter (a tied embedding); empty when only
  /// one stage has it.
  std::vector<int> sharers;
};

/// A flat buffer of parameters that the optimizer treats alike: same weight
/// decay, same replication. The members are contiguous in it. A region of
/// frozen parameters exists only to shard them; it has no gradient and no
/// moments.
struct Region {
  std::string name;
  std::vector<ParamId> params;
  std::vector<int64_t> starts; // offset of each member, in elements
  int64_t elements = 0;        // local, padded to a multiple of the shards
  AxisSet shard;               // axes that shard master and moments
  /// `none` when each rank keeps only its own shard. The bucket pass then
  /// replaces the members' own values in all functions.
  ValueId param = ValueId::none;
  ValueId gradient = ValueId::none;
  ValueId master = ValueId::none; // the same as `param` when types agree
  ValueId momentM = ValueId::none;
  ValueId momentV = ValueId::none;
  /// This rank's shard of `param` and of the reduced `gradient`. Both are
  /// slices of the full buffers when those are kept, and the full buffers when
  /// nothing is sharded.
  ValueId paramPart = ValueId::none;
  ValueId gradientPart = ValueId::none;
  /// This rank's shard of the parameters in fp8, when ranks all-gather them in
  /// fp8. `param` is then `none`, and only fp8 matmuls read the members.
  ValueId narrowPart = ValueId::none;
  /// The parameters in fp8 and each member's matrix in them, when each rank
  /// keeps all of them. `narrowPart` is then a slice.
  ValueId narrow = ValueId::none;
  std::vector<ValueId> narrowParams;

  /// The shard that a rank sends to the other ranks.
  ValueId sentPart() const {
    return narrowPart == ValueId::none ? paramPart : narrowPart;
  }
};

/// A value that one stage sends to another, as one of the two stages sees it.
/// Both stages use the same channel for the value, with one message per
/// micro-batch. A link leads from one stage to another and delivers messages in
/// the order in which they are sent; the schedule pass assigns the links.
struct Transfer {
  using Kind = reciperun::ops::TransferKind;
  Kind kind = Kind::send;
  ValueId value = ValueId::none;
  int peer = 0; // stage
  int channel = 0;
  std::string function; // that makes it or reads it, before it is split by runs
  int link = 0;
};

/// One step of a schedule: load a micro-batch, run a function on it, start to
/// send or receive one of its values, or wait for that transfer.
struct ScheduleStep {
  using Kind = reciperun::ops::ScheduleStepKind;
  Kind kind = Kind::run;
  std::string function;
  int transfer = -1; // for send, receive and wait
  int microBatch = 0;
};
struct Schedule {
  std::string name;
  std::vector<ScheduleStep> steps;
};

/// The memory of a chunk's values for each micro-batch until its backward pass:
/// the address of a value for micro-batch m is `offsets[m % offsets.size()]`
/// bytes after its placement. The frames of an arena share an area.
struct Frame {
  int chunk = 0;
  bool onHost = false;
  std::vector<int64_t> offsets;
};

/// The address of a value, in bytes; the memory pass fills it.
struct Placement {
  ValueId value = ValueId::none;
  int64_t offset = 0;
  int64_t bytes = 0; // of one copy
  int slots = 1;     // micro-batch m has copy m % slots
  int64_t slotStride = 0;
  int frame = -1;       // index in the module's `frames`
  std::string category; // a row of the memory table
};

struct Module {
  std::string name;
  bool isProgram = false;
  int stage = 0; // of `stages`, the size of the axis `pp`
  int stages = 1;
  DType compute = DType::f32;
  std::vector<Axis> axes;
  std::map<std::string, Degree> degrees;
  std::vector<Dim> dims;
  std::vector<Value> values;
  std::vector<Param> params;
  std::vector<Region> regions;
  std::vector<Function> functions;
  std::vector<Transfer> transfers;
  std::vector<Schedule> schedules;
  std::vector<Placement> placements;
  int64_t arenaBytes = 0;
  std::vector<Placement> hostPlacements; // of values on the host
  int64_t hostBytes = 0;
  std::vector<Frame> frames; // of both arenas
  /// Values that the host fills or reads, by their role in the plan (`tokens`,
  /// `labels`, `loss`, `norm_squared`, `logits`, ...).
  std::map<std::string, ValueId> bindings;

  Value& operator[](ValueId id) { return values[size_t(id)]; }
  const Value& operator[](ValueId id) const { return values[size_t(id)]; }
  Param& operator[](ParamId id) { return params[size_t(id)]; }
  const Param& operator[](ParamId id) const { return params[size_t(id)]; }
  const Dim& operator[](DimId id) const { return dims[size_t(id)]; }
  const Axis& operator[](AxisId id) const { return axes[size_t(id)]; }
};

/// The axes of a degree that have more than one rank; empty when the module has
/// no degree of that name.
AxisSet axesOf(const Module& module, std::string_view degree);
/// The number of ranks along a set of axes.
int64_t sizeOf(const Module& module, AxisSet axes);
/// The name of a set of axes, `dp+cp`: those with more than one rank, in mesh
/// order. Empty when no axis has more than one rank.
std::string groupName(const Module& module, AxisSet axes);
/// The inverse of groupName.
AxisSet findGroup(const Module& module, std::string_view name);
/// The local sizes of a value's dimensions, and its elements and bytes on one
/// rank.
std::vector<int64_t> localShape(const Module& module, ValueId value);
int64_t localElements(const Module& module, ValueId value);
int64_t localBytes(const Module& module, ValueId value);
/// Look-ups by name; `none` when absent.
AxisId findAxis(const Module& module, std::string_view name);
DimId findDim(const Module& module, std::string_view name);
/// Returns the dimension of that name and size, or makes it. The new dimension
/// is called `name.2` when a dimension of another size has the name.
/// `constantDim` names a dimension by its size, for counts such as the two
/// statistics of a softmax.
DimId addDim(Module& module, std::string_view name, int64_t size,
             SourceRange range = {});
DimId constantDim(Module& module, int64_t size);
ValueId addValue(Module& module, Value value);
Function* findFunction(Module& module, std::string_view name);
/// Finds the function or appends an empty one.
Function& obtainFunction(Module& module, std::string_view name);
const Function* findFunction(const Module& module, std::string_view name);

} // namespace recipec::ir

#endif // RECIPEC_IR_IR_H
