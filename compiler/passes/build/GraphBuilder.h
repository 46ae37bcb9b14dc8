// What a Graph is built with: the calls of a traced model turned into ops, one
// by one. Build.cpp has the algorithm and the dense ops, BuildSlices.cpp those
// that put rows apart and together, BuildExperts.cpp those of mixtures of
// experts and BuildStateSpace.cpp those of state spaces.

#ifndef RECIPEC_PASSES_BUILD_GRAPHBUILDER_H
#define RECIPEC_PASSES_BUILD_GRAPHBUILDER_H

#include "compiler/passes/build/Build.h"
#include "compiler/passes/common/Experts.h"
#include "compiler/passes/common/Names.h"

#include <map>
#include <string>
#include <vector>

namespace recipec::passes {

class GraphBuilder {
public:
  GraphBuilder(const recipe::Recipe& recipe, const Extent& extent,
               diag::Engine& engine)
      : recipe(recipe), extent(extent), engine(engine), names(module) {}

  ir::Module run();

private:
  using DimId = ir::DimId;
  using OpKind = ir::OpKind;
  using ValueId = ir::ValueId;

  // ---- the frame

  void header();
  void dims();
  /// A model's dimension is never one of ours, whatever its name.
  DimId ownDim(const recipe::Dim& dim);
  ValueId input(std::string_view role);
  ValueId& tensorOf(recipe::TensorId id);
  DimId dimOf(recipe::DimId id) const;
  std::vector<DimId> dimsOf(const std::vector<recipe::DimId>& ids) const;

  // ---- parameters

  /// Makes the weight of a call. `hfFirst` says how Hugging Face groups the
  /// dimensions: how many of the first make its first.
  ValueId param(const recipe::Call& call, std::vector<DimId> dims,
                ir::Initializer init, bool decay, size_t hfFirst);
  /// Makes a parameter of a call, whose name ends in `.` and `part`.
  ValueId namedParam(const recipe::Call& call, const std::string& part,
                     std::vector<DimId> dims, ir::Initializer init, bool decay,
                     std::vector<int64_t> hfShape);
  std::vector<int64_t> groupedShape(const std::vector<DimId>& dims,
                                    size_t first) const;

  // ---- calls

  void build(const recipe::Call& call);
  void buildParameter(const recipe::Call& call);
  /// The place among a call's operands where a parameter stands; -1: none.
  static int weightPlace(OpKind kind);
  /// False when an operand is missing for an error reported before, or is a
  /// parameter where data is due or the other way about.
  bool operands(const recipe::Call& call, ir::Op& op);
  /// Whether a parameter stands where a weight is due, the tokens where ids
  /// are, and what is computed everywhere else.
  bool fitsRole(const recipe::Call& call, OpKind kind, int place,
                ValueId value);
  /// Adds what a call leaves unsaid: parameters, implicit inputs, attributes.
  /// False after reporting a weight of other dimensions.
  bool complete(const recipe::Call& call, ir::Op& op, size_t& contracted);
  bool linear(const recipe::Call& call, ir::Op& op, size_t& contracted);
  /// The weight of a norm, where the call gives none, and what it says.
  void norm(const recipe::Call& call, ir::Op& op);
  /// False after reporting a table with fewer rows than a token may have
  /// positions.
  bool positions(const recipe::Call& call, ir::Op& op);
  /// Adds the bias of a call to what its op made.
  void addBias(const recipe::Call& call, const ir::Op& op, size_t width);
  /// A weight that is given has the dimensions that the call names.
  bool checkWeight(const recipe::Call& call, ValueId weight,
                   const std::vector<DimId>& dims);
  std::string listed(const std::vector<DimId>& dims) const;
  /// Values narrower than their keys get zeros behind them. False after
  /// reporting wider ones.
  bool padValues(const recipe::Call& call, ir::Op& op);
  void reportWider(const recipe::Call& call, DimId key, DimId value);
  /// Takes what came of those zeros off what attention made.
  void cutValues(const recipe::Call& call, const ir::Op& op);
  /// False after reporting values that are too wide.
  bool attention(const recipe::Call& call, ir::Op& op);
  void dropout(const recipe::Call& call, ir::Op& op);
  /// Gives the result of an op the dimensions that its call names, where it
  /// names them. False after reporting some that do not fit.
  bool nameDims(const recipe::Call& call, ir::Op& op);
  bool narrow(const recipe::Call& call, ir::Op& op);
  bool concat(const recipe::Call& call, ir::Op& op);
  void broadcast(const recipe::Call& call, ir::Op& op);
  /// `` `heads` = 32 ``
  std::string sized(DimId dim) const;

