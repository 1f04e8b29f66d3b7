/* gRPC as a peer of tutti-bench channel: this process is the client, and its child the server. Calls of a generic
 * service: the message is a tensor as it is in memory, without protobuf and without a copy of our own; the answer has 8 bytes.
 * Both ends poll their completion queues on the calling thread, which is faster here than gRPC's callbacks.
 *
 *   channel_grpc [--probe] [tcp|unix]
 *   channel_grpc serve ADDRESS:PORT, channel_grpc TARGET     the two of them on two hosts; the server ends with its stdin
 *
 * Prints {"event": "ready", "about": ...}, the server also with its "port"; for each line "BYTES ROUNDS HOW" on stdin the
 * client makes so many calls, and prints {"event": "block", "step_ms": MILLISECONDS OF A CALL, "cpu_s": PROCESSOR SECONDS
 * OF BOTH IN A CALL}. Within a host the client makes the tensor anew before each call, which is not timed. HOW: hand (the
 * server has the message), read (it reads a word of each cache line), check (the answer is the sum of all bytes, which is compared). */
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr size_t kLine = 64;
constexpr int kFrame = (1 << 24) - 1; /* the largest that HTTP/2 has */
constexpr int kWindow = 1 << 30;      /* no flow control within a message */

uint64_t sum_bytes(const uint8_t *data, size_t bytes, size_t stride)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i += stride) sum += data[i];
    return sum;
}

/* What is under way has been done: its place in the queue is NULL, as only one thing at a time is. */
bool finish(grpc::CompletionQueue *queue)
{
    void *tag;
    bool ok;
    return queue->Next(&tag, &ok) && ok;
}

/* ---- the server ---- */

/* Microseconds of processors that this process has used. */
uint64_t used_cpu_us()
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1000000 * static_cast<uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<uint64_t>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

uint64_t answer(const grpc::ByteBuffer &message, const std::string &method)
{
    if (method == "/t/cpu") return used_cpu_us();
    const size_t stride = method == "/t/check" ? 1 : method == "/t/read" ? kLine : 0;
    std::vector<grpc::Slice> parts;
    uint64_t sum = 0;
    if (stride && message.Dump(&parts).ok())
        for (const grpc::Slice &part : parts) sum += sum_bytes(part.begin(), part.size(), stride);
    return sum;
}

bool serve_call(grpc::AsyncGenericService *service, grpc::ServerCompletionQueue *queue)
{
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream(&context);
    grpc::ByteBuffer message;
    service->RequestCall(&context, &stream, queue, queue, nullptr);
    if (!finish(queue)) return false;
    stream.Read(&message, nullptr);
    if (!finish(queue)) return false;
    const uint64_t sum = answer(message, context.method());
    const grpc::Slice word(&sum, sizeof sum);
    stream.WriteAndFinish(grpc::ByteBuffer(&word, 1), grpc::WriteOptions(), grpc::Status::OK, nullptr);
    return finish(queue);
}

/* Writes its port to `to`, or -1; without `to`, prints it. */
int serve(const std::string &address, int to, pid_t client)
{
    grpc::AsyncGenericService service;
    grpc::ServerBuilder builder;
    int port = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the client */
    if (getppid() != client) return 1;
    builder.SetMaxReceiveMessageSize(-1);
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrame);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindow);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&service);
    std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (!server) port = -1;
    if (to >= 0 && write(to, &port, sizeof port) != sizeof port) return 1;
    if (!server) return 1;
    if (to < 0) {
        std::printf("{\"event\": \"ready\", \"about\": \"gRPC %s\", \"port\": %d}\n", grpc::Version().c_str(), port);
        std::fflush(stdout);
        std::thread([] {
            char none;
            while (read(STDIN_FILENO, &none, 1) > 0) continue;
            _exit(0);
        }).detach();
    }
    while (serve_call(&service, queue.get())) continue;
    return 1;
}

/* ---- the client ---- */

struct Client {
    std::unique_ptr<grpc::GenericStub> stub;
    grpc::CompletionQueue queue;
    std::vector<uint8_t> tensor;
    bool is_near = false;

