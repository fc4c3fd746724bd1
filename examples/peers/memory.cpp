// What bare reads of memory cost: the floor of a simulation whose state is in no near cache.
//
//   memory BYTES...
//
// For each size prints nanoseconds of processor time per read of a random line of 64 bytes: each read only when the one before has come, and
// sixteen at a time.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

struct alignas(64) Line {
    uint64_t next;
};

static double processor_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

int main(int argc, char **argv) {
    constexpr uint64_t reads = 1 << 22, together = 16;
    for (int at = 1; at < argc; ++at) {
        const uint64_t lines = std::strtoull(argv[at], nullptr, 10) / sizeof(Line);
        if (lines < together) {
            std::fprintf(stderr, "usage: memory BYTES..., at least 1024 each\n");
            return 2;
        }
        // One cycle through all lines in random order (Sattolo).
        std::vector<Line> memory(lines);
        std::vector<uint64_t> order(lines);
        std::iota(order.begin(), order.end(), 0);
        std::mt19937_64 chance(1);
        for (uint64_t last = lines - 1; last > 0; --last) std::swap(order[last], order[chance() % last]);
        for (uint64_t line = 0; line < lines; ++line) memory[order[line]].next = order[(line + 1) % lines];
        const auto per_read = [&](uint64_t chains) {
            std::vector<uint64_t> place(chains);
            for (uint64_t chain = 0; chain < chains; ++chain) place[chain] = order[chain * (lines / chains)];
            const double begun = processor_ns();
            for (uint64_t read = 0; read < reads; read += chains) {
                for (uint64_t &line : place) line = memory[line].next;
            }
            const double spent = processor_ns() - begun;
            // What was read must be of use, or it would not be read.
            if (std::accumulate(place.begin(), place.end(), uint64_t{0}) == UINT64_MAX) std::puts("");
            return spent / static_cast<double>(reads);
        };
        per_read(1);
        const double alone = per_read(1);
        std::printf("bytes=%" PRIu64 " alone_ns=%.2f together_ns=%.2f\n", lines * sizeof(Line), alone, per_read(together));
    }
    return 0;
}
