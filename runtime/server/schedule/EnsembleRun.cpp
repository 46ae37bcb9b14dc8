// See EnsembleRun.h.

#include "runtime/server/schedule/EnsembleRun.h"

#include "runtime/server/schedule/BatchAnswers.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

/// A tensor as an input with or without a batch dimension.
Tensor fitRank(Tensor tensor, size_t rank, bool batches) {
  if (batches && tensor.shape.size() + 1 == rank)
    tensor.shape.insert(tensor.shape.begin(), 1);
  else if (!batches && tensor.shape.size() == rank + 1 && tensor.shape[0] == 1)
    tensor.shape.erase(tensor.shape.begin());
  return tensor;
}

} // namespace

EnsembleRun::EnsembleRun(std::shared_ptr<const EnsembleGraph> graph,
                         EnsembleScheduler::Infer infer,
                         std::shared_ptr<Inference> inference)
    : graph(std::move(graph)), infer(std::move(infer)),
      inference(std::move(inference)) {}

void EnsembleRun::start() {
  auto first = std::make_unique<Flow>();
  for (const Tensor& tensor : inference->request.inputs)
    first->tensors.emplace(tensor.name, tensor);
  open.push_back(std::move(first));
  inference->whenCancelled([weak = weak_from_this()] {
    if (const auto run = weak.lock())
      run->fail(
          Status::error("Request has been cancelled", StatusCode::cancelled));
  });
  startSteps();
  settle();
}

// ---- steps

const Tensor* EnsembleRun::find(const Flow& flow,
                                const std::string& tensor) const {
  for (const Flow* each = &flow; each; each = each->parent)
    if (const auto found = each->tensors.find(tensor);
        found != each->tensors.end())
      return &found->second;
  return nullptr;
}

bool EnsembleRun::isReady(const Flow& flow, const EnsembleStep& step) const {
  return std::ranges::all_of(step.inputs, [&](const auto& input) {
    return !step.required.contains(input.first) || find(flow, input.second);
  });
}

/// Starts the steps whose inputs exist, in all flows. A step may respond at
/// once, which can make others ready.
void EnsembleRun::startSteps() {
  hasNews = true;
  if (std::exchange(isStarting, true))
    return;
  while (std::exchange(hasNews, false))
    for (size_t i = 0; i < open.size(); ++i)
      startSteps(*open[i]);
  isStarting = false;
}

void EnsembleRun::startSteps(Flow& flow) {
  for (size_t step = 0; step < graph->steps.size() && !hasEnded; ++step)
    if (graph->steps[step].source == flow.source &&
        !flow.started.contains(step) && isReady(flow, graph->steps[step]))
      startStep(flow, step);
}

void EnsembleRun::startStep(Flow& flow, size_t step) {
  flow.started.insert(step);
  ++flow.runningSteps;
  std::erase_if(requests, [](const auto& each) { return each->hasEnded(); });
  auto started =
      infer(requestOf(flow, graph->steps[step]),
            [run = shared_from_this(), &flow, step](InferResponse response) {
              if (!run->hasEnded)
                run->take(flow, step, std::move(response));
            });
  if (started && !hasEnded)
    requests.push_back(std::move(started));
}

InferRequest EnsembleRun::requestOf(const Flow& flow,
                                    const EnsembleStep& step) const {
  const InferRequest& asked = inference->request;
  InferRequest made{.model = step.model,
                    .version = step.version,
                    .id = asked.id,
                    .sequence = asked.sequence,
                    .isSequenceStart = asked.isSequenceStart,
                    .isSequenceEnd = asked.isSequenceEnd,
                    .priority = asked.priority,
                    .timeoutMicroseconds = asked.timeoutMicroseconds,
                    .parameters = asked.parameters,
                    .inputs = {},
                    .outputs = {}};
  for (const auto& [input, name] : step.inputs)
    if (const Tensor* const tensor = find(flow, name)) {
      const auto rank = step.ranks.find(input);
      made.inputs.push_back(rank == step.ranks.end()
                                ? *tensor
                                : fitRank(*tensor, rank->second, step.batches));
      made.inputs.back().name = input;
    }
  for (const auto& [output, tensor] : step.outputs)
    if (isWanted(tensor))
      made.outputs.push_back({.name = output});
  return made;
}

/// Whether a step or the client needs a tensor.
bool EnsembleRun::isWanted(const std::string& tensor) const {
  const auto& asked = inference->request.outputs;
  const bool isAsked =
      asked.empty()
          ? std::ranges::find(graph->outputs, tensor) != graph->outputs.end()
          : std::ranges::find(asked, tensor, &RequestedOutput::name) !=
                asked.end();
  return isAsked ||
         std::ranges::any_of(graph->steps, [&](const EnsembleStep& step) {
           return std::ranges::any_of(step.inputs, [&](const auto& input) {
             return input.second == tensor;
           });
         });
}

