import Entitlements
import Redis
import TestSupport
import Testing
import Time

@testable import CacheTier

/// The times at which notifications came, in a store.
@Suite(.timeLimit(.minutes(6)), .everyServer) struct ArrivalsTests {
    private let app = AppID(RedisServer.uniqueApp("arrivals"))
    private let hour = Int64(500_000)

    private func instant(_ hour: Int64, _ minute: Int64 = 0, _ second: Int64 = 0) -> Timestamp {
        Timestamp(milliseconds: ((hour * 60 + minute) * 60 + second) * 1000)
    }

    private func note(_ instants: [Timestamp], in redis: any RedisCommands) async throws -> ArrivalHours? {
        let arrivals = Arrivals(redis: redis)
        for instant in instants { try await arrivals.note(at: instant, of: app, in: .production) }
        return try await arrivals.hours(of: app, in: .production)
    }

    @Test func minutesAreCountedOnceHoweverMuchCameInThem() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let times = [
                instant(hour), instant(hour, 0, 1), instant(hour, 0, 59), instant(hour, 1), instant(hour + 3, 59),
            ]
            let hours = try await note(times, in: redis)
            #expect(
                hours
                    == ArrivalHours(first: times[0], last: times[4], minutes: [hour: 2, hour + 3: 1]))
            let sandbox = try await Arrivals(redis: redis).hours(of: app, in: .sandbox)
            #expect(sandbox == nil)
        }
    }

    @Test func whatComesOutOfOrderMovesNothingBack() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let hours = try await note(
                [instant(hour, 5), instant(hour, 2), instant(hour - 40), instant(hour, 5)], in: redis)
            #expect(hours == ArrivalHours(first: instant(hour, 5), last: instant(hour, 5), minutes: [hour: 1]))
        }
    }

    @Test("Invariant 10: hours of which nothing is to be learned any more are not kept")
    func oldHoursGo() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let late = hour + ArrivalHours.kept
            let hours = try await note([instant(hour - 1), instant(hour), instant(late), instant(late, 1)], in: redis)
            #expect(hours?.minutes == [hour: 1, late: 2])
            #expect(hours?.first == instant(hour - 1))
        }
    }
}
