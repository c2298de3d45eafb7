internal import JSON

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
    /// Of a hundred notifications, so many are never sent; only the history knows them.
    package var losePercent = 0.0

    package init() {}
}

/// How badly the store's Server API behaves.
package struct APIBehaviour: Sendable, Hashable {
    /// Each answer waits so long.
    package var slowMilliseconds = 0
    /// Requests are taken and never answered.
    package var isDark = false
    /// The status that failing requests are answered with; 0 fails none.
    package var failStatus = 0
    /// Of a hundred requests, so many fail with `failStatus`.
    package var failPercent = 100.0
    /// Of a hundred requests, so many are never answered.
    package var losePercent = 0.0
    /// Requests a second before 429; 0 sets no limit.
    package var ratePerSecond = 0

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
        }
    }

    mutating func read(_ body: inout ControlBody) throws(ControlProblem) {
        slowMilliseconds = try body.integer("slowMilliseconds", in: 0...600_000) ?? slowMilliseconds
        isDark = try body.bool("dark") ?? isDark
        duplicatePercent = try body.number("duplicatePercent", in: 0...100) ?? duplicatePercent
        reorderMilliseconds = try body.integer("reorderMilliseconds", in: 0...600_000) ?? reorderMilliseconds
        losePercent = try body.number("losePercent", in: 0...100) ?? losePercent
    }
}

extension APIBehaviour {
    func write(to json: inout JSONWriter) {
        json.object("api") { json in
            json.member("slowMilliseconds", slowMilliseconds)
            json.member("dark", isDark)
            json.member("failStatus", failStatus)
            json.member("failPercent", JSONValue.number(failPercent))
            json.member("losePercent", JSONValue.number(losePercent))
            json.member("ratePerSecond", ratePerSecond)
        }
    }

    mutating func read(_ body: inout ControlBody) throws(ControlProblem) {
        slowMilliseconds = try body.integer("slowMilliseconds", in: 0...600_000) ?? slowMilliseconds
        isDark = try body.bool("dark") ?? isDark
        failStatus = try body.integer("failStatus", in: 0...599) ?? failStatus
        guard failStatus == 0 || failStatus >= 400 else {
            throw ControlProblem(field: "failStatus", "0, or a status from 400 to 599")
        }
        failPercent = try body.number("failPercent", in: 0...100) ?? failPercent
        losePercent = try body.number("losePercent", in: 0...100) ?? losePercent
        ratePerSecond = try body.integer("ratePerSecond", in: 0...1_000_000) ?? ratePerSecond
    }
}

extension JSONValue {
    fileprivate static func number(_ value: Double) -> JSONValue {
        var json = JSONWriter()
        json.number(value)
        // A number that was just written is read back; null stands for none.
        return (try? JSONValue.parse(json.bytes)) ?? .null
    }
}
