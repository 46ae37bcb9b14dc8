// Assigns shardings op by op and inserts collectives between ops. Shard.cpp has
// the algorithm, and the file of each op family its rules (ShardExperts.cpp).

#ifndef RECIPEC_PASSES_SHARD_SHARDER_H
#define RECIPEC_PASSES_SHARD_SHARDER_H

#include "compiler/passes/ValueNames.h"
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

  /// The layers of the op that makes a value and of its reader. Collectives
  /// that make a value smaller belong to the maker's layer, so that the small
  /// form passes between layers and stages; all others belong to the reader's
  /// layer.
  struct Ends {
    int maker, reader;
  };

  // ---- layouts

  /// The default split of dimensions. For the residual stream also along the
  /// axes that split none of them. Each axis is used once.
  std::vector<AxisSet> layoutOf(const std::vector<ir::DimId>& dims,
                                bool isActivation) const;
  std::vector<AxisSet> layoutOf(ValueId value) const;
  const Sharding& shardingOf(ValueId value) const;

  // ---- collectives

  /// The amount of data that a rank sends to convert a form to a sharding, in
  /// units of the whole value. Slices cost nothing.
  double cost(ValueId form, const Sharding& wanted) const;
  /// Converts the value to the wanted sharding by the cheapest collectives.
  ValueId bring(ValueId value, const Sharding& wanted, const Op& reader);
  ValueId convert(ValueId form, const Sharding& wanted, Ends ends);
  /// All-gathers along the axes that are neither kept nor moved to another
  /// dimension. Rows of experts have no order: on their way back, partial sums
  /// are first reduce-scattered and exchanged in parts, so rows are gathered
  /// after the exchange.
  ValueId gather(ValueId form, const Sharding& wanted, Ends ends,
                 bool isOrdered);
  /// Takes the shards of axes that split no dimension yet. Rows of experts,
  /// which are gathered after an exchange, are sliced before the one that moves
  /// them back.
  ValueId slice(ValueId form, const Sharding& wanted, Ends ends,
                bool isOrdered);
  /// Reduces partial sums: reduce-scatter along a dimension that is to be split
  /// along the same axes, all-reduce otherwise.
  ValueId reduce(ValueId form, const Sharding& wanted, Ends ends);
  /// Moves the axes of a group from dimension `concat` to dimension `split` by
  /// an all-to-all. In `split` they are then the innermost axes, whatever their
  /// order in the mesh, until another all-to-all moves them back.
  ValueId exchange(ValueId form, AxisSet group, int split, int concat,
                   Ends ends);
  /// The counts that belong to rows of experts, in the same layout; `none` for
  /// other values.
  ValueId countsOf(ValueId form) const;
  ValueId collective(OpKind kind, ValueId form, AxisSet group, int dim,
                     Ends ends);
  Op opOn(OpKind kind, ValueId form, int layer) const;
  ValueId emit(Op op, ir::Value value);

  // ---- ops

  void shard(ir::Function& function);
  /// Divides the balancing losses by the number of ranks that add the same
  /// loss.
  void shareLosses(ir::Function& function);
  /// The sharding of a norm's weight, which has the operand's last dimensions.
  Sharding ofNorm(const Op& op) const;
  /// The sharding of expert weights: only by `ep` and `etp`, whatever else
  /// splits their dimensions in other layers.
  Sharding ofExperts(const Op& op) const;
  void set(ValueId result, std::vector<AxisSet> dims, AxisSet partial = {});
  void require(Op& op, size_t operand, std::vector<AxisSet> dims,
               AxisSet partial = {});
  /// Converts the operands to the shardings that the op needs, sets the
  /// shardings of the results and appends the op. Each op family has its own
  /// file of rules (ShardAttention.cpp).
  void rule(Op& op);
  void shardActivation(Op& op);
  void shardAttention(Op& op);
  void shardDense(Op& op);
  void shardExperts(Op& op);
  void shardLoss(Op& op);
  void shardMoves(Op& op);
  void shardNorm(Op& op);
  void shardSampling(Op& op);
  void shardStateSpace(Op& op);
  /// tokens [b, s], table [v, h] → [b, s, h], a sum over the table's shards.
  void embedding(Op& op);
  /// x [lead..., from...], w [to..., from...] → y [lead..., to...]. The weight
  /// is not moved. x gets the cheapest form with the weight's split of `from`
  /// and none of the weight's axes elsewhere.
  void linear(Op& op, std::vector<AxisSet> weight);
  /// x [lead..., from...], w [adapters, to..., from...], adapters [lead...].
  void adapterLinear(Op& op);
  Sharding linearOperand(ValueId form, const std::vector<AxisSet>& weight,
                         size_t lead, size_t to) const;
  /// x [lead..., to...], b [to...]. The weight that made x splits `to` like the
  /// bias. A partial sum is reduced first.
  void addBias(Op& op);
  static bool isNorm(OpKind kind);
  /// The sharding of x [..., h]: like the residual stream, with h not split.
  std::vector<AxisSet> ofRows(ValueId x) const;
  void norm(Op& op);
  void byPosition(Op& op);
  /// narrow, pad: the sliced dimension is not split.
  void slice(Op& op);
  /// Rows are not split.
  void concat(Op& op);
  /// x [..., n] → y [..., over, n]: each rank makes only its own copies.
  void broadcast(Op& op);
  /// Heads may be split where query and key heads are split alike. Ranks that
  /// share the sequence exchange heads for tokens along the axes of the
  /// layout's SequenceExchange. Along the other axes each rank keeps its
  /// queries and gets all keys and values with their segments and places: at
  /// once by an all-gather, or block by block in a ring. The result is
  /// exchanged back to the ranks of the queries.
  void attention(Op& op);
  void elementwise(Op& op, size_t count);
  /// The kernel numbers elements by their index in the whole tensor, so it
  /// needs the axes that split the tensor.
  void dropout(Op& op);
  /// Two partial sums over the same axes are added without a reduction, so that
  /// a linear and its adapter share one collective.
  void add(Op& op);

  // ---- experts

  /// Whether the dimension counts rows of experts, or the blocks of their
  /// counts.
  bool isPlaces(ir::DimId dim) const;
  /// Choices depend on all tokens of a sequence, so each rank that shares the
  /// sequence makes all of them.
  void route(Op& op);
  /// Each rank copies its own tokens to contiguous rows. All ranks of a stage,
  /// those of `tp` included, have their own tokens.
  void dispatch(Op& op);
  /// Sets the layout in which experts compute: each rank of `ep` has its group
  /// of experts, and the rows are split by the token axes outside of `ep` and
  /// `etp`.
  void layPlaces(const Op& op, AxisSet parts);
  /// Packs rows on the ranks that compute them.
  void packRows(Op& op);
  void unpackRows(Op& op);
  /// x [groups, places, from...], w [experts, to..., from...].
  void expertLinear(Op& op);
  /// Rows return to the ranks of their tokens.
  void combine(Op& op);

  // ---- state spaces

  /// The sharding of x [b, s, groups, channels] when a token depends on earlier
  /// ones: the sequence is not split.
  std::vector<AxisSet> ofSequences(ValueId x) const;
  void causalConv(Op& op);
  void stateScan(Op& op);

  // ---- loss

  /// The maximum over a split vocabulary is all-reduced immediately.
  void softmaxMax(Op& op);
  void softmaxSum(Op& op);
  void nll(Op& op);

  // ---- sampling

  /// logits [..., v] → ids [...]. The vocabulary is not split.
  void sample(Op& op);

  ir::Module& module;
  const Layout& layout;
  DimAxes axes;
  ValueNames names;
  std::vector<std::vector<ValueId>> forms; // by value of the Graph
  std::vector<std::optional<int>> layers;  // by value, of its maker
  /// The counts of the last dispatch, by the dimension of its rows.
  std::map<ir::DimId, ValueId> counts;
  std::vector<Op> out;
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SHARD_SHARDER_H
