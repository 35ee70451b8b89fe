// Loops by OpenMP (-DOPENMP) or oneTBB, each built into a library of its own with the same five functions.
// The body is Rust and runs a whole range, so that rustc inlines its loop. Grain is the smallest range worth a call.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

using Body = std::uint64_t (*)(const void *context, std::size_t begin, std::size_t end);

#ifdef OPENMP
#include <omp.h>
#include <parallel/algorithm>

extern "C" std::uint64_t even(Body body, const void *context, std::size_t len, std::size_t, int threads) {
    std::uint64_t sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        std::size_t me = omp_get_thread_num(), all = omp_get_num_threads();
        sum += body(context, len * me / all, len * (me + 1) / all);
    }
    return sum;
}

extern "C" std::uint64_t uneven(Body body, const void *context, std::size_t len, std::size_t grain, int threads) {
    std::uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(+ : sum)
    for (std::size_t begin = 0; begin < len; begin += grain)
        sum += body(context, begin, std::min(begin + grain, len));
    return sum;
}

extern "C" void sort(std::uint32_t *items, std::size_t len, int threads) {
    __gnu_parallel::stable_sort(items, items + len, __gnu_parallel::multiway_mergesort_tag(threads));
}

// Ends the threads, which busy-wait after a loop.
extern "C" void leave() { omp_pause_resource_all(omp_pause_hard); }

extern "C" const char *version() {
    static const std::string text = "GCC " __VERSION__;
    return text.c_str();
}
#else
#include <execution>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

static tbb::task_arena &arena(int threads) {
    static tbb::task_arena arena(threads);
    return arena;
}

extern "C" std::uint64_t even(Body body, const void *context, std::size_t len, std::size_t grain, int threads) {
    return arena(threads).execute([&] {
        return tbb::parallel_reduce(
            tbb::blocked_range<std::size_t>(0, len, grain), std::uint64_t(0),
            [&](const auto &range, std::uint64_t sum) { return sum + body(context, range.begin(), range.end()); },
            std::plus<>(), tbb::auto_partitioner());
    });
}

extern "C" std::uint64_t uneven(Body body, const void *context, std::size_t len, std::size_t grain, int threads) {
    return even(body, context, len, grain, threads);
}

// oneTBB's own parallel_sort is not stable; the standard library's parallel sort runs on oneTBB.
extern "C" void sort(std::uint32_t *items, std::size_t len, int threads) {
    arena(threads).execute([&] { std::stable_sort(std::execution::par, items, items + len); });
}

extern "C" void leave() {}

extern "C" const char *version() { return TBB_VERSION_STRING; }
#endif
