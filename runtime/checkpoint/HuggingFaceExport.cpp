// Export: 1. rank 0 opens the staging directory; 2. the shards of each tensor
// are gathered, merged with their adapter and written; 3. the adapter is
// written; 4. the small files are written; 5. the directory is renamed. Ranks
// agree on the status after each step in which rank 0 may fail, so that no rank
// waits for one that has stopped.

#include "runtime/checkpoint/HuggingFaceExport.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/FiniteCheck.h"
#include "runtime/checkpoint/LoraMerge.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/ShardGather.h"
#include "runtime/checkpoint/TokenizerFiles.h"
#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/Mesh.h"

#include <optional>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

class Exporter {
public:
  Exporter(const plan::Plan& plan, const ParameterAccess& access,
           comm::Communicator& communicator, const ExportOptions& options)
      : plan(plan), communicator(communicator), options(options),
        gather(plan, access, communicator) {}

  Status run(const fs::path& directory);
  Status runAdapter(const fs::path& directory);

private:
  Status open(const fs::path& directory);
  Status close();
  Status writeModel();
  Status writeAdapter(const fs::path& below);
  Status writeTexts() const;
  Expected<std::optional<LoraMerge>> mergeOf(const plan::Parameter& parameter);
  std::vector<TensorSpec> specsOf(const std::vector<int>& parameters) const;
  Status stream(int number, const ShardGather::Sink& write);
  Status append(ModelWriter& writer, int number,
                std::span<const std::byte> piece) const;
  /// The model's or the adapter's parameters, in file order.
  std::vector<int> numbers(bool adapter) const;
  bool isRoot() const { return communicator.rank() == 0; }
  Status onRoot(Status (Exporter::*step)() const);

  const plan::Plan& plan;
  comm::Communicator& communicator;
  const ExportOptions& options;
  ShardGather gather;
  std::optional<ExportDirectory> output; // on rank 0
};

std::vector<int> Exporter::numbers(bool adapter) const {
  std::vector<int> numbers;
  for (size_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.parameters[i].adapter == adapter)
      numbers.push_back(int(i));
  return inFileOrder(plan, numbers);
}

std::vector<TensorSpec>
Exporter::specsOf(const std::vector<int>& parameters) const {
  std::vector<TensorSpec> specs;
  for (int number : parameters) {
    const plan::Parameter& parameter = plan.parameters[size_t(number)];
    for (TensorSpec& spec :
         tensorSpecs(parameter, safetensorsName(typeOf(plan, parameter))))
      specs.push_back(std::move(spec));
  }
  return specs;
}

/// Passes a parameter's pieces to `write` on rank 0, in order, and checks that
/// they are finite; `write` leaves the written bytes in the piece.
Status Exporter::stream(int number, const ShardGather::Sink& write) {
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  const ElementType type =
      *findElementType(safetensorsName(typeOf(plan, parameter)));
  FiniteCheck finite;
  int64_t seen = 0;
  RECIPERUN_TRY(
      gather.stream(number, Content::value, [&](std::span<std::byte> piece) {
        RECIPERUN_TRY(options.goesOn ? options.goesOn() : Status::ok());
        RECIPERUN_TRY(write(piece));
        finite.look(type, piece, seen);
        seen += int64_t(piece.size()) / byteSize(type);
        return Status::ok();
      }));
  return finite.outcome(parameter.hfName, parameter.globalShape);
}

/// A piece consists of rows, which may span several tensors.
Status Exporter::append(ModelWriter& writer, int number,
                        std::span<const std::byte> piece) const {
  const plan::Parameter& parameter = plan.parameters[size_t(number)];
  size_t tensor = size_t(plan::elementCount(parameter.hfShape) *
                         plan::byteSize(typeOf(plan, parameter)));
  if (!plan::isByExpert(parameter))
    return writer.append(piece);
  for (; !piece.empty(); piece = piece.subspan(tensor))
    RECIPERUN_TRY(writer.append(piece.first(tensor)));
  return Status::ok();
}

/// The adapter's contribution to a matrix, on rank 0; nullopt when it has none.
Expected<std::optional<LoraMerge>>
Exporter::mergeOf(const plan::Parameter& parameter) {
  std::optional<LoraMerge> merge;
  if (parameter.loraA < 0)
    return merge;
  auto a = gather.whole(parameter.loraA, Content::value);
  RECIPERUN_TRY(a);
  auto b = gather.whole(parameter.loraB, Content::value);
  RECIPERUN_TRY(b);
  if (!isRoot())
    return merge;
  const plan::Parameter& first = plan.parameters[size_t(parameter.loraA)];
  const plan::Parameter& second = plan.parameters[size_t(parameter.loraB)];
  merge.emplace(typeOf(plan, parameter), first.globalShape[0],
                parameter.loraScale, LoraMerge::Factor{typeOf(plan, first), *a},
                LoraMerge::Factor{typeOf(plan, second), *b});
  return merge;
}

