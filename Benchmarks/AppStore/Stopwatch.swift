import Glibc

/// What something cost, in microseconds.
struct Cost {
    /// This thread's processor time, which others on the machine disturb little.
    var cpu: Double
    var wall: Double

    /// The cost of each of `count` calls that `body` makes.
    static func each(of count: Int, _ body: () throws -> Void) rethrows -> Cost {
        let start = Cost(cpu: seconds(CLOCK_THREAD_CPUTIME_ID), wall: seconds(CLOCK_MONOTONIC))
        try body()
        return Cost(
            cpu: (seconds(CLOCK_THREAD_CPUTIME_ID) - start.cpu) * 1e6 / Double(count),
            wall: (seconds(CLOCK_MONOTONIC) - start.wall) * 1e6 / Double(count))
    }

    static func median(_ costs: [Cost]) -> Cost {
        func middle(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        return Cost(cpu: middle(costs.map(\.cpu)), wall: middle(costs.map(\.wall)))
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
