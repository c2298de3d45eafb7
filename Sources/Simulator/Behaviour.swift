internal import JSON
internal import Time

/// How badly the store behaves when it sends notifications.
package struct SendingBehaviour: Sendable, Hashable {
    /// Each notification waits so long before it is sent.
    package var slowMilliseconds = 0
    /// Nothing is sent; it all goes out when it is light again.
    package var isDark = false
    /// Of a hundred notifications, so many are sent twice.
    package var duplicatePercent = 0.0
    /// Each notification waits a random time of up to this, so that they overtake each other.
    package var reorderMilliseconds = 0
    /// Of a hundred notifications, so many are never sent.
    package var losePercent = 0.0
    /// Of a hundred notifications, so many come late.
    package var latePercent = 0.0
    /// How late at most, in hours of the store's time; at least a quarter of it.
    package var lateHours = 72
    /// Of a hundred lost or late ones about a subscription that was heard of before, the history does not know so many: a
    /// lost one never, a late one until it is sent. It knows of the others as of one that the receiver did not take.
    package var unlistedPercent = 0.0

    package init() {}
}

/// How badly the store's Server API behaves.
package struct APIBehaviour: Sendable, Hashable {
    /// Each answer waits so long.
    package var slowMilliseconds = 0
    /// Requests are taken and never answered.
    package var isDark = false
    /// The status that failing requests are answered with, without a body; 0 fails none.
    package var failStatus = 0
    /// The number of Apple's error that failing requests are answered with, body and all; 0 fails none.
    package var failCode = 0
    /// Of a hundred requests, so many fail with `failStatus` or `failCode`.
    package var failPercent = 100.0
    /// Only so many requests fail from now on; 0 sets no end.
    package var failFirst = 0
    /// Of a hundred requests, so many are never answered.
    package var losePercent = 0.0
    /// Of a hundred requests, so many have their connection closed in place of an answer.
    package var dropPercent = 0.0
    /// Of a hundred answers, so many break off in the middle of the body.
    package var truncatePercent = 0.0
    /// What is wrong with each page of a transaction history.
    package var malformed = Malformed.nothing
    /// How far the API's clock is ahead of the store's: in the Date field, and when it judges tokens.
    package var clockSkewMilliseconds = 0
    /// No token is good: so production answers an app that was never released.
    package var refusesTokens = false
    /// Apple's limits are enforced, for each group of endpoints.
    package var limits = false
    /// How much of Apple's limits there is.
    package var limitPercent = 100.0
    /// How long requests are counted before the count begins anew. Apple counts by the hour.
    package var limitWindowMilliseconds = 1000
    /// Requests a second to all endpoints together before 429; 0 sets no limit.
    package var ratePerSecond = 0

    /// Bad times, of all endpoints or some, now or later.
    package var outages: [APIOutage] = []

    package enum Malformed: String, Sendable, CaseIterable {
        case nothing
        /// A text in place of the number.
        case appAppleID = "appAppleId"
        /// An environment that does not exist.
        case environment
    }

    package init() {}
}

extension SendingBehaviour {
    func write(to json: inout JSONWriter) {
        json.object("sending") { json in
            json.member("slowMilliseconds", slowMilliseconds)
            json.member("dark", isDark)
            json.member("duplicatePercent", JSONValue.number(duplicatePercent))
            json.member("reorderMilliseconds", reorderMilliseconds)
            json.member("losePercent", JSONValue.number(losePercent))
            json.member("latePercent", JSONValue.number(latePercent))
            json.member("lateHours", lateHours)
            json.member("unlistedPercent", JSONValue.number(unlistedPercent))
        }
    }

