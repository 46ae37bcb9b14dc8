"""Calls a gRPC server with Debian's grpcio, by stubs of grpc_python_plugin.

    grpc_client.py STUBS HOST:PORT

STUBS is the folder of the generated modules. The server has the model `simple`,
and may have the decoupled model `repeat`, which sends each element of IN.
"""

import struct
import sys
import threading

sys.path.insert(0, sys.argv[1])
import grpc  # noqa: E402
import grpc_service_pb2 as messages  # noqa: E402
import grpc_service_pb2_grpc as services  # noqa: E402
import health_pb2  # noqa: E402
import health_pb2_grpc  # noqa: E402

TIMEOUT = 30
channel = grpc.insecure_channel(sys.argv[2])
stub = services.GRPCInferenceServiceStub(channel)


def sum_request(name="simple", id="", size=16):
    request = messages.ModelInferRequest(model_name=name, id=id)
    for input in ("INPUT0", "INPUT1"):
        request.inputs.add(name=input, datatype="INT32", shape=[1, size])
        request.raw_input_contents.append(struct.pack(f"<{size}i",
                                                      *range(size)))
    return request


def repeat_request(values, id, **parameters):
    request = messages.ModelInferRequest(model_name="repeat", id=id)
    request.inputs.add(name="IN", datatype="INT32", shape=[len(values)])
    request.inputs[0].contents.int_contents.extend(values)
    for name, value in parameters.items():
        request.parameters[name].bool_param = value
    return request


def integers(raw):
    return list(struct.unpack(f"<{len(raw) // 4}i", raw))


def expect_failure(code, text, call, *arguments):
    try:
        call(*arguments, timeout=TIMEOUT)
    except grpc.RpcError as error:
        assert error.code() == code, error
        assert text in error.details(), error.details()
        return
    raise AssertionError(f"no failure with {text}")


def check_server():
    assert stub.ServerLive(messages.ServerLiveRequest(), timeout=TIMEOUT).live
    assert stub.ServerReady(messages.ServerReadyRequest(), timeout=TIMEOUT).ready
    health = health_pb2_grpc.HealthStub(channel)
    checked = health.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT)
    assert checked.status == health_pb2.HealthCheckResponse.SERVING
    server = stub.ServerMetadata(messages.ServerMetadataRequest(),
                                 timeout=TIMEOUT)
    assert "binary_tensor_data" in server.extensions, server


def check_model():
    ready = messages.ModelReadyRequest(name="simple")
    assert stub.ModelReady(ready, timeout=TIMEOUT).ready
    metadata = stub.ModelMetadata(messages.ModelMetadataRequest(name="simple"),
                                  timeout=TIMEOUT)
    assert [each.name for each in metadata.inputs] == ["INPUT0", "INPUT1"]
    assert list(metadata.inputs[0].shape) == [-1, 16]
    config = stub.ModelConfig(messages.ModelConfigRequest(name="simple"),
                              timeout=TIMEOUT).config
    assert config.max_batch_size == 8, config
    statistics = stub.ModelStatistics(
        messages.ModelStatisticsRequest(name="simple"), timeout=TIMEOUT)
    assert statistics.model_stats[0].name == "simple", statistics
    index = stub.RepositoryIndex(messages.RepositoryIndexRequest(ready=True),
                                 timeout=TIMEOUT)
    assert "simple" in [each.name for each in index.models], index


def check_infer():
    answer = stub.ModelInfer(sum_request(id="seven"), timeout=TIMEOUT)
    assert answer.id == "seven", answer
    sums, differences = map(integers, answer.raw_output_contents)
    assert sums == [2 * i for i in range(16)], sums
    assert differences == [0] * 16, differences
    expect_failure(grpc.StatusCode.NOT_FOUND,
                   "Request for unknown model: 'none' is not found",
                   stub.ModelInfer, sum_request("none"))
    expect_failure(grpc.StatusCode.INVALID_ARGUMENT,
                   "unexpected shape for input 'INPUT0' for model 'simple'",
                   stub.ModelInfer, sum_request(size=15))
    mixed = sum_request()
    mixed.inputs[0].contents.int_contents.append(1)
    expect_failure(grpc.StatusCode.INVALID_ARGUMENT,
                   "contents field must not be specified when using "
                   "raw_input_contents", stub.ModelInfer, mixed)


def check_stream():
    requests = [sum_request(id="a"), sum_request("none", id="b"),
                sum_request(id="c")]
    answers = list(stub.ModelStreamInfer(iter(requests), timeout=TIMEOUT))
    assert [each.infer_response.id for each in answers] == ["a", "b", "c"]
    assert "unknown model" in answers[1].error_message, answers[1]
    assert len(answers[2].infer_response.raw_output_contents) == 2


def check_decoupled():
    request = repeat_request([3, 4, 5], "r",
                             triton_enable_empty_final_response=True)
    answers = [each.infer_response for each in stub.ModelStreamInfer(
        iter([request]), timeout=TIMEOUT)]
    last = [each.parameters["triton_final_response"].bool_param
            for each in answers]
    assert last == [False, False, False, True], last
    assert [integers(each.raw_output_contents[0])
            for each in answers[:3]] == [[3], [4], [5]], answers
    expect_failure(grpc.StatusCode.UNIMPLEMENTED,
                   "ModelInfer RPC doesn't support models with decoupled "
                   "transaction policy", stub.ModelInfer,
                   repeat_request([1], "r"))


def check_clients():
    """Several threads share a channel."""
    failures = []

    def call():
        try:
            for _ in range(50):
                check_infer()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


check_server()
check_model()
check_infer()
check_stream()
try:
    stub.ModelReady(messages.ModelReadyRequest(name="repeat"), timeout=TIMEOUT)
    has_repeat = True
except grpc.RpcError:
    has_repeat = False
if has_repeat:
    check_decoupled()
check_clients()
print("all calls as expected" + ("" if has_repeat else ", without `repeat`"))
