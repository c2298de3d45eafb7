import CacheTier
import HTTP
import JSON
import Time

/// What one read came to.
struct Reading: Sendable {
    enum Outcome: Sendable {
        case answer(Answer)
        /// "Redis is away and I have never heard of this customer": an answer of its own.
        case unknownCustomer(Service?)
        case failed(String)
    }

    /// How good the answer says it is.
    struct Service: Sendable {
        var level: ServiceLevel
        var reason: String
        var source: String
        var asOf: Timestamp?
        /// Whether what the client may offer fits the level.
        var actionsFit = true
    }

    struct Answer: Sendable {
        var serverTime: Timestamp
        var entitlements: Set<String>
        /// Entitlements that are called active beyond the end that the same answer gives.
        var outlived: [String] = []
        /// Each subscription in a word, for whoever asks why an answer is wrong.
        var subscriptions: [String] = []
        /// All that it shows of the customer's purchases.
        var sights = LineageSights()
        /// The earliest end of a period that is over and still served for want of a word.
        var heldSince: Timestamp?
        var service: Service
    }

    let customer: String
    let gateway: Int
    let sentAt: Timestamp
    let latency: Duration
    /// Other gateways that were asked before, and did not accept the connection or lost it.
    var failovers = 0
    let outcome: Outcome

    /// The instant that the answer is about.
    var instant: Timestamp {
        if case .answer(let answer) = outcome { answer.serverTime } else { sentAt + latency }
    }

    var service: Service? {
        switch outcome {
        case .answer(let answer): answer.service
        case .unknownCustomer(let service): service
        case .failed: nil
        }
    }
}

extension Reading.Outcome {
    /// What a gateway's response to a read says.
    init(_ response: HTTPClientResponse) {
        let body: JSONValue
        do { body = try JSONValue.parse(response.body) } catch {
            self = .failed("\(response.status) and no JSON: \(error)")
            return
        }
        if response.status == 503, body["type"]?.string == "urn:holdfast:problem:customer-not-known-now" {
            self = .unknownCustomer(Reading.Service(body["service"] ?? body))
            return
        }
        guard response.status == 200 else {
            let type = body["type"]?.string.map { $0.split(separator: ":").last.map(String.init) ?? $0 } ?? "?"
            self = .failed("\(response.status) \(type): \(body["detail"]?.string ?? "")")
            return
        }
        guard let time = body["serverTime"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let service = body["service"].flatMap(Reading.Service.init), let all = body["entitlements"]?.array
        else {
            self = .failed("200, and the body says not when, how good or what")
            return
        }
        let active = all.filter { $0["active"]?.bool == true }
        let outlived = active.filter { entitlement in
            entitlement["validUntil"]?.string.flatMap { Timestamp(rfc3339: $0) }.map { $0 <= time } ?? false
        }
        let held = (body["subscriptions"]?.array ?? []).filter { $0["state"]?.string == "hold" }
            .compactMap { $0["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) } }
        let subscriptions = (body["subscriptions"]?.array ?? []).map { subscription in
            [
                subscription["originalTransactionId"]?.string, subscription["productId"]?.string,
                subscription["state"]?.string, subscription["expiresAt"]?.string,
            ].map { $0 ?? "-" }.joined(separator: " ")
        }
        self = .answer(
            Reading.Answer(
                serverTime: time, entitlements: Set(active.compactMap { $0["id"]?.string }),
                outlived: outlived.compactMap { $0["id"]?.string }, subscriptions: subscriptions,
                sights: LineageSights(body), heldSince: held.min(), service: service))
    }
}

extension Reading.Service {
    fileprivate init?(_ value: JSONValue) {
        guard let level = value["level"]?.string.flatMap(ServiceLevel.init(rawValue:)) else { return nil }
        self.level = level
        reason = value["reason"]?.string ?? ""
        source = value["source"]?.string ?? "none"
        asOf = value["asOf"]?.string.flatMap { Timestamp(rfc3339: $0) }
        if let actions = value["actions"] {
            actionsFit =
                actions["purchase"]?.bool == level.allowsPurchase
                && actions["manageSubscription"]?.bool == level.allowsManaging
        }
    }
}