  // ---- experts

  static bool isRoutingPlace(OpKind kind, int place);
  /// A linear to the scores of the experts, and the routing by them.
  void buildRouter(const recipe::Call& call);
  /// False after reporting scores of something else than tokens.
  bool isOfTokens(const recipe::Call& call, ValueId logits);
  /// False after reporting a name at Hugging Face with a place for the number
  /// of an expert that is not due there, or without one that is.
  bool checkExternalName(const recipe::Call& call);
  void route(const recipe::Call& call, ValueId logits, Routing routing);
  /// False after reporting that there are not as many experts to choose from.
  bool canChoose(const recipe::Call& call, const Routing& routing);
  /// The bias that balances experts, a parameter that no gradient moves.
  ValueId correction(const recipe::Call& call, DimId scores);
  /// What a router tells of a training step.
  void countChoices(const recipe::Call& call, DimId scores, ir::Op& op);
  bool dispatch(const recipe::Call& call, ir::Op& op);
  /// The results of a dispatch: a rank has places for all that its tokens can
  /// ask of the experts of a rank.
  void layRows(const recipe::Call& call, ir::Op& op);
  /// The ranks of a stage, which all have tokens of their own.
  int64_t tokenParts() const;
  /// The most rows that a rank's `tokens` can ask of the experts of a rank, of
  /// which each takes `limit` tokens of a sequence.
  int64_t sentRows(const Routing& routing, const std::vector<DimId>& tokens,
                   int64_t limit) const;
  /// How many ranks keep rows of the same experts.
  int64_t holders(const Routing& routing) const;
  /// Rows of a dispatch that one pass has places for.
  int64_t packedRows(const Routing& routing, const ir::Op& dispatch) const;
  /// Of a dispatch's rows as many as the recipe has places for, and as many for
  /// a second pass.
  void packRows(const recipe::Call& call, const ir::Op& dispatch);
  /// Tells an op of the second pass which row is its first.
  void tellPass(const Routing& routing, DimId places, ir::Op& op) const;
  /// Packs the rows of one pass; the sum `beyond` counts those behind them.
  ir::Op packPass(const ir::Op& dispatch, const Routing& routing, DimId places,
                  const char* beyond);
  void unpackRows(Routing& routing, ir::Op& combine);
  ValueId unpackPass(const Routing& routing, const ir::Op& combine,
                     ValueId packed);
  /// Repeats what the model makes of the rows of the first pass.
  void repeatForSecondPass(Routing& routing);
  ValueId repeatResult(Routing& routing, ValueId result, std::string name);
  /// The second result of a combine: the rows that it took, which are fewer
  /// than those that ranks may exchange. The gradient of gates reads them.
  void takeRows(ir::Op& combine);
  int64_t ranks(std::string_view degree) const;
  /// Notes that what is made of rows of experts are such rows.
  void followRows(const ir::Op& op);
  /// The routing of a call's first operand; null after reporting that it is
  /// none of rows.
  Routing* routingOfRows(const recipe::Call& call, const ir::Op& op);
  bool expertLinear(const recipe::Call& call, ir::Op& op, size_t& contracted);
  bool combine(const recipe::Call& call, ir::Op& op);

  // ---- state spaces

  class StateSpace;
  /// The ops that a mixer of the library is made of.
  void buildStateSpace(const recipe::Call& call);

  // ---- names and results

  /// The call's name; without one it is made of an operand's: that of the only
  /// operand and the op, or the last operand's scope and the op.
  std::string nameOf(const recipe::Call& call, const ir::Op& op) const;
  void results(ir::Op& op);
  void addResult(ir::Op& op, std::string name);

  // ---- the end

  void output();
  void loss(ValueId logits);
  /// The loss, to which also the routers add.
  ValueId lossSum();
  /// A number, or several, that ops of a step add to.
  ValueId sum(const std::string& name, std::vector<DimId> dims);
  /// One that all ops of a model share, by its role.
  ValueId boundSum(const std::string& role, std::vector<DimId> dims);
  ValueId lossOp(OpKind kind, const char* name, std::vector<ValueId> operands,
                 ValueId result = ValueId::none);

  const recipe::Recipe& recipe;
  const Extent& extent;
  diag::Engine& engine;
  ir::Module module;
  Names names;
  std::vector<DimId> modelDims;
  std::vector<ValueId> tensors; // by TensorId; none after an error
  int64_t dropouts = 0;
  std::map<ValueId, Routing> routings; // by their choices
  std::map<ValueId, ValueId> rowsOf;   // choices, by rows that follow them
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_GRAPHBUILDER_H
