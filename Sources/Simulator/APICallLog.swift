internal import JSON
package import Time

/// What was asked of the Server API: by endpoint and outcome, how many at once, and about whom when.
package struct APICallLog: Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// 2xx.
        case answered
        /// 429.
        case limited
        /// Any other answer that Apple means.
        case refused
        /// 5xx, a connection that was closed, an answer that broke off, or none.
        case failed
    }

    /// The most calls that one group of endpoints had within a stretch of time, wherever it began.
    package struct Busiest: Sendable, Hashable {
        package private(set) var inASecond = 0
        package private(set) var inTenSeconds = 0
        private var recent: [Timestamp] = []

        mutating func add(at now: Timestamp) {
            let tenAgo = now - .seconds(10)
            let oneAgo = now - .seconds(1)
            if let first = recent.first, first <= tenAgo { recent.removeAll { $0 <= tenAgo } }
            recent.append(now)
            inTenSeconds = max(inTenSeconds, recent.count)
            inASecond = max(inASecond, recent.count - (recent.lastIndex { $0 <= oneAgo }.map { $0 + 1 } ?? 0))
        }
    }

    /// A status asked for again so soon after a good answer tells nothing new.
    package static let soon = Duration.seconds(1)
    static let secondsKept = 3600
    static let accountsKept = 200_000

    package private(set) var outcomes: [ServerAPIRoute.Endpoint: [Outcome: Int]] = [:]
    package private(set) var busiest: [Int: Busiest] = [:]
    /// Calls by the second of the clock, the last hour of them.
    package private(set) var seconds: [(second: Int64, calls: Int)] = []
    /// Statuses asked for again within `soon` of a good answer about the same account.
    package private(set) var askedAgain = 0
    /// When the statuses of an account were last answered.
    package private(set) var lastAnswered: [String: Timestamp] = [:]

    package init() {}

    mutating func begin(_ route: ServerAPIRoute, about account: String?, at now: Timestamp) {
        busiest[route.limit.rawValue, default: Busiest()].add(at: now)
        let second = now.milliseconds / 1000
        if let last = seconds.last, last.second == second {
            seconds[seconds.count - 1].calls += 1
        } else {
            if seconds.count >= Self.secondsKept { seconds.removeFirst(Self.secondsKept / 10) }
            seconds.append((second, 1))
        }
        if route.endpoint == .statuses, let last = account.flatMap({ lastAnswered[$0] }), now - last < Self.soon {
            askedAgain += 1
        }
    }

    mutating func end(_ route: ServerAPIRoute, about account: String?, _ outcome: Outcome, at now: Timestamp) {
        outcomes[route.endpoint, default: [:]][outcome, default: 0] += 1
        guard route.endpoint == .statuses, outcome == .answered, let account else { return }
        guard lastAnswered[account] != nil || lastAnswered.count < Self.accountsKept else { return }
        lastAnswered[account] = now
    }

    package func count(_ endpoint: ServerAPIRoute.Endpoint, _ outcome: Outcome? = nil) -> Int {
        let found = outcomes[endpoint] ?? [:]
        return outcome.map { found[$0] ?? 0 } ?? found.values.reduce(0, +)
    }
}

extension APICallLog {
    func write(to json: inout JSONWriter, withAccounts: Bool) {
        json.object("endpoints") { json in
            for endpoint in ServerAPIRoute.Endpoint.allCases where count(endpoint) > 0 {
                json.object(endpoint.rawValue) { json in
                    for outcome in Outcome.allCases { json.member(outcome.rawValue, count(endpoint, outcome)) }
                }
            }
        }
        json.array("limits", busiest.sorted { $0.key > $1.key }) { json, group in
            json.beginObject()
            json.member("perSecond", group.key)
            json.member("busiestSecond", group.value.inASecond)
            json.member("busiestTenSeconds", group.value.inTenSeconds)
            json.endObject()
        }
        json.member("askedAgain", askedAgain)
        json.array("seconds", seconds) { json, entry in
            json.beginObject()
            json.member("time", Timestamp(milliseconds: entry.second * 1000).rfc3339)
            json.member("calls", entry.calls)
            json.endObject()
        }
        guard withAccounts else { return }
        json.object("lastAnswered") { json in
            for (account, time) in lastAnswered.sorted(by: { $0.key < $1.key }) { json.member(account, time.rfc3339) }
        }
    }
}