/// Takes a response of a step.
void EnsembleRun::take(Flow& flow, size_t step, InferResponse response) {
  if (!response.status.isOk())
    return fail(Status::error("in ensemble '" + graph->name + "', " +
                                  response.status.message(),
                              response.status.code()));
  const bool isLast = response.isLast;
  if (graph->steps[step].isDecoupled) {
    if (!response.isEmpty)
      addFlow(flow, step, std::move(response));
  } else {
    flow.tokens += response.tokens;
    for (Tensor& output : response.outputs)
      if (const auto name = graph->steps[step].outputs.find(output.name);
          name != graph->steps[step].outputs.end())
        flow.tensors.insert_or_assign(name->second, std::move(output));
  }
  if (isLast)
    --flow.runningSteps;
  startSteps();
  settle();
}

// ---- flows

void EnsembleRun::addFlow(Flow& parent, size_t step, InferResponse response) {
  auto flow = std::make_unique<Flow>();
  flow->source = int64_t(step);
  flow->parent = &parent;
  flow->place = parent.parent ? parent.place : places++;
  // A flow with child flows gives no response, so the first child reports the
  // tokens.
  flow->tokens = std::exchange(parent.tokens, {});
  flow->tokens += response.tokens;
  for (Tensor& output : response.outputs)
    if (const auto name = graph->steps[step].outputs.find(output.name);
        name != graph->steps[step].outputs.end())
      flow->tensors.emplace(name->second, std::move(output));
  ++parent.openFlows;
  parent.hadFlows = true;
  const bool waits =
      graph->mostInflight > 0 && open.size() > graph->mostInflight;
  if (waits)
    waiting.push_back(std::move(flow));
  else
    open.push_back(std::move(flow));
}

/// Whether a step of a flow may still become ready.
bool EnsembleRun::awaitsTensors(const Flow& flow) const {
  bool isComing = false;
  for (const Flow* each = flow.parent; each; each = each->parent)
    isComing = isComing || each->runningSteps > 0;
  if (!isComing)
    return false;
  for (size_t step = 0; step < graph->steps.size(); ++step)
    if (graph->steps[step].source == flow.source &&
        !flow.started.contains(step))
      return true;
  return false;
}

/// Ends the flows that are complete, and starts waiting flows.
void EnsembleRun::settle() {
  if (isStarting || std::exchange(isSettling, true))
    return;
  for (bool isDone = false; !isDone && !hasEnded;) {
    const auto idle = std::ranges::find_if(open, [this](const auto& flow) {
      return flow->runningSteps == 0 && flow->openFlows == 0 &&
             !awaitsTensors(*flow);
    });
    isDone = idle == open.end();
    if (isDone)
      break;
    const std::unique_ptr<Flow> ended = std::move(*idle);
    open.erase(idle);
    endFlow(*ended);
    if (!waiting.empty() && !hasEnded) {
      open.push_back(std::move(waiting.front()));
      waiting.pop_front();
      startSteps();
    }
  }
  isSettling = false;
}

void EnsembleRun::endFlow(const Flow& flow) {
  const bool isRoot = !flow.parent;
  if (!flow.hadFlows && (!isRoot || !graph->isDecoupled))
    ready[flow.place].push_back(responseOf(flow));
  if (!isRoot)
    --flow.parent->openFlows;
  if (isRoot || !flow.parent->parent)
    endedPlaces.insert(flow.place);
  sendReady();
  if (!isRoot || hasEnded)
    return;
  hasEnded = true;
  if (graph->isDecoupled)
    inference->respond({.isLast = true, .isEmpty = true});
}

InferResponse EnsembleRun::responseOf(const Flow& flow) const {
  InferResponse made;
  const auto& asked = inference->request.outputs;
  for (const std::string& output : graph->outputs) {
    const bool isAsked =
        std::ranges::find(asked, output, &RequestedOutput::name) != asked.end();
    const Tensor* const tensor = find(flow, output);
    if (tensor && (asked.empty() || isAsked)) {
      made.outputs.push_back(*tensor);
      made.outputs.back().name = output;
    } else if (!tensor && isAsked) {
      made.status = Status::error("output '" + output + "' is not set");
    }
  }
  if (made.outputs.empty() || !made.status.isOk())
    made.status = Status::error(
        "in ensemble '" + graph->name +
        "', unexpected deadlock, at least one output is not set while no more "
        "ensemble steps can be made");
  made.tokens = flow.tokens;
  made.isLast = !graph->isDecoupled;
  return made;
}

/// Sends the responses of the next place, and of further places once those
/// before them have ended.
void EnsembleRun::sendReady() {
  while (!hasEnded) {
    for (InferResponse& each : std::exchange(ready[nextPlace], {})) {
      if (!each.status.isOk())
        return fail(each.status);
      inference->respond(std::move(each));
    }
    ready.erase(nextPlace);
    if (!endedPlaces.contains(nextPlace))
      return;
    endedPlaces.erase(nextPlace++);
  }
}

void EnsembleRun::fail(const Status& failure) {
  if (std::exchange(hasEnded, true))
    return;
  for (const auto& each : std::exchange(requests, {}))
    each->cancel();
  inference->fail(failure);
}

} // namespace reciperun::server
