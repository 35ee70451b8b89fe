// The programs of this folder with OpenMP: whole rounds, as in a C++ program. They compute in the order of the Rust versions, and
// their compiler has the same information: which buffers do not overlap, the limits of an index, and that errno is unused
// (-fno-math-errno). With one thread the same functions are the plain programs of this compiler.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <omp.h>

using std::size_t;

struct Point {
    std::int64_t x, y;
};

extern "C" void kmeans(const Point *points, size_t len, Point *centres, size_t rounds, int threads) {
    constexpr size_t k = 9;
    for (size_t round = 0; round < rounds; round++) {
        std::int64_t sums[3 * k] = {};
#pragma omp parallel for num_threads(threads) reduction(+ : sums)
        for (size_t i = 0; i < len; i++) {
            Point point = points[i];
            size_t nearest = 0;
            std::int64_t least = INT64_MAX;
            for (size_t c = 0; c < k; c++) {
                std::int64_t x = centres[c].x - point.x, y = centres[c].y - point.y, distance = x * x + y * y;
                if (distance < least) {
                    nearest = c;
                    least = distance;
                }
            }
            sums[3 * nearest] += point.x;
            sums[3 * nearest + 1] += point.y;
            sums[3 * nearest + 2]++;
        }
        for (size_t c = 0; c < k; c++) {
            std::int64_t count = std::max<std::int64_t>(sums[3 * c + 2], 1);
            centres[c] = {sums[3 * c] / count, sums[3 * c + 1] / count};
        }
    }
}

// Returns the sum of the differences of all rounds. The ranks are in `old` after an even number of rounds. Few pages have
// most of the links, so these loops are dealt out in chunks.
extern "C" double pagerank(const size_t *begins, const size_t *sources, const double *degrees, size_t pages, double *old,
                           double *shares, double *fresh, size_t rounds, int threads) {
    const double damping = 0.85;
    double all = 0;
    for (size_t round = 0; round < rounds; round++) {
#pragma omp parallel for num_threads(threads)
        for (size_t page = 0; page < pages; page++)
            shares[page] = old[page] / degrees[page];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
        for (size_t page = 0; page < pages; page++) {
            double passed_on = 0;
            for (size_t link = begins[page]; link < begins[page + 1]; link++)
                passed_on += sources[link] < pages ? shares[sources[link]] : (std::abort(), 0);
            fresh[page] = (1 - damping) / double(pages) + damping * passed_on;
        }
        double difference = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : difference)
        for (size_t page = 0; page < pages; page++)
            difference += std::fabs(fresh[page] - old[page]);
        all += difference;
        std::swap(old, fresh);
    }
    return all;
}

struct Normal {
    double weight, mean, variance;
};

extern "C" void em(const double *numbers, size_t len, Normal *mixture, size_t rounds, int threads) {
    constexpr size_t k = 3;
    for (size_t round = 0; round < rounds; round++) {
        double sums[3 * k] = {};
        Normal old[k];
        std::copy_n(mixture, k, old);
#pragma omp parallel for num_threads(threads) reduction(+ : sums)
        for (size_t i = 0; i < len; i++) {
            double x = numbers[i], total = 0, densities[k];
            for (size_t c = 0; c < k; c++) {
                const Normal &normal = old[c];
                double distance = x - normal.mean;
                densities[c] = normal.weight / std::sqrt(normal.variance) * std::exp(-0.5 * distance * distance / normal.variance);
                total += densities[c];
            }
            for (size_t c = 0; c < k; c++) {
                double share = densities[c] / total;
                sums[3 * c] += share;
                sums[3 * c + 1] += share * x;
                sums[3 * c + 2] += share * x * x;
            }
        }
        double total = 0;
        for (size_t c = 0; c < k; c++)
            total += sums[3 * c];
        for (size_t c = 0; c < k; c++) {
            double count = sums[3 * c], mean = sums[3 * c + 1] / count;
            mixture[c] = {count / total, mean, sums[3 * c + 2] / count - mean * mean};
        }
    }
}

