// What a Program is made with: values get shardings op by op, and collectives
// between them. Shard.cpp has the algorithm and the dense ops, ShardExperts.cpp
// those of mixtures of experts, ShardStateSpace.cpp those of state spaces.

#ifndef RECIPEC_PASSES_SHARD_SHARDER_H
#define RECIPEC_PASSES_SHARD_SHARDER_H

#include "compiler/passes/common/Names.h"
#include "compiler/passes/shard/Shard.h"

#include <map>
#include <optional>
#include <vector>

namespace recipec::passes {

/// The axes that split any dimension.
inline ir::AxisSet splitOf(const std::vector<ir::AxisSet>& dims) {
  ir::AxisSet axes;
  for (ir::AxisSet dim : dims)
    axes = axes | dim;
  return axes;
}

class Sharder {
public:
  Sharder(ir::Module& module, const Layout& layout)
      : module(module), layout(layout), axes(resolve(module, layout)),
        names(module), forms(module.values.size()),
        layers(module.values.size()) {}

  void run();

private:
  using AxisSet = ir::AxisSet;
  using Op = ir::Op;
  using OpKind = ir::OpKind;
  using Sharding = ir::Sharding;
  using ValueId = ir::ValueId;

  /// The layers that a value's maker and its reader belong to. What makes a
  /// value smaller is done where it is made, so that the small form goes from
  /// layer to layer and stage to stage; everything else where it is read.
  struct Ends {
    int maker, reader;
  };

  // ---- layouts

  /// How dimensions are split by themselves; for the residual stream also
  /// along the axes that split none of them. An axis is used once.
  std::vector<AxisSet> layoutOf(const std::vector<ir::DimId>& dims,
                                bool isActivation) const;
  std::vector<AxisSet> layoutOf(ValueId value) const;
  const Sharding& shardingOf(ValueId value) const;

  // ---- collectives

  /// What a rank sends to bring a form to a sharding, in units of the whole
  /// value; slices are free.
  double cost(ValueId form, const Sharding& wanted) const;
  /// The value in the wanted form, by way of the cheapest collective.
  ValueId bring(ValueId value, const Sharding& wanted, const Op& reader);
  ValueId convert(ValueId form, const Sharding& wanted, Ends ends);
  /// Gathers what neither stays split nor is exchanged. The places of experts
  /// have no order, only a way back, on which sums are scattered first and
  /// exchanged in parts: they are gathered behind the exchange.
  ValueId gather(ValueId form, const Sharding& wanted, Ends ends,
                 bool isOrdered);
  /// Completes partial sums: scattered along a dimension that is to be split
  /// along the same axes, everywhere otherwise.
  ValueId reduce(ValueId form, const Sharding& wanted, Ends ends);
  /// Moves the axes of a group from dimension `concat` to dimension `split`. In
  /// it they are the innermost, whatever their order in the mesh, until another
  /// exchange takes them back.
  ValueId exchange(ValueId form, AxisSet group, int split, int concat,
                   Ends ends);
  /// Of rows of experts, how many belong to tokens, where these lie; none of
  /// other values.
  ValueId countsOf(ValueId form) const;
  ValueId collective(OpKind kind, ValueId form, AxisSet group, int dim,
                     Ends ends);
  Op opOn(OpKind kind, ValueId form, int layer) const;
  ValueId emit(Op op, ir::Value value);

  // ---- ops