Status Exporter::writeModel() {
  std::vector<int> parameters = numbers(/*adapter=*/false);
  std::optional<ModelWriter> writer;
  Status opened;
  if (isRoot()) {
    auto made = ModelWriter::create(output->path(), specsOf(parameters),
                                    options.maxFileBytes);
    opened = made.status();
    if (made)
      writer.emplace(*std::move(made));
  }
  RECIPERUN_TRY(communicator.agree(opened));
  for (int number : parameters) {
    auto merge = mergeOf(plan.parameters[size_t(number)]);
    Status written = merge.status();
    if (written.isOk())
      written = stream(number, [&](std::span<std::byte> piece) {
        if (*merge)
          (*merge)->addTo(piece);
        return append(*writer, number, piece);
      });
    RECIPERUN_TRY(communicator.agree(written));
  }
  return communicator.agree(writer ? writer->finish() : Status::ok());
}

/// Writes the adapter to the subfolder `below` of the output, or to the output
/// itself when `below` is empty.
Status Exporter::writeAdapter(const fs::path& below) {
  std::vector<int> parameters = numbers(/*adapter=*/true);
  if (parameters.empty())
    return Status::ok();
  std::optional<SafetensorsWriter> writer;
  fs::path folder = output ? output->path() / below : fs::path();
  auto open = [&]() -> Status {
    std::error_code code;
    if (!isAddress(folder))
      fs::create_directory(folder, code);
    if (code)
      return systemError("make", folder, code.value());
    RECIPERUN_TRY(writeTextFile(folder / "adapter_config.json",
                                plan.exchange.adapterConfig));
    auto made = SafetensorsWriter::create(folder / "adapter_model.safetensors",
                                          specsOf(parameters));
    RECIPERUN_TRY(made);
    writer.emplace(*std::move(made));
    return Status::ok();
  };
  RECIPERUN_TRY(communicator.agree(isRoot() ? open() : Status::ok()));
  for (int number : parameters)
    RECIPERUN_TRY(
        communicator.agree(stream(number, [&](std::span<std::byte> piece) {
          return writer->append(piece);
        })));
  auto finish = [&]() -> Status {
    RECIPERUN_TRY(writer->finish());
    return syncDirectory(folder);
  };
  return communicator.agree(isRoot() ? finish() : Status::ok());
}

Status Exporter::writeTexts() const {
  const fs::path& folder = output->path();
  if (!plan.exchange.generationConfig.empty())
    RECIPERUN_TRY(writeTextFile(folder / "generation_config.json",
                                plan.exchange.generationConfig));
  if (!plan.generation.empty())
    RECIPERUN_TRY(
        writeTextFile(folder / "generate.plan.json", plan.generation));
  RECIPERUN_TRY(writeTokenizerFiles(plan.data, folder));
  // The last file: without it a folder at an address is no model yet.
  return writeTextFile(folder / "config.json", plan.exchange.config);
}

Status Exporter::onRoot(Status (Exporter::*step)() const) {
  return communicator.agree(isRoot() ? (this->*step)() : Status::ok());
}

Status Exporter::open(const fs::path& directory) {
  Status opened;
  if (isRoot()) {
    auto made =
        ExportDirectory::create(directory, Contents::model, options.existing);
    opened = made.status();
    if (made)
      output.emplace(*std::move(made));
  }
  return communicator.agree(opened);
}

Status Exporter::close() {
  return communicator.agree(output ? output->commit() : Status::ok());
}

Status Exporter::run(const fs::path& directory) {
  RECIPERUN_TRY(open(directory));
  RECIPERUN_TRY(writeModel());
  RECIPERUN_TRY(writeAdapter("adapter"));
  RECIPERUN_TRY(onRoot(&Exporter::writeTexts));
  return close();
}

Status Exporter::runAdapter(const fs::path& directory) {
  if (numbers(/*adapter=*/true).empty())
    return Status::error("there is no adapter: the recipe trains the model's "
                         "own weights; leave `--to=adapter` out");
  RECIPERUN_TRY(open(directory));
  RECIPERUN_TRY(writeAdapter({}));
  return close();
}

} // namespace

Status exportHuggingFace(const plan::Plan& plan, const ParameterAccess& access,
                         comm::Communicator& communicator,
                         const fs::path& directory,
                         const ExportOptions& options) {
  return Exporter(plan, access, communicator, options)
      .run(directory)
      .withContext("export to `" + directory.string() + "`");
}

Status exportAdapter(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const fs::path& directory, const ExportOptions& options) {
  return Exporter(plan, access, communicator, options)
      .runAdapter(directory)
      .withContext("export to `" + directory.string() + "`");
}

} // namespace reciperun::checkpoint