    bool call(const std::string &method, size_t bytes, uint64_t *answer)
    {
        grpc::Status status;
        grpc::ClientContext context;
        const grpc::Slice part(tensor.data(), bytes, grpc::Slice::STATIC_SLICE);
        grpc::Slice word;
        grpc::ByteBuffer reply;
        auto call = stub->PrepareUnaryCall(&context, method, grpc::ByteBuffer(&part, 1), &queue);
        call->StartCall();
        call->Finish(&reply, &status, nullptr);
        if (finish(&queue) && status.ok() && reply.DumpToSingleSlice(&word).ok() && word.size() == sizeof *answer) {
            std::memcpy(answer, word.begin(), sizeof *answer);
            return true;
        }
        std::fprintf(stderr, "channel_grpc: %s\n", status.error_message().c_str());
        return false;
    }

    bool run_block(size_t bytes, long rounds, const std::string &how)
    {
        uint64_t answer = 0, before_us = 0, after_us = 0;
        for (size_t i = tensor.size(); i < bytes; i++) tensor.push_back(static_cast<uint8_t>(i * 7 + i / 251));
        if (!call("/t/cpu", 1, &before_us)) return false;
        const uint64_t own_us = used_cpu_us();
        std::chrono::duration<double, std::milli> took(0);
        for (long i = 0; i < rounds; i++) {
            if (is_near && how != "check")
                for (size_t k = 0; k < bytes; k += kLine) tensor[k]++;
            const auto begun = std::chrono::steady_clock::now();
            if (!call("/t/" + how, bytes, &answer)) return false;
            took += std::chrono::steady_clock::now() - begun;
        }
        const uint64_t used_us = used_cpu_us() - own_us;
        if (!call("/t/cpu", 1, &after_us)) return false;
        if (how == "check" && answer != sum_bytes(tensor.data(), bytes, 1)) {
            std::fprintf(stderr, "channel_grpc: the server has received other bytes\n");
            return false;
        }
        std::printf("{\"event\": \"block\", \"step_ms\": %.9f, \"cpu_s\": %.9f}\n",
            std::max(took.count() / static_cast<double>(rounds), 1e-9),
            1e-6 * static_cast<double>(used_us + after_us - before_us) / static_cast<double>(rounds));
        std::fflush(stdout);
        return true;
    }
};

/* "BYTES ROUNDS HOW" */
bool answer_line(Client *client, const std::string &line)
{
    std::istringstream words(line);
    size_t bytes = 0;
    long rounds = 0;
    std::string how;
    if (words >> bytes >> rounds >> how && rounds > 0) return client->run_block(bytes, rounds, how);
    std::fprintf(stderr, "channel_grpc: \"%s\" is not BYTES ROUNDS HOW\n", line.c_str());
    return false;
}

/* Returns its port, or -1. */
int start_server(const std::string &address)
{
    const pid_t self = getpid();
    int ends[2], port = -1;
    if (pipe(ends)) return -1;
    const pid_t server = fork(); /* gRPC has no threads yet */
    if (server == 0) _exit(serve(address, ends[1], self));
    close(ends[1]);
    if (read(ends[0], &port, sizeof port) == sizeof port && port >= 0) return port;
    std::fprintf(stderr, "channel_grpc: the server does not start\n");
    return -1;
}

int run(const std::string &way, bool probe)
{
    const std::string path = "unix-abstract:channel_grpc." + std::to_string(getpid());
    const bool is_near = way == "tcp" || way == "unix";
    std::string address = way == "unix" ? path : way;
    if (is_near) {
        const int port = start_server(way == "unix" ? path : "127.0.0.1:0");
        if (port < 0) return 1;
        if (way == "tcp") address = "127.0.0.1:" + std::to_string(port);
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrame);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindow);
    arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 64 << 20);
    Client client;
    client.is_near = is_near;
    client.stub = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    if (probe) return client.run_block(1 << 20, 1, "check") ? 0 : 1;
    std::printf("{\"event\": \"ready\", \"about\": \"gRPC %s, %s\"}\n", grpc::Version().c_str(), way.c_str());
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);)
        if (!answer_line(&client, line)) return 1;
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::string way = "tcp";
    bool probe = false, serves = false;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--probe") == 0)
            probe = true;
        else if (std::strcmp(argv[i], "serve") == 0)
            serves = true;
        else
            way = argv[i];
    }
    const int status =
        serves ? serve(way, -1, getppid()) : run(way, probe);
    std::fflush(stdout);
    _exit(status); /* gRPC's threads end with the process */
}
