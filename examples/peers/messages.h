// What both programs here share: the messages that `meshrti sim via-torus --messages FILE` writes, the torus, and what is printed.

#pragma once

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Message {
    uint64_t number;
    uint32_t source, destination;
    uint64_t bytes, born_ps;

    double born_s() const { return static_cast<double>(born_ps) * 1e-12; }
};

[[noreturn]] inline void fail(const char *file, const char *why) {
    std::fprintf(stderr, "%s: %s\n", file, why);
    std::exit(1);
}

struct Messages {
    static constexpr uint32_t nobody = UINT32_MAX;
    /// By birth.
    std::vector<Message> all;

    static Messages read(const char *file) {
        std::FILE *in = std::fopen(file, "r");
        if (in == nullptr) fail(file, "cannot be opened");
        char header[128];
        if (std::fgets(header, sizeof header, in) == nullptr) fail(file, "is empty");
        Messages messages;
        Message one{};
        uint64_t latency;
        int fields;
        while ((fields = std::fscanf(in, "%" SCNu64 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64, &one.number, &one.source,
                                     &one.destination, &one.bytes, &one.born_ps, &latency)) == 6) {
            // They are written as they end.
            if (messages.all.size() <= one.number) messages.all.resize(one.number + 1);
            messages.all[one.number] = one;
        }
        std::fclose(in);
        if (fields != EOF) fail(file, "has a line that is not number,source,destination,bytes,born_ps,latency_ps");
        if (messages.all.empty()) fail(file, "has no messages");
        return messages;
    }

    /// Where each host sends, always the same way; `nobody` when it does not send.
    std::vector<uint32_t> destinations(uint32_t hosts) const {
        std::vector<uint32_t> to(hosts, nobody);
        for (const Message &one : all) {
            if (one.source >= hosts || one.destination >= hosts) fail("messages", "a host is not one of the 1024");
            if (to[one.source] != nobody && to[one.source] != one.destination) fail("messages", "a host sends to several: use --direction slot");
            to[one.source] = one.destination;
        }
        return to;
    }

    /// By source: the places in `all`, by birth.
    std::vector<std::vector<uint32_t>> by_source(uint32_t hosts) const {
        std::vector<std::vector<uint32_t>> of(hosts);
        for (uint32_t place = 0; place < all.size(); ++place) of[all[place].source].push_back(place);
        return of;
    }
};

/// Host k of switch s is 4 s + k and sends four switches ahead in direction k: x + 1, x - 1, y + 1, y - 1.
struct Torus {
    static constexpr uint32_t side = 16, hosts_per_switch = 4, hops = 4;

    uint32_t switches() const { return side * side; }
    uint32_t hosts() const { return switches() * hosts_per_switch; }

    uint32_t neighbour(uint32_t at, uint32_t direction) const {
        const uint32_t x = at % side, y = at / side, step = direction % 2 == 0 ? 1 : side - 1;
        return direction < 2 ? y * side + (x + step) % side : (y + step) % side * side + x;
    }

    /// Links between switches that a message of a host crosses: number 4 s + d leaves switch s in direction d.
    std::vector<uint32_t> cables(uint32_t host) const {
        std::vector<uint32_t> path;
        uint32_t at = host / hosts_per_switch;
        const uint32_t direction = host % hosts_per_switch;
        for (uint32_t hop = 0; hop < hops; ++hop, at = neighbour(at, direction)) path.push_back(4 * at + direction);
        return path;
    }
};

/// One line: name, messages, mean and standard deviation in us, processor time in s.
inline void report(const char *name, const std::vector<double> &latencies, double processor_s) {
    long double sum = 0, squares = 0;
    for (double latency : latencies) sum += latency;
    const long double mean = sum / latencies.size();
    for (double latency : latencies) squares += (latency - mean) * (latency - mean);
    std::printf("%s messages=%zu mean_us=%.6Lf std_us=%.6Lf cpu_s=%.4f\n", name, latencies.size(), mean * 1e6L,
                sqrtl(squares / (latencies.size() - 1)) * 1e6L, processor_s);
}

inline void write(const char *file, const Messages &messages, const std::vector<double> &latencies) {
    std::FILE *out = std::fopen(file, "w");
    if (out == nullptr) fail(file, "cannot be written");
    for (size_t place = 0; place < latencies.size(); ++place) std::fprintf(out, "%" PRIu64 ",%.17g\n", messages.all[place].number, latencies[place]);
    if (std::fclose(out) != 0) fail(file, "cannot be written");
}