  void shard(ir::Function& function);
  /// What several ranks add to the loss alike, each adds a part of.
  void shareLosses(ir::Function& function);
  /// That of a norm's weight, which has the last dimensions of its operand.
  Sharding ofNorm(const Op& op) const;
  /// Ranks share out the weights of experts by `ep` and `etp` alone, whatever
  /// else splits their dimensions in other layers.
  Sharding ofExperts(const Op& op) const;
  void set(ValueId result, std::vector<AxisSet> dims, AxisSet partial = {});
  void require(Op& op, size_t operand, std::vector<AxisSet> dims,
               AxisSet partial = {});
  /// Brings the operands to the sharding that the op needs, says the results'
  /// and appends the op. Each family of ops has a file of its rules
  /// (ShardAttention.cpp).
  void rule(Op& op);
  void shardActivation(Op& op);
  void shardAttention(Op& op);
  void shardDense(Op& op);
  void shardExperts(Op& op);
  void shardLoss(Op& op);
  void shardMoves(Op& op);
  void shardNorm(Op& op);
  void shardStateSpace(Op& op);
  /// tokens [b, s], table [v, h] → [b, s, h], a sum over the table's shards.
  void embedding(Op& op);
  /// x [lead..., from...], w [to..., from...] → y [lead..., to...]. The weight
  /// stays where it is. x comes as its cheapest form with the weight's split of
  /// `from` and none of the weight's axes elsewhere.
  void linear(Op& op);
  Sharding linearOperand(ValueId form, const std::vector<AxisSet>& weight,
                         size_t lead, size_t to) const;
  /// x [lead..., to...], b [to...]. The weight that made x splits `to` as it
  /// splits the bias; where it made a partial sum, that is completed first.
  void addBias(Op& op);
  static bool isNorm(OpKind kind);
  /// How x [..., h] lies: like the residual stream, h whole.
  std::vector<AxisSet> ofRows(ValueId x) const;
  void norm(Op& op);
  void byPosition(Op& op);
  /// narrow, pad, concat: rows are whole.
  void partsOfRows(Op& op);
  /// x [..., n] → y [..., over, n]: each rank makes the copies that it needs.
  void broadcast(Op& op);
  /// Heads may be split where query and key heads are split alike. Ranks that
  /// share the sequence exchange heads for tokens along the axes that the
  /// layout says; along the others each keeps its queries, and gets all keys
  /// and values with their tokens, at once or in turn. The result goes back to
  /// where the queries came from.
  void attention(Op& op);
  void elementwise(Op& op, size_t count);
  /// The kernel numbers elements by their place in the whole tensor, for which
  /// it needs the axes that split it.
  void dropout(Op& op);
  /// Two partial sums over the same axes are added as such, so that a linear
  /// and its adapter pay one collective.
  void add(Op& op);

  // ---- experts

  /// Of rows of experts, or of the blocks that they are counted in.
  bool isPlaces(ir::DimId dim) const;
  /// Choices depend on all tokens of a sequence: each rank that shares one
  /// makes all of them.
  void route(Op& op);
  /// Each rank lays its own tokens side by side. All ranks of a stage have
  /// tokens of their own, those of `tp` too.
  void dispatch(Op& op);
  /// While experts compute, each rank of `ep` has its group of them, and places
  /// are split by what splits neither experts nor them.
  void layPlaces(const Op& op, AxisSet parts);
  /// Rows are packed where they are computed with.
  void packRows(Op& op);
  void unpackRows(Op& op);
  /// x [groups, places, from...], w [experts, to..., from...].
  void expertLinear(Op& op);
  /// Rows come back to the ranks that their tokens are on.
  void combine(Op& op);

  // ---- state spaces

  /// How x [b, s, groups, channels] lies where a token depends on those before
  /// it: the sequence is whole.
  std::vector<AxisSet> ofSequences(ValueId x) const;
  void causalConv(Op& op);
  void stateScan(Op& op);

  // ---- loss

  /// The maximum over a split vocabulary is at once made that of all of it.
  void softmaxMax(Op& op);
  void softmaxSum(Op& op);
  void nll(Op& op);

  ir::Module& module;
  const Layout& layout;
  DimAxes axes;
  Names names;
  std::vector<std::vector<ValueId>> forms; // by value of the Graph
  std::vector<std::optional<int>> layers;  // of ops that make it; likewise
  /// By the dimension of their places, how the last dispatch counted its rows.
  std::map<ir::DimId, ValueId> counts;
  std::vector<Op> out;
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SHARD_SHARDER_H
