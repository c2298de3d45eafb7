import CacheTier
import Entitlements
import Runtime
import TestSupport
import Testing

/// Requests for consumption data, told from their repeats in a real Redis.
@Suite(.timeLimit(.minutes(6)), .everyServer) struct RefundRequestsTests {
    private let app = AppID(RedisServer.uniqueApp("refund"))

    private func isFirst(
        _ requests: RefundRequests, _ notification: String, about transaction: String,
        _ environment: StoreEnvironment = .production
    ) async throws -> Bool {
        try await requests.isFirst(notification, about: transaction, app: app, environment: environment)
    }

    @Test func onlyTheFirstOfATransactionsRequestsIsFirstHoweverOftenItComes() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let requests = RefundRequests(redis: redis)
            #expect(try await isFirst(requests, "a", about: "1"))
            check(try await !isFirst(requests, "b", about: "1"))
            #expect(try await isFirst(requests, "a", about: "1"))
            #expect(try await isFirst(requests, "b", about: "2"))
            #expect(try await isFirst(requests, "b", about: "1", .sandbox))
        }
    }

    @Test func onceAppleHasDecidedTheNextRequestIsFirst() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let requests = RefundRequests(redis: redis)
            #expect(try await isFirst(requests, "a", about: "1"))
            try await requests.close(about: "1", app: app, environment: .production)
            #expect(try await isFirst(requests, "b", about: "1"))
            check(try await !isFirst(requests, "a", about: "1"))
        }
    }

    @Test("Invariant 10: a request is not remembered for ever")
    func aRequestIsNotRememberedForEver() async throws {
        try await withRedis(TestStore.shared()) { redis in
            var settings = StoreSettings()
            settings.refundRequestsKept = .milliseconds(50)
            let requests = RefundRequests(redis: redis, settings: settings)
            #expect(try await isFirst(requests, "a", about: "1"))
            check(try await eventually { try await isFirst(requests, "b", about: "1") })
        }
    }

    @Test func ofManyAtOnceOneIsFirst() async throws {
        try await withRedis(TestStore.shared()) { redis in
            let requests = RefundRequests(redis: redis)
            let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 { group.addTask { try await isFirst(requests, "\(number)", about: "1") } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(firsts == 1)
        }
    }
}
