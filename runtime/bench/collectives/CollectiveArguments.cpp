// See CollectiveArguments.h.

#include "runtime/bench/collectives/CollectiveArguments.h"

#include "runtime/bench/collectives/ByteSize.h"
#include "runtime/cli/Options.h"
#include "runtime/cli/Spelling.h"

#include <algorithm>
#include <utility>

namespace reciperun::bench {
namespace {

using cli::Check;
using cli::Given;
using cli::Option;
using cli::UsageError;
using comm::Reduction;

constexpr const char* ofSizes = "sizes";
constexpr const char* ofMeasurement = "measurement";
constexpr const char* ofResults = "results";

const std::string everything = "all";

const std::vector<std::pair<std::string, Reduction>>& reductionNames() {
  static const std::vector<std::pair<std::string, Reduction>> names = {
      {"sum", Reduction::sum},
      {"prod", Reduction::product},
      {"min", Reduction::min},
      {"max", Reduction::max}};
  return names;
}

Option in(const char* group, const char* shortName, Option option) {
  option.group = group;
  option.shortName = shortName;
  return option;
}

Option byteSize(std::string name, std::string help, int64_t& target) {
  auto store = [name, &target](const Given& given) -> Check {
    if (const auto bytes = parseByteSize(given.value)) {
      target = *bytes;
      return std::nullopt;
    }
    return UsageError{"`" + name + "` takes a size, not `" + given.value + "`",
                      "write bytes, or K, M and G for 1024, 1024^2 and 1024^3 "
                      "of them: `" +
                          name + " 64M`"};
  };
  return {.name = std::move(name),
          .valueName = "SIZE",
          .help = std::move(help),
          .store = std::move(store)};
}

/// The remedy for an operator that communicators lack.
std::string adviceOnOperator(const std::string& word) {
  if (word == "avg" || word == "mulsum")
    return "the communicators of training have no `" + word +
           "`; measure `sum`, which moves as many bytes";
  return {};
}

Option operatorOption(CollectiveArguments& arguments) {
  std::vector<cli::Choice> choices;
  for (const auto& [name, reduction] : reductionNames())
    choices.push_back({name, ""});
  choices.push_back({everything, "one after the other"});
  auto store = [choices, &arguments](const Given& given) -> Check {
    if (Check error = cli::checkChoice("--op", choices, given.value)) {
      if (std::string advice = adviceOnOperator(given.value); !advice.empty())
        error->help = std::move(advice);
      return error;
    }
    arguments.reductions.clear();
    for (const auto& [name, reduction] : reductionNames())
      if (given.value == name || given.value == everything)
        arguments.reductions.push_back(reduction);
    return std::nullopt;
  };
  return {.name = "--op",
          .valueName = "OP",
          .help = "operator of a reduction: sum (the default), prod, min, max "
                  "or all of them",
          .store = std::move(store)};
}

Option typeOption(CollectiveArguments& arguments) {
  const bool reduces = benchlog::isReducing(arguments.test);
  std::vector<cli::Choice> choices;
  std::string names;
  for (const ElementType& each : elementTypes())
    if (each.isReduced || !reduces) {
      choices.push_back({std::string(each.name), ""});
      names += std::string(each.name) + ", ";
    }
  choices.push_back({everything, ""});
  auto store = [choices, reduces, &arguments](const Given& given) -> Check {
    const ElementType* type = findElementType(given.value);
    if (type && reduces && !type->isReduced)
      return UsageError{
          "`" + given.value +
              "` is not reduced by the communicators of training",
          "measure a type of the same size that is: " +
              std::string(type->bytes() == 2 ? "`bfloat16`"
                                             : "`int32`, `int64`") +
              "; a collective that only moves elements takes all types"};
    if (Check error = cli::checkChoice("--datatype", choices, given.value))
      return error;
    arguments.types.clear();
    for (const ElementType& each : elementTypes())
      if (&each == type ||
          (given.value == everything && (each.isReduced || !reduces)))
        arguments.types.push_back(&each);
    return std::nullopt;
  };
  return {.name = "--datatype",
          .valueName = "TYPE",
          .help = "type of the elements: " + names +
                  "or all of them; by "
                  "default float",
          .store = std::move(store)};
}

Option rootOption(CollectiveArguments& arguments) {
  auto store = [&arguments](const Given& given) -> Check {
    const auto rank = cli::parseNumber<int>(given.value);
    if (given.value == everything)
      arguments.root = CollectiveArguments::allRoots;
    else if (rank && *rank >= 0)
      arguments.root = *rank;
    else
      return UsageError{"`--root` takes a rank or `all`, not `" + given.value +
                        "`"};
    return std::nullopt;
  };
  return {.name = "--root",
          .valueName = "RANK",
          .help = "root of a collective that has one; `all`: one after the "
                  "other; by default 0",
          .store = std::move(store)};
}

std::vector<Option> sizeOptions(CollectiveArguments& arguments) {
  CollectiveBenchOptions& bench = arguments.bench;
  return {in(ofSizes, "-b",
             byteSize("--minbytes", "smallest size; by default 32M",
                      bench.minBytes)),
          in(ofSizes, "-e",
             byteSize("--maxbytes", "largest size; by default 32M",
                      bench.maxBytes)),
          in(ofSizes, "-i",
             byteSize("--stepbytes", "from a size to the next; by default 1M",
                      bench.stepBytes)),
          in(ofSizes, "-f",
             cli::number("--stepfactor", "N",
                         "instead multiply each size by N to get the next", 1,
                         bench.stepFactor)),
          in(ofSizes, "-o", operatorOption(arguments)),
          in(ofSizes, "-d", typeOption(arguments)),
          in(ofSizes, "-r", rootOption(arguments))};
}

std::vector<Option> measurementOptions(CollectiveArguments& arguments) {
  using Average = CollectiveBenchOptions::Average;
  CollectiveBenchOptions& bench = arguments.bench;
  return {
      in(ofMeasurement, "-n",
         cli::number("--iters", "N", "measured iterations; by default 20", 1,
                     bench.iterations)),
      in(ofMeasurement, "-w",
         cli::number("--warmup_iters", "N",
                     "calls at the largest and the smallest size before the "
                     "measurement; by default 1",
                     0, bench.warmups)),
      in(ofMeasurement, "-m",
         cli::number("--agg_iters", "N",
                     "calls of an iteration, one behind the other; by default "
                     "1",
                     1, bench.aggregated)),
      in(ofMeasurement, "-N",
         cli::number("--run_cycles", "N",
                     "how often to measure all sizes; by default 1", 1,
                     arguments.cycles)),
      in(ofMeasurement, "-c",
         cli::number("--check", "N",
                     "calls of each measurement whose results are compared "
                     "with the right ones; by default 1",
                     0, bench.checks)),
      in(ofMeasurement, "-z",
         cli::choice<int>("--blocking", "MODE",
                          "when to wait for the device; by default 0",
                          {{"0", 0, "after all iterations"},
                           {"1", 1, "after each call, and for the other ranks"},
                           {"2", 2, "after each call"}},
                          bench.blocking)),
      in(ofMeasurement, "-G",
         cli::number("--cudagraph", "N",
                     "record all iterations as a CUDA graph and launch it N "
                     "times; by default 0, without a graph",
                     0, bench.graph)),
      in(ofMeasurement, "-a",
         cli::choice<Average>("--average", "MODE",
                              "the time of a row; by default 1",
                              {{"0", Average::rank0, "rank 0's"},
                               {"1", Average::mean, "the ranks' mean"},
                               {"2", Average::least, "the fastest rank's"},
                               {"3", Average::most, "the slowest rank's"}},
                              bench.average)),
      in(ofMeasurement, "-C",
         cli::flag("--report_cputime",
                   "measure the calls on the host, without the wait",
                   bench.measuresHost)),
      in(ofMeasurement, "-T",
         cli::number("--timeout", "S",
                     "seconds after which a wait for another rank ends the run",
                     0, arguments.timeout)),
      in(ofMeasurement, "-t",
         cli::number("--nthreads", "N", "always 1: mpirun starts the ranks", 1,
                     arguments.threads)),
      in(ofMeasurement, "-g",
         cli::number("--ngpus", "N", "always 1: a rank has one GPU", 1,
                     arguments.gpus)),
      in(ofMeasurement, "",
         cli::choice<std::string>(
             "--device", "KIND",
             "where the buffers are; by default on GPUs where reciperun was "
             "built with CUDA",
             {{"cuda", "cuda", "on one GPU of each rank, moved by NCCL"},
              {"cpu", "cpu", "in host memory, moved by MPI"}},
             arguments.device))};
}

std::vector<Option> resultOptions(CollectiveArguments& arguments) {
  return {
      in(ofResults, "-S",
         cli::flag("--report_timestamps", "append the time of day to each row",
                   arguments.bench.hasTimestamps)),
      in(ofResults, "-J",
         cli::text("--output_file", "FILE",
                   "also write the results as JSON; of variables of the "
                   "environment it has those of MPI, NCCL and CUDA",
                   arguments.outputPath)),
      in(ofResults, "",
         cli::text("--compare", "FILE",
                   "compare the bus bandwidths with those of an earlier run: "
                   "JSON or a table, also of nccl-tests; exit with 1 where one "
                   "is lower than allowed",
                   arguments.comparedPath)),
      in(ofResults, "",
         cli::number("--tolerance", "PERCENT",
                     "how much lower `--compare` allows; by default 10", 0,
                     arguments.tolerance))};
}

/// The roots to measure on `ranks` ranks.
std::vector<int> rootsOf(const CollectiveArguments& arguments, int ranks) {
  if (!benchlog::hasRoot(arguments.test))
    return {-1};
  if (arguments.root != CollectiveArguments::allRoots)
    return {arguments.root};
  std::vector<int> roots;
  for (int rank = 0; rank < ranks; ++rank)
    roots.push_back(rank);
  return roots;
}

} // namespace

std::vector<CollectiveKind> CollectiveArguments::kinds(int ranks) const {
  const std::vector<Reduction> operators =
      benchlog::isReducing(test) ? reductions
                                 : std::vector<Reduction>{Reduction::sum};
  std::vector<CollectiveKind> all;
  for (const ElementType* type : types)
    for (Reduction reduction : operators)
      for (int each : rootsOf(*this, ranks))
        all.push_back({test, type, reduction, each});
  return all;
}

std::vector<cli::Option> collectiveOptions(CollectiveArguments& arguments) {
  std::vector<Option> all;
  for (auto part : {sizeOptions(arguments), measurementOptions(arguments),
                    resultOptions(arguments)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

cli::Check checkCollectiveArguments(const CollectiveArguments& arguments) {
  const CollectiveBenchOptions& bench = arguments.bench;
  if (arguments.threads != 1 || arguments.gpus != 1) {
    const std::string count =
        std::to_string(std::max(arguments.threads, 1) * arguments.gpus);
    return UsageError{"a rank has one thread and one GPU: `--nthreads` and "
                      "`--ngpus` are 1",
                      "start " + count +
                          " ranks a process of nccl-tests: "
                          "`mpirun -np " +
                          count + " reciperun bench " +
                          std::string(benchlog::nameOf(arguments.test)) + "`"};
  }
  if (bench.minBytes > bench.maxBytes)
    return UsageError{
        "`--minbytes` = " + std::to_string(bench.minBytes) +
            " is above `--maxbytes` = " + std::to_string(bench.maxBytes),
        "give both: `-b 8 -e 128M`"};
  if (bench.stepFactor == 1 && bench.stepBytes == 0 &&
      bench.minBytes < bench.maxBytes)
    return UsageError{"`--stepbytes` is 0, so no size follows the first",
                      "give a step, or a factor: `-f 2`"};
  if (bench.stepFactor > 1 && bench.minBytes == 0)
    return UsageError{"`--minbytes` is 0, which `--stepfactor` cannot multiply",
                      "start at `-b 8`"};
  return std::nullopt;
}

} // namespace reciperun::bench
