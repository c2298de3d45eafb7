import JSON

/// What the simulator's Server API was asked, by its own count.
struct CallFigures: Sendable {
    struct Endpoint: Sendable {
        let name: String
        let answered: Int
        /// 429: more than Apple allows.
        let limited: Int
        let refused: Int
        let failed: Int

        var calls: Int { answered + limited + refused + failed }
    }

    /// Endpoints that share one of Apple's limits.
    struct Limit: Sendable {
        let perSecond: Int
        let busiestSecond: Int
        let busiestTenSeconds: Int

        /// Over ten seconds, since calls that were made in time arrive together when the machine was busy.
        var isKept: Bool { busiestTenSeconds <= 10 * perSecond }
    }

    private(set) var endpoints: [Endpoint] = []
    private(set) var limits: [Limit] = []
    /// Statuses asked for within a second of a good answer about the same account.
    private(set) var askedAgain = 0

    init() {}

    init(_ value: JSONValue) {
        func number(_ value: JSONValue?) -> Int { Int(clamping: value?.int64 ?? 0) }
        for (name, outcomes) in value["endpoints"]?.object?.members ?? [] {
            endpoints.append(
                Endpoint(
                    name: name, answered: number(outcomes["answered"]), limited: number(outcomes["limited"]),
                    refused: number(outcomes["refused"]), failed: number(outcomes["failed"])))
        }
        limits = (value["limits"]?.array ?? []).map {
            Limit(
                perSecond: number($0["perSecond"]), busiestSecond: number($0["busiestSecond"]),
                busiestTenSeconds: number($0["busiestTenSeconds"]))
        }
        askedAgain = number(value["askedAgain"])
    }

    var calls: Int { endpoints.map(\.calls).reduce(0, +) }
    var limited: Int { endpoints.map(\.limited).reduce(0, +) }
    var areLimitsKept: Bool { limits.allSatisfy(\.isKept) }
    func endpoint(_ name: String) -> Endpoint? { endpoints.first { $0.name == name } }
}
