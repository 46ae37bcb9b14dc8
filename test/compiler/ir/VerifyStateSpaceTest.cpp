// The verifier on state spaces and norms with wide weights: a sound Program has
// no findings, and each kind of damage has a finding that names it.

#include "SoundProgram.h"

#include <gtest/gtest.h>

namespace recipec::ir {
namespace {

const SoundProgram stateSpace(R"(program test f32
axis dp = 2
axis tp = 2
dim batch = 4
dim sequence = 8
dim groups = 4
dim channels = 6
dim heads = 3
dim state = 5
dim kernel = 4
dim chunks = 2
input %segments : i32[batch/dp, sequence]
input %x : f32[batch/dp, sequence, groups/tp, channels]
input %dt : f32[batch/dp, sequence, groups/tp, heads]
input %b : f32[batch/dp, sequence, groups/tp, state]
gradient %dw : f32[groups/tp, channels, kernel] +dp
gradient %dr : f32[groups/tp, heads] +dp
gradient %ds : f32[groups/tp, channels] +dp
param @w : f32[groups/tp, channels, kernel] init uniform 0.5 gradient %dw
    hf "w" [24, 1, 4]
param @r : f32[groups/tp, heads] init ones 0.0 gradient %dr
    hf "r" [12]
param @s : f32[groups/tp, channels] init ones 0.0 gradient %ds
    hf "s" [24]
function forward {
  %u = causal_conv %x, @w, %segments : saved f32[batch/dp, sequence, groups/tp, channels]
  %y, %h = state_scan %u, %dt, %b, %b, @r, @r, @r, %segments {chunk = 4} : saved f32[batch/dp, sequence, groups/tp, channels], saved f32[batch/dp, groups/tp, chunks, channels, state]
  %n, %n.rstd = rmsnorm %y, @s {eps = 1e-05} : f32[batch/dp, sequence, groups/tp, channels], saved f32[batch/dp, sequence, groups/tp]
}
function backward {
  %dn = zero : f32[batch/dp, sequence, groups/tp, channels]
  %dy, %ds = rmsnorm_backward %dn, %y, @s, %n.rstd {eps = 1e-05} : f32[batch/dp, sequence, groups/tp, channels]
  %du, %ddt, %db, %dc, %dr, _, _ = state_scan_backward %dy, %u, %dt, %b, %b, @r, @r, @r, %segments, %h {chunk = 4} : f32[batch/dp, sequence, groups/tp, channels], f32[batch/dp, sequence, groups/tp, heads], f32[batch/dp, sequence, groups/tp, state], f32[batch/dp, sequence, groups/tp, state]
  %dx, %dw = causal_conv_backward %du, %x, @w, %segments : f32[batch/dp, sequence, groups/tp, channels]
}
)");

TEST(VerifyStateSpace, ASoundProgramHasNoFindings) {
  stateSpace.expectSound();
}

TEST(VerifyStateSpace, SequencesAreWhole) {
  stateSpace.expectFound("batch/dp, sequence", "batch, sequence/dp",
                         "a sequence or a group is split");
  stateSpace.expectFound("groups/tp, channels", "groups, channels/tp",
                         "a sequence or a group is split");
}

TEST(VerifyStateSpace, ParametersLieAsTheirGroups) {
  stateSpace.expectFound("f32[groups/tp, channels, kernel]",
                         "f32[groups, channels, kernel]",
                         "the weight is another's");
  stateSpace.expectFound("@r : f32[groups/tp, heads]",
                         "@r : f32[groups, heads]",
                         "the parameters are another's");
  stateSpace.expectFound("@s : f32[groups/tp, channels]",
                         "@s : f32[groups, channels]",
                         "trailing dimensions differ");
}

TEST(VerifyStateSpace, States) {
  stateSpace.expectFound("groups/tp, chunks, channels, state",
                         "groups/tp, chunks, channels, heads",
                         "the states are another's");
}

TEST(VerifyStateSpace, Tokens) {
  stateSpace.expectFound("%b, %b, @r", "%b, %dt, @r", "dimensions differ");
  stateSpace.expectFound("%x : f32[batch/dp,", "%x : f32[batch,",
                         "leading dimensions differ");
}

TEST(VerifyStateSpace, Gradients) {
  for (const char* gradient :
       {"%dw : f32[groups/tp, channels, kernel]", "%dr : f32[groups/tp, heads]",
        "%ds : f32[groups/tp, channels]"})
    stateSpace.expectFound(gradient + std::string(" +dp"), gradient,
                           "the partial sum is not that of the gradient");
  stateSpace.expectFound("%dr, _, _ =", "%ds, _, _ =", "dimensions differ");
}

} // namespace
} // namespace recipec::ir
