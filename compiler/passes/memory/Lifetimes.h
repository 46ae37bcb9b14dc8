// When the values of a Program are alive.
//
// Functions that follow one another on the same activations make a timeline:
// `forward` and `backward` one where the schedule runs them one behind the
// other, every other function one of its own. Timelines never overlap, so that
// all of them use the same bytes.

#ifndef RECIPEC_PASSES_MEMORY_LIFETIMES_H
#define RECIPEC_PASSES_MEMORY_LIFETIMES_H

#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// Whether a value keeps its bytes between functions: what lives from step to
/// step, and what has slots.
bool isPersistent(const ir::Module& program, ir::ValueId value);

/// Values that are one buffer: a result written over its operand, a view of a
/// run. The buffer is alive from `begin` to `end`, both positions in the
/// timeline.
struct Life {
  struct Member {
    ir::ValueId value;
    int64_t offset = 0; // bytes into the buffer
  };
  std::vector<Member> members; // in the order of their definition
  int64_t bytes = 0;
  int begin = 0;
  int end = 0;
};

struct Timeline {
  std::vector<const ir::Op*> ops;
  std::vector<Life> lives; // by begin, then as the op lists its results
};

std::vector<Timeline> timelines(const ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_LIFETIMES_H