    mutating func read(_ body: inout ControlBody) throws(ControlProblem) {
        slowMilliseconds = try body.integer("slowMilliseconds", in: 0...600_000) ?? slowMilliseconds
        isDark = try body.bool("dark") ?? isDark
        duplicatePercent = try body.number("duplicatePercent", in: 0...100) ?? duplicatePercent
        reorderMilliseconds = try body.integer("reorderMilliseconds", in: 0...600_000) ?? reorderMilliseconds
        losePercent = try body.number("losePercent", in: 0...100) ?? losePercent
        latePercent = try body.number("latePercent", in: 0...100) ?? latePercent
        lateHours = try body.integer("lateHours", in: 1...10_000) ?? lateHours
        unlistedPercent = try body.number("unlistedPercent", in: 0...100) ?? unlistedPercent
    }
}

extension APIBehaviour {
    func write(to json: inout JSONWriter) {
        json.object("api") { json in
            json.member("slowMilliseconds", slowMilliseconds)
            json.member("dark", isDark)
            json.member("failStatus", failStatus)
            json.member("failCode", failCode)
            json.member("failPercent", JSONValue.number(failPercent))
            json.member("failFirst", failFirst)
            json.member("losePercent", JSONValue.number(losePercent))
            json.member("dropPercent", JSONValue.number(dropPercent))
            json.member("truncatePercent", JSONValue.number(truncatePercent))
            json.member("malformed", malformed.rawValue)
            json.member("clockSkewMilliseconds", clockSkewMilliseconds)
            json.member("refusesTokens", refusesTokens)
            json.member("limits", limits)
            json.member("limitPercent", JSONValue.number(limitPercent))
            json.member("limitWindowMilliseconds", limitWindowMilliseconds)
            json.member("ratePerSecond", ratePerSecond)
            json.array("outages", outages) { json, outage in outage.write(to: &json) }
        }
    }

    /// `now` is what the seconds of outages count from.
    mutating func read(_ body: inout ControlBody, now: Timestamp) throws(ControlProblem) {
        slowMilliseconds = try body.integer("slowMilliseconds", in: 0...600_000) ?? slowMilliseconds
        isDark = try body.bool("dark") ?? isDark
        failStatus = try body.integer("failStatus", in: 0...599) ?? failStatus
        guard failStatus == 0 || failStatus >= 400 else {
            throw ControlProblem(field: "failStatus", "0, or a status from 400 to 599")
        }
        failCode = try body.integer("failCode", in: 0...APIError.codes.upperBound) ?? failCode
        guard failCode == 0 || APIError.codes.contains(failCode) else {
            throw ControlProblem(field: "failCode", "0, or the number of one of Apple's errors, such as 5000001")
        }
        failPercent = try body.number("failPercent", in: 0...100) ?? failPercent
        failFirst = try body.integer("failFirst", in: 0...1_000_000) ?? failFirst
        losePercent = try body.number("losePercent", in: 0...100) ?? losePercent
        dropPercent = try body.number("dropPercent", in: 0...100) ?? dropPercent
        truncatePercent = try body.number("truncatePercent", in: 0...100) ?? truncatePercent
        if let name = try body.string("malformed") {
            guard let known = Malformed(rawValue: name) else {
                throw ControlProblem(field: "malformed", "nothing, appAppleId or environment")
            }
            malformed = known
        }
        let day = 86_400_000
        clockSkewMilliseconds = try body.integer("clockSkewMilliseconds", in: -day...day) ?? clockSkewMilliseconds
        refusesTokens = try body.bool("refusesTokens") ?? refusesTokens
        limits = try body.bool("limits") ?? limits
        limitPercent = try body.number("limitPercent", in: 0...10_000) ?? limitPercent
        limitWindowMilliseconds =
            try body.integer("limitWindowMilliseconds", in: 1...3_600_000) ?? limitWindowMilliseconds
        ratePerSecond = try body.integer("ratePerSecond", in: 0...1_000_000) ?? ratePerSecond
        if let bodies = try body.objects("outages", atMost: APIOutage.maximumCount) {
            outages = []
            for var body in bodies { outages.append(try APIOutage(&body, now: now)) }
        }
    }
}

extension JSONValue {
    static func number(_ value: Double) -> JSONValue {
        var json = JSONWriter()
        json.number(value)
        // A number that was just written is read back; null stands for none.
        return (try? JSONValue.parse(json.bytes)) ?? .null
    }
}
