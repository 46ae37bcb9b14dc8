// See RunData.h.

#include "runtime/train/RunData.h"

#include "runtime/data/ControlTokens.h"
#include "runtime/plan/Mesh.h"
#include "runtime/train/Host.h"

#include <algorithm>
#include <utility>

namespace reciperun::train {
namespace {

/// The number of micro-batches in one run of a schedule.
int64_t microBatchesOf(const plan::Schedule& schedule) {
  int64_t count = 0;
  for (const plan::ScheduleStep& step : schedule.steps)
    if (step.kind == plan::ScheduleStep::Kind::load)
      count = std::max(count, int64_t(step.microBatch) + 1);
  return count;
}

/// Notes about control tokens of the chat template that the tokenizer lacks.
std::vector<std::string>
chatNotes(const plan::Plan& plan,
          const std::optional<data::Tokenizer>& tokenizer) {
  std::vector<std::string> notes;
  if (!tokenizer || !plan::readsMessages(plan.data))
    return notes;
  const plan::ChatTemplate& chat = plan.data.chat;
  for (const std::string& token :
       data::missingTokens(chat.before + chat.after, *tokenizer))
    notes.push_back("`data.chat` writes `" + token +
                    "`, which is no token of the tokenizer: the model learns "
                    "its letters");
  return notes;
}

} // namespace

Status RunData::open() {
  RECIPERUN_TRY(openTokenizer());
  Expected<data::Loader> loader = openLoader(data::DataSet::train, "train");
  RECIPERUN_TRY(loader);
  train = std::move(*loader);
  if (!plan.data.valid)
    return Status::ok();
  loader = openLoader(data::DataSet::valid, "evaluate");
  RECIPERUN_TRY(loader);
  valid = std::move(*loader);
  return Status::ok();
}

Status RunData::openValidation() {
  if (!plan.data.valid)
    return Status::error("the plan has no validation data: give the recipe "
                         "`data.valid`");
  RECIPERUN_TRY(openTokenizer());
  Expected<data::Loader> loader = openLoader(data::DataSet::valid, "evaluate");
  RECIPERUN_TRY(loader);
  valid = std::move(*loader);
  return Status::ok();
}

Status RunData::compare(comm::Communicator& communicator) const {
  for (const auto* loader : {&train, &valid}) {
    if (!*loader)
      continue;
    for (const int64_t mine : {(*loader)->steps(), (*loader)->rowsOfEpoch(0)}) {
      Expected<int64_t> most = communicator.maximum(mine);
      RECIPERUN_TRY(most);
      Expected<int64_t> negated = communicator.maximum(-mine);
      RECIPERUN_TRY(negated);
      if (*most != -*negated)
        return Status::error(std::string("the files of `") +
                             (loader == &train ? "data.train" : "data.valid") +
                             "` differ between hosts: ranks find " +
                             std::to_string(-*negated) + " to " +
                             std::to_string(*most) +
                             " rows or steps in them; copy the same files to "
                             "all hosts");
    }
  }
  return Status::ok();
}

Status RunData::openTokenizer() {
  if (plan.data.tokenizer.empty() || !plan::readsText(plan.data))
    return Status::ok();
  Expected<data::Tokenizer> read = data::Tokenizer::read(plan.data.tokenizer);
  RECIPERUN_TRY(read.status().withContext("`tokenizer`"));
  tokenizer = std::move(*read);
  return Status::ok();
}

void RunData::closeTokenizer() {
  peak = peakBytes();
  notes = chatNotes(plan, tokenizer);
  tokenizer.reset();
  releaseFreeMemory();
}

int64_t RunData::bytes() const {
  return (train ? train->bytes() : 0) + (valid ? valid->bytes() : 0);
}

/// Opens this rank's shard of a data set, split into the micro-batches of a
/// schedule.
Expected<data::Loader> RunData::openLoader(data::DataSet set,
                                           const char* schedule) {
  auto found = std::find_if(
      stage.schedules.begin(), stage.schedules.end(),
      [&](const plan::Schedule& each) { return each.name == schedule; });
  if (found == stage.schedules.end())
    return Status::error("the plan has no schedule `" + std::string(schedule) +
                         "`; compile the recipe again");
  data::BatchShard shard{
      plan::coordinate(plan.mesh, rank, "dp"), plan::axisSize(plan.mesh, "dp"),
      microBatchesOf(*found), plan::coordinate(plan.mesh, rank, "cp"),
      plan::axisSize(plan.mesh, "cp")};
  return data::Loader::open(plan.data, plan.train, set, shard,
                            tokenizer ? &*tokenizer : nullptr);
}

} // namespace reciperun::train