// The plate is in `old` after an even number of rounds. The rim keeps its temperature.
extern "C" void stencil(double *old, double *fresh, size_t side, size_t rounds, int threads) {
    for (size_t round = 0; round < rounds; round++) {
#pragma omp parallel for num_threads(threads)
        for (size_t y = 0; y < side; y++) {
            const double *__restrict here = old + y * side, *__restrict above = here - side, *__restrict below = here + side;
            double *__restrict row = fresh + y * side;
            if (y == 0 || y + 1 == side) {
                std::copy_n(here, side, row);
                continue;
            }
            row[0] = here[0];
            row[side - 1] = here[side - 1];
            for (size_t x = 1; x + 1 < side; x++)
                row[x] = here[x] + 0.2 * (above[x] + below[x] + here[x - 1] + here[x + 1] - 4 * here[x]);
        }
        std::swap(old, fresh);
    }
}

// One round. Returns the square of the residual's length. The rows have nearly the same number of entries.
extern "C" double cg(const size_t *__restrict begins, const size_t *__restrict columns, const double *__restrict values,
                     size_t rows, double *__restrict solution, double *__restrict residual, double *__restrict direction,
                     double *__restrict product, double old, int threads) {
#pragma omp parallel for num_threads(threads)
    for (size_t row = 0; row < rows; row++) {
        double sum = 0;
        for (size_t entry = begins[row]; entry < begins[row + 1]; entry++)
            sum += columns[entry] < rows ? values[entry] * direction[columns[entry]] : (std::abort(), 0);
        product[row] = sum;
    }
    double curvature = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : curvature)
    for (size_t row = 0; row < rows; row++)
        curvature += direction[row] * product[row];
    const double step = old / curvature;
#pragma omp parallel for num_threads(threads)
    for (size_t row = 0; row < rows; row++)
        solution[row] += step * direction[row];
#pragma omp parallel for num_threads(threads)
    for (size_t row = 0; row < rows; row++)
        residual[row] -= step * product[row];
    double square = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : square)
    for (size_t row = 0; row < rows; row++)
        square += residual[row] * residual[row];
    const double kept = square / old;
#pragma omp parallel for num_threads(threads)
    for (size_t row = 0; row < rows; row++)
        direction[row] = residual[row] + kept * direction[row];
    return square;
}

// The messages of a point to its neighbours.
struct Messages {
    double left, right, up, down;
};

static double pass(double odds) {
    const double coupling = 2;
    return (coupling * odds + 1) / (odds + coupling);
}

// Returns the sum of the changes of all rounds. The messages are in `old` after an even number of rounds. The points of the rim
// know nothing: their messages are 1.
extern "C" double bp(const double *evidence, Messages *old, Messages *fresh, size_t side, size_t rounds, int threads) {
    double all = 0;
    for (size_t round = 0; round < rounds; round++) {
#pragma omp parallel for num_threads(threads)
        for (size_t y = 1; y < side - 1; y++) {
            const Messages *__restrict here = old + y * side, *__restrict above = here - side, *__restrict below = here + side;
            const double *__restrict odds = evidence + y * side;
            Messages *__restrict row = fresh + y * side;
            for (size_t x = 1; x + 1 < side; x++) {
                double left = here[x - 1].right, right = here[x + 1].left, up = above[x].down, down = below[x].up;
                double across = odds[x] * left * right, along = odds[x] * up * down;
                row[x] = {pass(along * right), pass(along * left), pass(across * down), pass(across * up)};
            }
        }
        double changes = 0;
        const double *before = reinterpret_cast<const double *>(old), *after = reinterpret_cast<const double *>(fresh);
#pragma omp parallel for num_threads(threads) reduction(+ : changes)
        for (size_t i = 0; i < 4 * side * side; i++)
            changes += std::fabs(after[i] - before[i]);
        all += changes;
        std::swap(old, fresh);
    }
    return all;
}

// Ends the threads, which busy-wait after a loop.
extern "C" void leave() { omp_pause_resource_all(omp_pause_hard); }

extern "C" const char *version() { return "GCC " __VERSION__; }
