// Runs a Program on all ranks of its mesh, in double precision and with plain
// loops. It defines the meaning of the ops for tests of sharding and
// differentiation without the runtime.

#ifndef RECIPEC_TEST_COMPILER_PASSES_INTERPRETER_H
#define RECIPEC_TEST_COMPILER_PASSES_INTERPRETER_H

#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::test {

/// Row-major numbers.
using Array = std::vector<double>;

class Interpreter {
public:
  /// Fills every input and parameter with numbers that depend only on its name,
  /// sliced to each rank's shard. Gradients and states are zero.
  explicit Interpreter(const ir::Module& program);

  void run(const std::string& function);

  /// The full value from all ranks: shards concatenated, partial sums added.
  /// The sums over the axes `isReduced` are already complete.
  Array whole(ir::ValueId value, ir::AxisSet isReduced = {}) const;
  /// Adds to one element of a full parameter, on every rank that holds it.
  void nudge(ir::ValueId parameter, int64_t element, double by);
  void clear(ir::ValueId value);
  /// Whether a dispatch had more tokens than rows.
  bool hasOverflown() const { return overflow; }

private:
  using Shape = std::vector<int64_t>;

  int coordinate(int rank, ir::AxisSet axes) const;
  Shape wholeShape(ir::ValueId value) const;
  /// The index in the full value of each local element of a rank.
  std::vector<int64_t> places(ir::ValueId value, int rank) const;
  Array initial(ir::ValueId value) const;

  Array& at(int rank, ir::ValueId value);
  Shape shape(ir::ValueId value) const;
  double real(const ir::Op& op, const char* name, double otherwise) const;

  void execute(const ir::Op& op, int rank);
  void collective(const ir::Op& op);
  void embedding(const ir::Op& op, int rank);
  void embeddingBackward(const ir::Op& op, int rank);
  void linear(const ir::Op& op, int rank);
  void linearAdd(const ir::Op& op, int rank);
  void jointly(const ir::Op& op, int rank);
  void linearDgrad(const ir::Op& op, int rank);
  void linearWgrad(const ir::Op& op, int rank);
  void bias(const ir::Op& op, int rank);
  double weightOf(const ir::Op& op, int rank, size_t operand, size_t element);
  void norm(const ir::Op& op, int rank);
  void normBackward(const ir::Op& op, int rank);
  void rope(const ir::Op& op, int rank);
  void positionScale(const ir::Op& op, int rank);
  /// narrow, pad, concat, broadcast: slices and concatenations of rows.
  void parts(const ir::Op& op, int rank);
  double normalBelow(const ir::Op& op, double x) const;
  double normalAt(const ir::Op& op, double x) const;
  void attention(const ir::Op& op, int rank);
  void attentionBackward(const ir::Op& op, int rank);
  void elementwise(const ir::Op& op, int rank);
  void dropout(const ir::Op& op, int rank);
  void softmax(const ir::Op& op, int rank);
  void softmaxStats(const ir::Op& op, int rank);
  void nll(const ir::Op& op, int rank);
  void crossEntropyBackward(const ir::Op& op, int rank);

  // ---- mixtures of experts
  struct Sequence;
  void experts(const ir::Op& op, int rank);
  /// Whether the value has expert rows. Their order has no equivalent in a full
  /// value, so their collectives run part by part as in the runtime.
  bool hasPlaces(ir::ValueId value) const;
  void collectiveOfPlaces(const ir::Op& op);
  /// One sample of a routing; operand number `first` is the logits.
  Sequence sequenceOf(const ir::Op& op, int rank, size_t first, size_t sample);
  void countChoices(Sequence& row, const double* choices);
  void route(const ir::Op& op, int rank);
  void choose(const ir::Op& op, const Sequence& row, double* choices,
              double* gates);
  void drop(const ir::Op& op, const Sequence& row, double* choices,
            double* gates);
  void routeBackward(const ir::Op& op, int rank);
  void dispatch(const ir::Op& op, int rank);
  void scatter(ir::ValueId from, ir::ValueId rows, ir::ValueId gates,
               ir::ValueId to, int rank);
  void gather(ir::ValueId from, ir::ValueId rows, ir::ValueId gates,
              ir::ValueId to, int rank);
  void gateProducts(ir::ValueId tokens, ir::ValueId experts, ir::ValueId rows,
                    ir::ValueId dgates, int rank);
  void rowDots(ir::ValueId a, ir::ValueId b, ir::ValueId dots, int rank);
  void swigluBackwardDots(const ir::Op& op, int rank);
  void gatesBackward(const ir::Op& op, int rank);
  template <class Body>
  void groupedMatmul(const ir::Op& op, int rank, ir::ValueId x, ir::ValueId y,
                     Body body);
  void expertLinear(const ir::Op& op, int rank);

  // ---- state spaces
  struct Head;
  struct Decay;
  void causalConv(const ir::Op& op, int rank);
  /// Operands are relative to number `first`, which is x.
  Decay decayAt(const ir::Op& op, int rank, size_t first, const Head& head,
                size_t t);
  void advance(const ir::Op& op, int rank, size_t first, const Head& head,
               size_t t, Array& state);
  void scan(const ir::Op& op, int rank, Head head);
  void scanBackward(const ir::Op& op, int rank, Head head);
  void stateScan(const ir::Op& op, int rank);

  const ir::Module& program;
  bool overflow = false;
  int ranks = 1;
  std::vector<std::vector<Array>> memory; // by rank and value
};

} // namespace recipec::test

#endif // RECIPEC_TEST_COMPILER_PASSES_INTERPRETER_H
