// Graph and Program: ops over tensors with named dimensions. Data only.
//
// One Module type serves both. A Graph is the model as written: whole tensors,
// one function `forward`, no collectives. A Program is what the passes make of
// it: every value has a Sharding over the mesh, collectives stand between ops,
// and the functions `begin`, `forward`, `backward`, `update`, `evaluate` exist
// with a schedule that orders them. With pipeline parallelism there is a
// Program for each stage, and a function for each of its chunks of layers.
// Sizes of dimensions are always whole; the local size follows from the
// sharding.

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
  SourceRange range; // of the value that gave the size
};

/// An axis of the mesh: a parallel degree, or a factor of one. Axes are kept
/// from the outermost to the innermost, the order in which ranks are numbered:
/// pp, dp, cp, tp (tp varies fastest).
struct Axis {
  std::string name;
  int size = 1;
  SourceRange range; // of the degree in the user's text
};

/// A set of axes, iterated in mesh order.
class AxisSet {
public:
  AxisSet() = default;
  /// Empty for `none`.
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

/// A degree of parallelism by its name in a recipe (`ep`): the axes that it is
/// made of. Degrees of the experts share axes with the others.
struct Degree {
  AxisSet axes;
  SourceRange range; // of the degree in the user's text
};

/// How a value lies on the mesh. Along an axis it is split (the axis stands at
/// one dimension), a partial sum (the whole is the sum over the axis), or
/// replicated (neither).
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
  saved,     // outlives its function: the backward or another stage reads it
  received,  // another stage sends it
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
  /// Copies of it, one for each micro-batch in flight; 0 where it lives within
  /// one pass through its functions. The schedule pass says how many.
  int slots = 0;
};
std::string_view valueKindName(ValueKind kind);

struct Op {
  OpKind kind;
  std::string name;              // as in the user's model: `layers.0.q`
  std::vector<ValueId> operands; // `none` where an optional one is absent
  std::vector<ValueId> results;  // may repeat an operand: written in place
  Attributes attributes;
  AxisSet group;  // of a collective
  int layer = -1; // the model's layer, for stages and reports
  SourceRange range;
};

struct Function {
  std::string name;
  std::vector<Op> ops;
  int chunk = 0; // of the stage, whose layers it computes
};

struct Param {
  std::string name; // `layers.0.q.weight`
  ValueId value = ValueId::none;
  ValueId gradient = ValueId::none; // none when frozen
  Initializer init;
  bool trainable = true;
  bool decay = true;    // weight decay applies
  bool adapter = false; // made by an adapter
  /// Moved by each step, though by no gradient: the bias that balances experts.
  /// Every rank has all of it.
  bool balances = false;
  std::string hfName;
  std::vector<int64_t> hfShape;
  /// It is rows [hfFirst, hfFirst + hfShape[0]) of a Hugging Face tensor of
  /// hfRows rows, whose others are other parameters; 0 rows where the tensor is
  /// the parameter's alone.
  int64_t hfFirst = 0;
  int64_t hfRows = 0;
  ParamId loraA = ParamId::none; // of the matrix that is adapted
  ParamId loraB = ParamId::none;
  double loraScale = 0;
  /// The stages that have it, where they are several: a tied embedding.
  std::vector<int> sharers;
};

/// A flat run of parameters that the optimizer treats alike: same decay, same
/// replication. Buffers of the members lie one behind the other in it. One of
/// frozen parameters, which exists to be kept in parts, has no gradient and no
/// moments.
struct Region {
  std::string name;
  std::vector<ParamId> params;
  std::vector<int64_t> starts; // of each, in elements
  int64_t elements = 0;        // local, padded to a multiple of the shards
  AxisSet shard;               // axes that shard master and moments
  /// None where a rank keeps no more than its part. The members' own values
  /// then stand in no function: the bucket pass puts others in their place.
  ValueId param = ValueId::none;
  ValueId gradient = ValueId::none;
  ValueId master = ValueId::none; // the same as `param` when types agree
  ValueId momentM = ValueId::none;
  ValueId momentV = ValueId::none;
  /// This rank's part of `param` and of the reduced `gradient`, in their place
  /// where they are kept; the whole of them where nothing is sharded.
  ValueId paramPart = ValueId::none;
  ValueId gradientPart = ValueId::none;
  /// This rank's part of the parameters in 8 bits, where that is what ranks
  /// send one another: there is no `param`, and products in 8 bits alone read
  /// the members.
  ValueId narrowPart = ValueId::none;

  /// What of the parameters a rank sends others.
  ValueId sentPart() const {
    return narrowPart == ValueId::none ? paramPart : narrowPart;
  }
};

/// A value that one stage sends to another, seen from one of the two. What both
/// call by the same channel is one message a micro-batch. Messages of a line,
/// which leads from one stage to another, are received in the order in which
/// they are sent; the schedule pass says which go by which.
struct Transfer {
  using Kind = reciperun::ops::TransferKind;
  Kind kind = Kind::send;
  ValueId value = ValueId::none;
  int peer = 0; // stage
  int channel = 0;
  std::string function; // that makes it or reads it
  int link = 0;
};

/// One entry of a schedule: load a micro-batch, run a function on it, begin to
/// send or receive a value of it, wait until that is done.
struct ScheduleStep {
  using Kind = reciperun::ops::ScheduleStepKind;
  Kind kind = Kind::run;
  std::string function;
  int transfer = -1; // of the last three kinds
  int microBatch = 0;
};
struct Schedule {
  std::string name;
  std::vector<ScheduleStep> steps;
};

/// Where a value lies, in bytes; the memory pass fills it.
struct Placement {
  ValueId value = ValueId::none;
  int64_t offset = 0;
  int64_t bytes = 0; // of one copy
  int slots = 1;     // micro-batch m has copy m % slots
  int64_t slotStride = 0;
  std::string category; // of the memory table
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

/// The axes of a degree that have more than one rank; none where the module has
/// no degree of that name.
AxisSet axesOf(const Module& module, std::string_view degree);
/// Ranks along a set of axes.
int64_t sizeOf(const Module& module, AxisSet axes);
/// The name of a set of axes, `dp+cp`: those with more than one rank, in mesh
/// order. Empty where there is none.
std::string groupName(const Module& module, AxisSet axes);
/// The axes that groupName named.
AxisSet findGroup(const Module& module, std::string_view name);
/// Local sizes of a value's dimensions, its elements and bytes on one rank.
std::vector<int64_t> localShape(const Module& module, ValueId value);
int64_t localElements(const Module& module, ValueId value);
int64_t localBytes(const Module& module, ValueId value);
/// Named look-ups; `none` where absent.
AxisId findAxis(const Module& module, std::string_view name);
DimId findDim(const Module& module, std::string_view name);
/// The dimension of that name and size, made when there is none; it is called
/// `name.2` where one of another size has the name. Counts such as the two
/// statistics of a softmax are dimensions named by their size: `constantDim`.
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
