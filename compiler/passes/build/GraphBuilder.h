// Builds a Graph: turns the calls of a traced model into ops, one by one.
// Build.cpp has the algorithm and the dense ops, BuildSlices.cpp the ops that
// slice and join dimensions, BuildExperts.cpp the mixtures of experts,
// BuildStateSpace.cpp the state spaces and BuildFurther.cpp the prediction of
// further tokens.

#ifndef RECIPEC_PASSES_BUILD_GRAPHBUILDER_H
#define RECIPEC_PASSES_BUILD_GRAPHBUILDER_H

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/Build.h"
#include "compiler/passes/build/ExpertRouting.h"

#include <map>
#include <optional>
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
  /// Adds a model's dimension. Renames it when the compiler uses its name.
  DimId ownDim(const recipe::Dim& dim);
  ValueId input(std::string_view role);
  ValueId& tensorOf(recipe::TensorId id);
  DimId dimOf(recipe::DimId id) const;
  std::vector<DimId> dimsOf(const std::vector<recipe::DimId>& ids) const;

  // ---- parameters

  /// Makes the weight of a call. The first `hfFirst` dimensions form the first
  /// dimension of the Hugging Face tensor and the rest the second; 0 keeps all
  /// dimensions.
  ValueId param(const recipe::Call& call, std::vector<DimId> dims,
                ir::Initializer init, bool decay, size_t hfFirst);
  /// Makes a parameter of a call, named after the call with the suffix `.part`.
  ValueId namedParam(const recipe::Call& call, const std::string& part,
                     std::vector<DimId> dims, ir::Initializer init, bool decay,
                     std::vector<int64_t> hfShape);
  std::vector<int64_t> groupedShape(const std::vector<DimId>& dims,
                                    size_t first) const;

  // ---- calls

  void build(const recipe::Call& call);
  void buildParameter(const recipe::Call& call);
  /// The index of the weight among a call's operands; -1 without one.
  static int weightPlace(OpKind kind);
  /// False when an operand is missing because of an earlier error, or when a
  /// parameter and data are swapped.
  bool operands(const recipe::Call& call, ir::Op& op);
  /// Whether a value is of the kind that an op takes as operand number `place`:
  /// a parameter for a weight, the tokens for ids, the result of a router for a
  /// routing, and a computed value everywhere else.
  bool fits(OpKind kind, int place, ValueId value) const;
  /// The index of the operand with which the one at `place` can be swapped so
  /// that both fit.
  std::optional<size_t> swappedWith(const recipe::Call& call, OpKind kind,
                                    size_t place);
  /// Reports an operand that does not fit.
  void reportRole(const recipe::Call& call, OpKind kind, int place,
                  ValueId value);
  /// Adds implicit parameters, inputs and attributes. False after reporting a
  /// weight with other dimensions.
  bool complete(const recipe::Call& call, ir::Op& op, size_t& contracted);
  bool linear(const recipe::Call& call, ir::Op& op, size_t& contracted);
  /// Adds the attributes of a norm, and its weight when the call gives none.
  void norm(const recipe::Call& call, ir::Op& op);
  /// False after reporting a table with fewer rows than a token may have
  /// positions.
  bool positions(const recipe::Call& call, ir::Op& op);
  /// Adds the bias of a call to the op's result.
  void addBias(const recipe::Call& call, const ir::Op& op, size_t width);
  /// Checks that a given weight has the dimensions that the call names.
  bool checkWeight(const recipe::Call& call, ValueId weight,
                   const std::vector<DimId>& dims);
  std::string listed(const std::vector<DimId>& dims) const;
  /// Pads values that are narrower than their keys with zeros. False after
  /// reporting wider ones.
  bool padValues(const recipe::Call& call, ir::Op& op);
  void reportWider(const recipe::Call& call, DimId key, DimId value);
  /// Cuts the padding from the result of attention.
  void cutValues(const recipe::Call& call, const ir::Op& op);
  /// False after reporting values that are too wide.
  bool attention(const recipe::Call& call, ir::Op& op);
  void dropout(const recipe::Call& call, ir::Op& op);
  /// Gives the result of an op the dimensions that its call names, if any.
  /// False after reporting a mismatch.
  bool nameDims(const recipe::Call& call, ir::Op& op);
  bool narrow(const recipe::Call& call, ir::Op& op);
  /// A narrow to one element of a dimension, which the result lacks.
  bool select(const recipe::Call& call, ir::Op& op);
  /// The index of a dimension, the last one of several that are the same.
  std::optional<size_t> placeOf(const std::vector<DimId>& dims,
                                DimId dim) const;
  /// Sets the attributes of a slice from `begin` on, in the dimension that
  /// `behind` others follow.
  static void setSlice(ir::Op& op, int64_t begin, size_t behind);
  bool concat(const recipe::Call& call, ir::Op& op);
  void broadcast(const recipe::Call& call, ir::Op& op);
  /// `` `heads` = 32 ``
  std::string sized(DimId dim) const;

  // ---- experts

  static bool isRoutingPlace(OpKind kind, int place);
  /// Builds a linear to the expert scores, and the routing.
  void buildRouter(const recipe::Call& call);
  /// False after reporting scores that are not per token.
  bool isOfTokens(const recipe::Call& call, ValueId logits);
  /// False after reporting a Hugging Face name with an unexpected `{expert}`.
  bool checkExternalName(const recipe::Call& call);
  void route(const recipe::Call& call, ValueId logits, Routing routing);
  /// False after reporting too few experts to choose from.
  bool canChoose(const recipe::Call& call, const Routing& routing);
  /// The bias that balances the experts: a parameter without a gradient.
  ValueId correction(const recipe::Call& call, DimId scores);
  /// Adds the counters that a router updates in a training step.
  void countChoices(const recipe::Call& call, DimId scores, ir::Op& op);
  bool dispatch(const recipe::Call& call, ir::Op& op);
  /// Lays out the results of a dispatch: a rank has rows for everything that
  /// its tokens can send to the experts of one rank.
  void layRows(const recipe::Call& call, ir::Op& op);
  /// The number of ranks in a stage. Each has its own tokens.
  int64_t tokenParts() const;
  /// The most rows that a rank's `tokens` can send to the experts of one rank
  /// when each expert takes at most `limit` tokens of a sequence.
  int64_t sentRows(const Routing& routing, const std::vector<DimId>& tokens,
                   int64_t limit) const;
  /// The number of ranks that hold rows of the same experts.
  int64_t holders(const Routing& routing) const;
  /// The number of a dispatch's rows that one pass has capacity for.
  int64_t packedRows(const Routing& routing, const ir::Op& dispatch) const;
  /// Packs as many of a dispatch's rows as the recipe has capacity for, and the
  /// rows of a second pass.
  void packRows(const recipe::Call& call, const ir::Op& dispatch);
  /// Sets the index of the first row that an op of the second pass processes.
  void tellPass(const Routing& routing, DimId places, ir::Op& op) const;
  /// Packs the rows of one pass, and counts the rows beyond it in the sum
  /// `beyond`.
  ir::Op packPass(const ir::Op& dispatch, const Routing& routing, DimId places,
                  const char* beyond);
  void unpackRows(Routing& routing, ir::Op& combine);
  ValueId unpackPass(const Routing& routing, const ir::Op& combine,
                     ValueId packed);
  /// Repeats the ops on the first pass's rows for the second pass.
  void repeatForSecondPass(Routing& routing);
  ValueId repeatResult(Routing& routing, ValueId result, std::string name);
  int64_t ranks(std::string_view degree) const;
  /// Records that an op on rows of experts produces rows of experts.
  void followRows(const ir::Op& op);
  /// The routing of a call's first operand; nullptr after reporting that it is
  /// not rows of experts.
  Routing* routingOfRows(const recipe::Call& call, const ir::Op& op);
  bool expertLinear(const recipe::Call& call, ir::Op& op, size_t& contracted);
  bool combine(const recipe::Call& call, ir::Op& op);

  // ---- state spaces

  class StateSpace;
  /// Builds the ops of the library's state-space mixer.
  void buildStateSpace(const recipe::Call& call);

  // ---- further tokens

  /// Finds the calls on which nothing but the operand `further` of a
  /// `further_loss` depends.
  void findFurther();
  void buildNextTokens(const recipe::Call& call);
  void buildFurtherLoss(const recipe::Call& call);
  /// False after reporting `further` that are no logits.
  bool areFurtherLogits(const recipe::Call& call, ValueId logits,
                        ValueId further);

  // ---- names and results

  /// The call's name. An unnamed call is named after the op, with the only
  /// operand's name or the last operand's scope as a prefix.
  std::string nameOf(const recipe::Call& call, const ir::Op& op) const;
  void results(ir::Op& op);
  void addResult(ir::Op& op, std::string name);

  // ---- the end

  void output();
  /// Adds the loss of logits to the sum that is bound as `sum`.
  void loss(const std::string& sum, ValueId logits, ValueId labels,
            ValueId weights);
  /// The loss sum, to which the routers add as well.
  ValueId lossSum();
  /// A state value that the ops of a step add to.
  ValueId sum(const std::string& name, std::vector<DimId> dims);
  /// The sum that is bound as `role`, which all ops of the model share.
  ValueId boundSum(const std::string& role, std::vector<DimId> dims);
  ValueId lossOp(OpKind kind, const std::string& name,
                 std::vector<ValueId> operands, ValueId result = ValueId::none);

  const recipe::Recipe& recipe;
  const Extent& extent;
  diag::Engine& engine;
  ir::Module module;
  ValueNames names;
  std::vector<DimId> modelDims;
  std::vector<ValueId> tensors;    // by TensorId; none after an error
  std::vector<bool> isFurther;     // by call
  ValueId further = ValueId::none; // logits of the token after the next one
  int64_t dropouts = 0;
  std::map<ValueId, Routing> routings; // by their choices
  std::map<ValueId, ValueId> rowsOf;   // choices, by the rows that use them
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_GRAPHBUILDER_H
