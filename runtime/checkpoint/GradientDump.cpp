// Gathers gradients like weights into one safetensors file.

#include "runtime/checkpoint/GradientDump.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/ShardGather.h"
#include "runtime/plan/Mesh.h"

#include <optional>

namespace reciperun::checkpoint {
namespace {

std::vector<int> withGradient(const plan::Plan& plan,
                              const plan::Stage& stage) {
  std::vector<int> numbers;
  for (const plan::Holding& holding : stage.holdings)
    if (holding.gradient >= 0)
      numbers.push_back(holding.parameter);
  return inFileOrder(plan, numbers);
}

std::vector<TensorSpec> specsOf(const plan::Plan& plan,
                                const plan::Stage& stage,
                                const std::vector<int>& numbers) {
  std::vector<TensorSpec> specs;
  for (int number : numbers) {
    const plan::Parameter& parameter = plan.parameters[size_t(number)];
    int gradient = plan::holdingOf(stage, number).gradient;
    plan::DType type = stage.buffers[size_t(gradient)].dtype;
    for (TensorSpec& spec : tensorSpecs(parameter, safetensorsName(type)))
      specs.push_back(std::move(spec));
  }
  return specs;
}

} // namespace

Status dumpGradients(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& path) {
  if (plan::axisSize(plan.mesh, "pp") > 1)
    return Status::error("gradients are dumped with one pipeline stage only; "
                         "compile with `--set parallel.pp=1`");
  const plan::Stage& stage = plan.stages.front();
  std::vector<int> numbers = withGradient(plan, stage);
  std::optional<SafetensorsWriter> writer;
  Status opened;
  if (communicator.rank() == 0) {
    auto made = SafetensorsWriter::create(path, specsOf(plan, stage, numbers));
    opened = made.status();
    if (made)
      writer.emplace(*std::move(made));
  }
  RECIPERUN_TRY(communicator.agree(opened));
  ShardGather gather(plan, access, communicator);
  for (int number : numbers)
    RECIPERUN_TRY(communicator.agree(gather.stream(
        number, Content::gradient,
        [&](std::span<std::byte> piece) { return writer->append(piece); })));
  return communicator.agree(writer ? writer->finish() : Status::ok());
}

} // namespace reciperun::checkpoint
